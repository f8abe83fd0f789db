"""``kernel.adjoint()``: the kernel that carries gradients from a kernel's results back to its sources."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from types import FunctionType

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.function import KernelFunction, Reader
from ptxspec.lang.loops import LoopRange, make_range
from ptxspec.lang.reader.calls import Returned
from ptxspec.lang.reader.frame import Frame, outer_names
from ptxspec.lang.reader.source import Source, source_of
from ptxspec.lang.trace import Tracer, tracing
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const, Expr, is_float
from ptxspec.tiles.tape import Taping


class Reversing(Reader):
    """What every reader of adjoints adds to the one that it reads with: gradient parameters, loops run backwards."""

    def _parameters(self, source: Source, frame: Frame) -> None:
        super()._parameters(source, frame)
        assert isinstance(self.tracer, Taping)
        add_gradients(self.tracer)

    def _loop(self, ranges: list[LoopRange], target: ast.expr, place: ast.expr, node: ast.For) -> None:
        first, *inner = ranges
        super()._loop([backwards(first, self, node), *inner], target, place, node)


class Backwards(Reversing):
    """Reads a kernel backwards: see :mod:`ptxspec.tiles.tape`."""

    atomics = True

    def read(self) -> ir.Kernel:
        """The typed adjoint."""
        source = source_of(self.definition)
        frame = Frame(source, outer_names(self.definition), self.definition.__globals__, self.definition.__name__, None,
                      is_kernel=True)
        self.frames.append(frame)
        span = Span(source.file, source.node.lineno, source.node.col_offset + 1)
        self.tracer = Taping(self.definition.__name__ + "_adjoint", source.file, span, self.place, self.excerpt)
        self.tracer.atomics = self.atomics
        with tracing(self.tracer):
            self._parameters(source, frame)
            with suppress(Returned):
                self.exec_body(source.node.body)
            return self.tracer.finish()


def add_gradients(tracer: Taping) -> None:
    """A gradient parameter ``NAME_grad`` behind the kernel's own, for every floating-point array."""
    for parameter in list(tracer.params):
        if isinstance(parameter, ir.Buffer) and is_float(parameter.dtype):
            twin = ir.Buffer(tracer.fresh(f"{parameter.name}_grad"), parameter.dtype, parameter.shape, parameter.layout,
                             parameter.scope, parameter.align, parameter.span, True)
            tracer.params.append(tracer.add_buffer(twin))
            tracer.gradients[parameter] = twin


def backwards(loop: LoopRange, reader: Reader, node: ast.AST) -> LoopRange:
    """The same iterations from the last one on (K240 where the step is no constant)."""
    tracer: Tracer = reader.tracer
    span = tracer.place()
    if not isinstance(loop.step, Const):
        reader.refuse("K240", "the adjoint of a loop with a runtime step is not known", node,
                      help="use a constant step")
    step = int(loop.step.value)
    last: Expr = typed.binary("sub", loop.stop, 1, span)
    if step != 1:
        ahead = step > 0
        length = typed.binary("sub", loop.stop, loop.start, span) if ahead else \
            typed.binary("sub", loop.start, loop.stop, span)
        steps = typed.binary("floordiv", typed.binary("sub", length, 1, span), abs(step), span)
        last = typed.binary("add", loop.start, typed.binary("mul", steps, step, span), span)
    beyond = typed.binary("sub", loop.start, 1 if step > 0 else -1, span)
    return make_range((last, beyond, -step), loop.unroll, span)


class Adjoint(KernelFunction):
    """The adjoint of a kernel: its parameters are the kernel's, then ``A_grad`` for each floating-point array ``A``."""

    def __init__(self, function: FunctionType, around: Mapping[str, object], atomics: bool) -> None:
        super().__init__(function, around)
        self.__name__ = function.__name__ + "_adjoint"
        self._atomics = atomics

    def read(self) -> ir.Kernel:
        """The typed adjoint; KernelError with the user's line where an operation has none."""
        reader = Backwards(self.function, self._around)
        reader.atomics = self._atomics
        return reader.read()


_known: dict[tuple[KernelFunction, bool], Adjoint] = {}


def adjoint(kernel: KernelFunction, *, atomics: bool = True) -> Adjoint:
    """The adjoint of ``kernel``, a kernel of tile loads, moves, linear arithmetic and stores.

    It is compiled, proved and called like any kernel, with the kernel's arguments followed by one gradient for each
    floating-point array. A load adds its tile's gradient atomically to the array's; a store adds the gradient of the
    written region to the tile's and then clears it; an atomic addition leaves it. Offsets, indices and conditions get
    no gradient. Codes K240, K241.

    ``atomics=False``: gradients are read, added to and written back, which moves wider and is faster, for launches that
    are alone in changing the gradients. That no two threads of the launch add to the same element becomes an
    obligation: a kernel whose tiles overlap is refused, with the two threads.
    """
    if (kernel, atomics) not in _known:
        _known[kernel, atomics] = Adjoint(kernel.function, kernel._around, atomics)
    return _known[kernel, atomics]
