"""Loops of the kernel language: what ``T.serial``, ``T.unroll``, ``T.grid`` and ``range`` hand to ``for``."""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.diagnostics import Span
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.trace import intrinsic, where
from ptxspec.layout.value import Value
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const, Expr, Poly, Var, int_range, is_integer, show


@dataclass(frozen=True, slots=True)
class LoopRange:
    """``start <= i < stop`` in steps of ``step`` (> 0, or a constant < 0)."""

    start: Expr
    stop: Expr
    step: Expr
    unroll: bool = False

    def __iter__(self) -> object:
        refuse("K216", "a kernel loop can only be the range of a `for` statement", where(),
               help="write `for i in T.serial(n):`")


@dataclass(frozen=True, slots=True)
class LoopGrid:
    """Nested loops, outermost first."""

    ranges: tuple[LoopRange, ...]

    def __iter__(self) -> object:
        refuse("K216", "T.grid can only be the range of a `for` statement", where(),
               help="write `for i, j in T.grid(m, n):`")


Bound = int | Expr | Value


def _bound(value: object, what: str, span: Span | None) -> Expr:
    if isinstance(value, Value):
        value = value.expr
    if isinstance(value, Expr):
        if isinstance(value, Poly):
            from ptxspec.lang.shapes import to_typed
            return to_typed(value)
        if is_integer(value.dtype):
            return value
        refuse("K210", f"{what} of a loop is an integer, not `{show(value)}` of type {value.dtype}", span)
    if isinstance(value, bool) or not isinstance(value, int):
        refuse("K210", f"{what} of a loop is an integer, not {said(value)}", span)
    return typed.literal(value, typed.default_dtype(value), span)


def make_range(bounds: tuple[object, ...], unroll: bool, span: Span | None) -> LoopRange:
    """A loop from the arguments of range; start, stop and step get one integer type (K210)."""
    if not 1 <= len(bounds) <= 3:
        refuse("K210", f"a loop takes 1 to 3 bounds, not {len(bounds)}", span)
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    parts = [_bound(start, "the start", span), _bound(stop, "the stop", span), _bound(step, "the step", span)]
    symbolic = [p for p in parts if not isinstance(p, Const)]
    dtype = symbolic[0].dtype if symbolic else "int32"
    for part in symbolic[1:]:
        dtype = typed.promote(Var("a", dtype, "value"), Var("b", part.dtype, "value"), span)[2]
    low, high = int_range(dtype)
    constants = [int(p.value) for p in parts if isinstance(p, Const)]
    if any(not low <= c <= high for c in constants):
        dtype = "int64"
    start_e, stop_e, step_e = (typed.literal(int(p.value), dtype, span) if isinstance(p, Const)
                               else typed.cast(p, dtype, span) for p in parts)
    if isinstance(step_e, Const) and step_e.value == 0:
        refuse("K210", "the step of a loop is zero", span)
    return LoopRange(start_e, stop_e, step_e, unroll)


def loop_var(name: str, loop: LoopRange, span: Span) -> Var:
    """The variable of a loop with positive step, with the bounds that hold in its body."""
    start, stop, step = loop.start, loop.stop, loop.step
    low = ix.bounds(ix.index(start))[0]
    above = ix.bounds(ix.index(stop))[1]
    high = None if above is None else above - 1
    if isinstance(step, Const) and isinstance(start, Const) and isinstance(stop, Const):
        first, count = int(start.value), _trips(int(start.value), int(stop.value), int(step.value))
        high = first + (count - 1) * int(step.value) if count else first - 1
    least, most = int_range(loop.start.dtype)
    low = least if low is None else max(low, least)
    high = most - 1 if high is None else min(high, most - 1)
    strided = not (isinstance(step, Const) and step.value == 1)
    return Var(name, start.dtype, "loop", low, high, span,
               lo_expr=None if isinstance(start, Const) else start, hi_expr=None if isinstance(stop, Const) else stop,
               step_of=(start, step) if strided else None)


def _trips(start: int, stop: int, step: int) -> int:
    return max(0, -((start - stop) // step))


def reversed_range(loop: LoopRange, span: Span) -> tuple[LoopRange, int]:
    """A loop with a constant negative step as (loop over trip numbers 0, 1, ..., step)."""
    assert isinstance(loop.step, Const)
    step = int(loop.step.value)
    span_length = typed.binary("sub", loop.start, loop.stop, span)
    trips = typed.binary("floordiv", typed.binary("add", span_length, -step - 1, span), -step, span)
    zero, one = typed.literal(0, loop.start.dtype, span), typed.literal(1, loop.start.dtype, span)
    return LoopRange(zero, trips, one, loop.unroll), step


def serial(*bounds: Bound) -> LoopRange:
    """``for i in T.serial(stop)``, ``T.serial(start, stop)``, ``T.serial(start, stop, step)``: a loop on the device."""
    return make_range(bounds, False, where())


def unroll(*bounds: Bound) -> LoopRange:
    """As :func:`serial`, its body repeated in the emitted code; the bounds must be constants."""
    loop = make_range(bounds, True, where())
    if not all(isinstance(p, Const) for p in (loop.start, loop.stop, loop.step)):
        refuse("K210", "T.unroll needs bounds that are known while the kernel is read", where(),
               help="use T.serial for a runtime trip count")
    return loop


def grid(*extents: Bound) -> LoopGrid:
    """``for i, j in T.grid(m, n)``: nested loops from zero."""
    if not extents:
        refuse("K210", "T.grid needs at least one extent", where())
    return LoopGrid(tuple(make_range((e,), False, where()) for e in extents))


intrinsic(serial)
intrinsic(unroll)
intrinsic(grid)

__all__ = ["LoopGrid", "LoopRange", "grid", "loop_var", "make_range", "reversed_range", "serial", "unroll"]
