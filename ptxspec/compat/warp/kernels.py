"""``wp.kernel`` and ``wp.launch``: a kernel is compiled once for each kind of launch."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from math import prod
from types import FunctionType
from typing import TYPE_CHECKING

from ptxspec.compat.warp.arrays import Array, ArrayType, array
from ptxspec.compat.warp.builtins import coordinates, fits_grid
from ptxspec.compat.warp.reading import ElementReader
from ptxspec.compat.warp.state import LaunchState, launching
from ptxspec.compat.warp.types import Compound, Struct, element
from ptxspec.compat.warp.values import Composite
from ptxspec.diagnostics import Diagnostic, LaunchError, PtxspecError, Span
from ptxspec.lang import ir
from ptxspec.lang.cuda import LaunchConfig
from ptxspec.lang.declare import Tensor
from ptxspec.lang.function import KernelFunction, read_twice
from ptxspec.lang.reader.calls import Returned
from ptxspec.lang.reader.frame import Frame, outer_names
from ptxspec.lang.reader.source import Source, source_of
from ptxspec.lang.trace import Tracer, tracing
from ptxspec.lang.types import TYPES, DType, number
from ptxspec.layout import S, TileLayout
from ptxspec.scalar import typed

if TYPE_CHECKING:
    from ptxspec.backend.executable import Executable

Dim = int | Sequence[int]


class WarpReader(ElementReader):
    """Reads a Warp kernel: the launch is known before the body, and ``wp.tid()`` takes its count from the names."""

    tracer_type: type[Tracer] = Tracer
    suffix = ""

    def __init__(self, definition: FunctionType, around: Mapping[str, object], state: LaunchState, block: int,
                 kinds: Mapping[str, ArrayType | Compound | str]) -> None:
        super().__init__(definition, around)
        self.state = state
        self.threads = block
        self.kinds = kinds

    def read(self) -> ir.Kernel:
        """The typed kernel."""
        source = source_of(self.definition)
        frame = Frame(source, outer_names(self.definition), self.definition.__globals__, self.definition.__name__, None,
                      is_kernel=True)
        self.frames.append(frame)
        span = Span(source.file, source.node.lineno, source.node.col_offset + 1)
        name = self.definition.__name__ + self.suffix
        self.tracer = self.tracer_type(name, source.file, span, self.place, self.excerpt)
        self.tracer.narrow = self.narrow
        token = launching.set(self.state)
        try:
            with tracing(self.tracer):
                self._parameters(source, frame)
                for parameter in self.tracer.params:
                    kind = self.kinds.get(parameter.name)
                    if isinstance(parameter, ir.Buffer) and isinstance(kind, ArrayType) and kind.element.trailing:
                        self.state.kinds[parameter] = kind.element
                total = prod(self.state.dim)
                threads = self.threads if self.state.tiled else min(self.threads, total)
                self.tracer.entry(LaunchConfig(grid=self._grid_of(total), block=threads).resolve(span), span)
                self._body(source.node.body, total, span)
                return self.tracer.finish()
        finally:
            launching.reset(token)

    def _parameters(self, source: Source, frame: Frame) -> None:
        """A parameter that is a vector is a number for each component."""
        arguments = copy(source.node.args)
        parts = {a.arg: components(a.arg, kind, self.kinds) for a in arguments.args
                 if isinstance(kind := self.kinds.get(a.arg), Compound)}
        arguments.args = [ast.copy_location(ast.arg(name, a.annotation), a) for a in arguments.args
                          for name in parts.get(a.arg, [a.arg])]
        node = copy(source.node)
        node.args = arguments
        super()._parameters(replace(source, node=node), frame)
        for name, names in parts.items():
            kind = self.kinds[name]
            assert isinstance(kind, Compound)
            values = [frame.lookup(n, node) for n in names]
            frame.bind(name, Composite(kind.scalar, kind.shape, values), self.place())  # type: ignore[arg-type]

    def _grid_of(self, total: int) -> tuple[int, ...]:
        if not self.state.tiled:
            return (-(-total // self.threads),)
        return tuple(reversed(self.state.dim)) if fits_grid(self.state.dim) else (total,)

    def _body(self, body: list[ast.stmt], total: int, span: Span) -> None:
        """The kernel; in plain launches, only for threads that the launch counts."""
        if self.state.tiled or total % self.threads == 0 or total < self.threads:
            with suppress(Returned):
                self.exec_body(body)
            return
        flat = coordinates(LaunchState((total,), False))[0]
        condition = typed.compare("lt", flat, total)
        with self.tracer.block((condition,)) as inside, suppress(Returned):
            self.exec_body(body)
        self.tracer.emit(ir.If(condition, tuple(inside), (), span))


def components(name: str, kind: Compound, taken: Mapping[str, object]) -> list[str]:
    """Names for the components of a parameter ``name`` that are names of no other."""
    while any(f"{name}_{k}" in taken for k in range(kind.size)):
        name += "_"
    return [f"{name}_{k}" for k in range(kind.size)]


class Specialised(KernelFunction):
    """A Warp kernel for one kind of launch."""

    def __init__(self, function: FunctionType, around: Mapping[str, object], reader: Callable[[], WarpReader]) -> None:
        super().__init__(function, around)
        self._reader = reader

    def read(self) -> ir.Kernel:
        """The typed kernel; KernelError with the user's line when it cannot be read."""
        return read_twice(self._reader(), self._reader)


