"""New registers computed element by element from those that each thread holds."""

from __future__ import annotations

from collections.abc import Callable

from ptxspec.lang import ir
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr, Var, int_range, is_integer
from ptxspec.tiles.build import loop, registers, when
from ptxspec.tiles.plan import Plan

At = tuple[Expr, Expr]

#: What has no value for some operands, so it is not computed by threads that hold no element.
PARTIAL = ("floordiv", "floormod", "truncdiv", "truncmod", "shl", "shr")


def computed(tracer: Tracer, plan: Plan, value: Callable[[At], Expr], *, careful: bool = False) -> TensorView:
    """Registers with ``value(at)`` for the repeat and word ``at`` of each. Threads without an element in the last
    repeat compute too, of whatever they hold, unless ``careful``: then they get zeros."""
    made: TensorView | None = None

    def write(repeat: Expr) -> TensorView:
        nonlocal made
        with loop(tracer, plan.words, "word", unroll=True) as word:
            result = value((repeat, word))
            made = made or registers(tracer, (plan.repeats, plan.words), result.dtype, "tile")
            tracer.emit(ir.Store(made.ir, (repeat, word), result, tracer.place()))
        return made

    if not careful or not plan.rest:
        with loop(tracer, plan.repeats, "repeat", unroll=True) as repeat:
            return write(repeat)
    if plan.full:
        with loop(tracer, plan.full, "repeat", unroll=True) as repeat:
            write(repeat)
    last, block = typed.literal(plan.full, "int32"), tracer.blocks[-1]
    tracer.settle()
    place = len(block)
    with when(tracer, typed.compare("lt", tracer.linear_thread(), plan.rest)):
        cells = write(last)
    block[place:place] = [
        ir.Store(cells.ir, (last, typed.literal(word, "int32")), typed.literal(0, cells.dtype), tracer.place())
        for word in range(plan.words)]
    return cells


def assigned(tracer: Tracer, plan: Plan, cells: TensorView, value: Callable[[At], Expr]) -> None:
    """``value(at)`` into every register that there is already, for the repeat and word ``at`` of each."""
    with loop(tracer, plan.repeats, "repeat", unroll=True) as repeat, \
            loop(tracer, plan.words, "word", unroll=True) as word:
        at = (repeat, word)
        tracer.emit(ir.Store(cells.ir, at, value(at), tracer.place()))


def visit(tracer: Tracer, plan: Plan, body: Callable[[At, tuple[Expr, ...]], None]) -> None:
    """``body(at, coordinates)`` for each element that the executing thread owns, ``at`` its repeat and word."""
    thread = tracer.linear_thread()

    def group(repeat: Expr) -> None:
        first = plan.at(repeat, thread)
        with loop(tracer, plan.words, "word", unroll=True) as word:
            body((repeat, word), plan.word(first, word))

    if plan.full:
        with loop(tracer, plan.full, "repeat", unroll=True) as repeat:
            group(repeat)
    if plan.rest:
        with when(tracer, typed.compare("lt", thread, plan.rest)):
            group(typed.literal(plan.full, "int32"))


def read(tracer: Tracer, cells: TensorView, at: tuple[Expr, ...]) -> Var:
    """One register, or one element of memory, as a value."""
    dtype, span = cells.dtype, tracer.place()
    low, high = int_range(dtype) if is_integer(dtype) else (None, None)
    result = Var("element", dtype, "value", low, high, span)
    tracer.emit(ir.Load(result, cells.ir, at, span))
    return result
