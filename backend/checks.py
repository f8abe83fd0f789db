"""Everything a call must satisfy before a kernel starts: what the proofs rest on, checked on the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Note, PtxspecError
from ptxspec.lang.ir import Buffer, Kernel
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import Expr, Var

from .arrays import ArrayView, describe
from .binding import (
    Env,
    Problem,
    bind_dims,
    bind_scalars,
    check_aliasing,
    check_alignment,
    check_dtype,
    check_strides,
    raise_problems,
    scalar_value,
)
from .emit import Module
from .facts import failed_assumptions, failed_conditions, grid_of, written_parameters

if TYPE_CHECKING:
    from ptxspec.proof import Premises


@dataclass(frozen=True, slots=True)
class Bound:
    """A checked call: ``values`` in the module's parameter order (an :class:`ArrayView` for an array)."""

    values: tuple[ArrayView | int | float | bool, ...]
    grid: tuple[int, int, int]
    device: str
    env: Env


_Accepted = tuple[str, Env, tuple[int, int, int], dict[Var, int]]


class HostChecks:
    """Checks calls of one module."""

    def __init__(self, module: Module, premises: Premises | None = None) -> None:
        self.module = module
        self.premises = premises
        self.kernel: Kernel = module.kernel
        self.written = written_parameters(module.kernel)
        self._accepted: dict[object, _Accepted] = {}

    def placed(self, arguments: Sequence[object], named: Mapping[str, object]) -> tuple[object, ...]:
        """All arguments in the parameters' order, ``named`` ones by their names. :class:`LaunchError` R301 for a name
        that no parameter has, that was given by place as well, or that is missing."""
        kernel, names = self.kernel, [p.name for p in self.kernel.params]
        given = dict(zip(names, arguments))
        problems = [f"`{kernel.name}` has no parameter `{n}`" for n in named if n not in names]
        problems += [f"`{n}` is given by its place and by its name" for n in named if n in given]
        given.update(named)
        problems += [] if problems else [f"no argument for `{n}`" for n in names if n not in given]
        notes = (Note("fact", f"parameters: {', '.join(names) or 'none'}"), Note("help", "outputs are arguments too"))
        raise_problems([Problem("R301", text, kernel.span, notes) for text in problems])
        return (*(given[n] for n in names), *arguments[len(names):])

    def bind(self, arguments: Sequence[object], *, stream: int | None = None) -> Bound:
        """Compare ``arguments`` with every premise. Raises :class:`LaunchError` with all that do not hold.

        ``stream`` is the handle of the stream that will use the arrays. Host arrays will be placed by the simulator or
        copied, so of their address only the offset inside the memory they are a view of counts for alignment. What
        depends on shapes, strides and scalars alone is remembered, so that repeated calls compare only addresses.
        """
        kernel = self.kernel
        problems: list[Problem] = []
        if len(arguments) != len(kernel.params):
            names = [p.name for p in kernel.params]
            raise_problems([Problem(
                "R301", f"`{kernel.name}` takes {len(names)} arguments, {len(arguments)} were given", kernel.span,
                (Note("fact", f"expected: {', '.join(names) or 'none'}"), Note("help", "outputs are arguments too")))])
        arrays: list[tuple[Buffer, ArrayView]] = []
        scalars: dict[Var, int | float | bool] = {}
        for param, argument in zip(kernel.params, arguments):
            if isinstance(param, Var):
                scalars[param] = scalar_value(param, argument, problems)
            else:
                view = _view(param, argument, stream, problems)
                if view is not None:
                    arrays.append((param, view))
        raise_problems(problems)
        key = (tuple([(v.shape, v.strides, v.dtype, v.device, place(v) % 256) for _, v in arrays]),
               tuple(scalars.values()))
        found = self._accepted.get(key)
        if found is None:
            found = self._examine(arrays, scalars, problems)
        check_aliasing(kernel, arrays, self.written, problems)
        raise_problems(problems)
        if len(self._accepted) >= 1024:   # ever new sizes must not fill the memory
            self._accepted.clear()
        self._accepted[key] = found
        device, env, grid, dims = found
        views = dict(arrays)
        values: list[ArrayView | int | float | bool] = []
        for parameter in self.module.params:
            source = parameter.source
            values.append(views[source] if isinstance(source, Buffer)
                          else scalars[source] if source in scalars else dims[source])
        return Bound(tuple(values), grid, device, env)

    def _examine(self, arrays: Sequence[tuple[Buffer, ArrayView]], scalars: dict[Var, int | float | bool],
                 problems: list[Problem]) -> _Accepted:
        """All checks that do not depend on where the arrays lie."""
        kernel, env = self.kernel, dict[Expr, int]()
        for variable, value in scalars.items():
            bind_scalars(variable, value, env)
        for buffer, view in arrays:
            check_dtype(buffer, view, problems)
        raise_problems(problems)
        bind_dims(kernel, arrays, env, problems)
        raise_problems(problems)
        device = self._device(arrays, problems)
        views = dict(arrays)
        dims: dict[Var, int] = {}
        for parameter in self.module.params:
            source = parameter.source
            if isinstance(source, Buffer):
                view = views[source]
                check_strides(source, view, env, problems)
                if view.size:
                    proved_with = self.premises.alignments.get(source.name, 1) if self.premises else 1
                    check_alignment(max(parameter.align, proved_with), source, place(view), problems)
            elif source not in scalars:
                dims[source] = evaluate(source, env)
        launch = self.premises.launch if self.premises else ()
        broken = failed_assumptions(kernel, env) + failed_conditions(kernel, launch, env)
        problems.extend(Problem(d.code, d.message, d.span, d.notes) for d in broken)
        raise_problems(problems)
        return device, env, grid_of(kernel, env), dims

    def _device(self, arrays: Sequence[tuple[Buffer, ArrayView]], problems: list[Problem]) -> str:
        """The one device of all arrays (R312); ``cpu`` without arrays. Empty arrays lie anywhere."""
        devices: dict[str, str] = {}
        for buffer, view in arrays:
            devices.setdefault(view.device, buffer.name)
        if len(devices) > 1:
            problems.append(Problem(
                "R312", "the arrays lie on different devices", self.kernel.span,
                tuple(Note("fact", f"`{name}` lies on {device}") for device, name in devices.items())))
        return next(iter(devices), "cpu")


def _view(buffer: Buffer, argument: object, stream: int | None, problems: list[Problem]) -> ArrayView | None:
    try:
        return describe(argument, stream=stream)
    except PtxspecError as error:
        for diagnostic in error.diagnostics:
            problems.append(Problem("R302", f"`{buffer.name}` needs an array: {diagnostic.message}", buffer.span,
                                    diagnostic.notes))
        return None


def place(view: ArrayView) -> int:
    """The address that counts for alignment: a device's own; for host memory the offset of element zero in the memory
    that the array is a view of, since simulator and copies place that anew."""
    if view.device != "cpu":
        return view.pointer
    import numpy as np

    owner = view.owner
    if not isinstance(owner, np.ndarray):
        return view.pointer
    root = owner
    while isinstance(root.base, np.ndarray):
        root = root.base
    return int(view.pointer - root.__array_interface__["data"][0])