class Kernel:
    """What ``@wp.kernel`` makes. :attr:`variants` holds an executable for each kind of launch so far."""

    def __init__(self, function: FunctionType, around: Mapping[str, object]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._around = around
        self._parameters: dict[str, ArrayType | Compound | str] | None = None
        self.variants: dict[tuple[object, ...], Executable] = {}

    def __repr__(self) -> str:
        return f"<warp kernel {self.__name__}>"

    def parameters(self) -> dict[str, ArrayType | Compound | str]:
        """Annotations by name: an :class:`ArrayType`, a vector or matrix, or the name of a scalar type (R331)."""
        if self._parameters is None:
            spaces = {**self.function.__globals__, **self._around, **outer_names(self.function)}
            found: dict[str, ArrayType | Compound | str] = {}
            for name in self.function.__code__.co_varnames[:self.function.__code__.co_argcount]:
                kind = self.function.__annotations__.get(name)
                if isinstance(kind, str):
                    kind = eval(kind, spaces)
                if kind is array:
                    kind = array[float]
                found[name] = kind if isinstance(kind, (ArrayType, Compound)) else self._scalar(name, kind)
            self._parameters = found
        return self._parameters

    def _scalar(self, name: str, kind: object) -> str:
        try:
            if kind is not None and not isinstance(kind, Struct):
                return element(kind).scalar
        except PtxspecError:
            pass
        raise LaunchError(Diagnostic("R331", f"parameter `{name}` of {self.__name__} is annotated with {kind!r}, which "
                                             "is no array, no vector and no number", self._span()))

    def _span(self) -> Span:
        return Span(self.function.__code__.co_filename, self.function.__code__.co_firstlineno)

    def variant(self, dim: tuple[int, ...], block: int, tiled: bool, arguments: Sequence[object],
                target: str, reader: type[WarpReader] = WarpReader) -> Executable:
        """The executable for these arguments' types, shapes, strides and alignments."""
        kinds = self.parameters()
        if len(arguments) != len(kinds):
            raise LaunchError(Diagnostic("R331", f"{self.__name__} takes {len(kinds)} arguments ({', '.join(kinds)}); "
                                                 f"{len(arguments)} are given", self._span()))
        types: dict[str, Tensor | DType] = {}
        for (name, kind), value in zip(kinds.items(), arguments):
            if isinstance(kind, Compound):
                types |= dict.fromkeys(components(name, kind, kinds), TYPES[kind.scalar])
            else:
                types[name] = self._type(name, kind, value)
        key = (dim, block, tiled, target, reader,
               *((t.shape, str(t.dtype), t.align, str(t.layout)) if isinstance(t, Tensor) else t
                 for t in types.values()))
        if key not in self.variants:
            from ptxspec.backend.executable import compile as build
            self.variants[key] = build(self.specialised(dim, block, tiled, types, reader), target)
        return self.variants[key]

    def specialised(self, dim: tuple[int, ...], block: int, tiled: bool,
                    types: Mapping[str, Tensor | DType], reader: type[WarpReader] = WarpReader) -> Specialised:
        """The kernel with these parameter types, launched so."""
        original = self.function
        function = FunctionType(original.__code__, original.__globals__, original.__name__, original.__defaults__,
                                original.__closure__)
        function.__annotations__ = dict(types)
        function.__module__ = original.__module__
        return Specialised(function, self._around, lambda: reader(
            function, self._around, LaunchState(dim, tiled, block), block, self.parameters()))

    def _plain(self, arguments: Sequence[object]) -> list[object]:
        """The arguments, vectors as the numbers that they are made of (R331)."""
        found: list[object] = []
        for (name, kind), value in zip(self.parameters().items(), arguments):
            if not isinstance(kind, Compound):
                found.append(value)
                continue
            given = value.values if isinstance(value, Composite) else \
                flatten(value) if isinstance(value, (tuple, list)) or hasattr(value, "__array__") else None
            numbers = None if given is None else [number(v) for v in given]
            if numbers is None or len(numbers) != kind.size or not all(isinstance(v, (int, float)) for v in numbers):
                raise LaunchError(Diagnostic("R331", f"`{name}` of {self.__name__} is a {kind!r} of {kind.size} "
                                                     f"numbers, not {value!r}", self._span()))
            found += numbers
        return found

    def run(self, dim: tuple[int, ...], block: int, tiled: bool, arguments: Sequence[object], device: str | None,
            stream: object, gradients: Sequence[Array] = (), reader: type[WarpReader] = WarpReader) -> None:
        """Compile for these arguments if need be, and launch; ``gradients`` follow them for a backward reader."""
        executable = self.variant(dim, block, tiled, arguments, "cuda", reader)
        everything = [*self._plain(arguments), *gradients]
        on_gpu = any(isinstance(a, Array) and a.device.startswith("cuda") for a in everything)
        values = [a.scalars if isinstance(a, Array) and not on_gpu else a for a in everything]
        copies = device is not None and device.startswith("cuda") and not on_gpu
        executable(*values, stream=stream, device="cuda" if copies else None)

    def _type(self, name: str, kind: ArrayType | str, value: object) -> Tensor | DType:
        if isinstance(kind, str):
            return TYPES[kind]
        if not isinstance(value, Array):
            raise LaunchError(Diagnostic("R331", f"`{name}` of {self.__name__} is an array, not "
                                                 f"{type(value).__name__}", self._span()))
        if value.ndim != kind.ndim or value.element != kind.element:
            raise LaunchError(Diagnostic("R331", f"`{name}` of {self.__name__} is an array of {kind.ndim} dimensions "
                                                 f"of {kind.element.scalar}{list(kind.element.trailing) or ''}, not "
                                                 f"{value!r}", self._span()))
        data = value.scalars
        strides = []
        for stride, extent in zip(data.strides, data.shape):
            if stride % data.itemsize and extent > 1:
                raise LaunchError(Diagnostic("R332", f"`{name}`: a stride of {stride} bytes is no multiple of the "
                                                     f"{data.itemsize} bytes of {kind.element.scalar}", self._span()))
            strides.append(stride // data.itemsize)
        layout = None if data.flags.c_contiguous else TileLayout(S[tuple(data.shape):tuple(strides)])
        align = min(value.pointer & -value.pointer, 16) if data.size else data.itemsize
        return Tensor(tuple(data.shape), kind.element.scalar, align=align, layout=layout)


def flatten(value: object) -> list[object]:
    """The numbers in nested sequences, or in an array, in order."""
    items = value.tolist() if hasattr(value, "tolist") else value
    return [v for i in items for v in flatten(i)] if isinstance(items, (list, tuple)) else [items]


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch, as a tape keeps it."""

    kernel: Kernel
    dim: tuple[int, ...]
    block: int
    tiled: bool
    arguments: tuple[object, ...]
    device: str | None


#: The lists of the tapes that record now.
recorders: list[list[Launch]] = []


def kernel(function: Callable[..., object] | None = None, **options: object) -> object:
    """Decorator: a kernel of a function whose parameters are annotated with Warp's types."""
    import sys
    caller = sys._getframe(1)
    around = {} if caller.f_locals is caller.f_globals else dict(caller.f_locals)
    if function is None:
        return lambda f: Kernel(f, around)
    if not isinstance(function, FunctionType):
        raise LaunchError(Diagnostic("R331", "wp.kernel decorates a function written with `def`"))
    return Kernel(function, around)


def launch(kernel: Kernel, dim: Dim, inputs: Sequence[object] = (), outputs: Sequence[object] = (),
           device: str | None = None, block_dim: int = 256, stream: object = None) -> None:
    """Run ``kernel`` once for each element of ``dim``."""
    _launch(kernel, dim, inputs, outputs, device, block_dim, stream, tiled=False)


def launch_tiled(kernel: Kernel, dim: Dim, inputs: Sequence[object] = (), outputs: Sequence[object] = (),
                 device: str | None = None, block_dim: int = 64, stream: object = None) -> None:
    """Run ``kernel`` with one block of ``block_dim`` threads for each element of ``dim``."""
    _launch(kernel, dim, inputs, outputs, device, block_dim, stream, tiled=True)


def _launch(kernel: Kernel, dim: Dim, inputs: Sequence[object], outputs: Sequence[object], device: str | None,
            block: int, stream: object, *, tiled: bool) -> None:
    if not isinstance(kernel, Kernel):
        raise LaunchError(Diagnostic("R331", f"wp.launch takes a kernel, not {type(kernel).__name__}"))
    extents = (dim,) if isinstance(dim, int) else tuple(dim)
    arguments = [*inputs, *outputs]
    if any(extent < 0 for extent in extents) or not extents:
        raise LaunchError(Diagnostic("R331", f"a launch of {list(extents)}", kernel._span()))
    if 0 in extents:
        return
    kernel.run(extents, block, tiled, arguments, device, stream)
    for launches in recorders:
        launches.append(Launch(kernel, extents, block, tiled, tuple(arguments), device))
