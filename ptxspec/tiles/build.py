"""Small building blocks for statements that a tile operation stands for: loops, branches, moves.

Everything is emitted at the user's own line, through the same ``apply`` that hand-written kernels use, so a tile copy
has the same obligations and the same report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ptxspec.lang import ir
from ptxspec.lang.declare import alloc_local
from ptxspec.lang.loops import loop_var, make_range
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.tile import Opcode, apply
from ptxspec.lang.trace import Tracer
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Const, Expr


@contextmanager
def loop(tracer: Tracer, count: int, name: str, *, unroll: bool) -> Iterator[Expr]:
    """``for name in range(count)``; a single trip is no loop."""
    span = tracer.place()
    bounds = make_range((0, count), unroll, span)
    if count == 1:
        yield bounds.start
        return
    var = loop_var(name, bounds, span)
    with tracer.block() as body:
        yield var
    tracer.emit(ir.For(var, bounds.start, bounds.stop, bounds.step, tuple(body), unroll, span))


#: Conditions of the `when` blocks being written, innermost last. (The tracer's own guards also name the conditions of
#: the *other* side of a branch, so they are no facts.)
holding: list[Expr] = []


@contextmanager
def when(tracer: Tracer, condition: Expr) -> Iterator[None]:
    """Statements that run where ``condition`` holds; none at all where it is known to be false."""
    if isinstance(condition, Const) and condition.value:
        yield
        return
    holding.append(condition)
    try:
        with tracer.block([condition]) as body:
            yield
    finally:
        holding.pop()
    if body and not isinstance(condition, Const):
        tracer.emit(ir.If(condition, tuple(body), (), tracer.place()))


@contextmanager
def either(tracer: Tracer, condition: Expr) -> Iterator[tuple[list[ir.Statement], list[ir.Statement]]]:
    """Two lists of statements, emitted as the two sides of one branch."""
    then: list[ir.Statement] = []
    other: list[ir.Statement] = []
    yield then, other
    tracer.emit(ir.If(condition, tuple(then), tuple(other), tracer.place()))


@contextmanager
def into(tracer: Tracer, body: list[ir.Statement], condition: Expr) -> Iterator[None]:
    """Collect statements into ``body``."""
    with tracer.block([condition]) as found:
        yield
    body.extend(found)


def issue(tracer: Tracer, opcode: str, *operands: object, pred: Expr | None = None, preserve: bool = False) -> None:
    """One ``apply`` in thread scope at the user's line."""
    saved, tracer.argument_spans = tracer.argument_spans, ()
    try:
        apply(Opcode(opcode), *operands, pred=pred, preserve_dst=preserve and pred is not None)
    finally:
        tracer.argument_spans = saved


def registers(tracer: Tracer, shape: Sequence[int], dtype: str, name: str) -> TensorView:
    """Fresh registers of each thread."""
    saved, tracer.name_hint = tracer.name_hint, name
    try:
        return alloc_local(tuple(shape), dtype)
    finally:
        tracer.name_hint = saved


def both(*conditions: Expr) -> Expr:
    """All of them."""
    result: Expr = Const(True, BOOL)
    for condition in conditions:
        result = typed.logical("land", result, condition)
    return result
