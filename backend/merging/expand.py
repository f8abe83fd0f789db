"""Loops of element accesses written out, whole or a few iterations at a time, so that their accesses can meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ptxspec.lang.ir import For, If, Load, Statement, Store, Sub, View
from ptxspec.lang.locate import element_bytes
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import Const, Expr, Op, Var

from ..emit.loops import SMALL_LOOP, constant_range
from ..emit.statics import free

#: Statements that one loop is written out to; longer ones take several iterations at a time.
MOST_COPIES = 64

#: Statements of as many iterations as are taken together.
MOST_TOGETHER = 64

Body = tuple[Statement, ...]
_Values = dict[Expr, Expr | int]


class Copies:
    """Which statements were written out from which loop, so that a loop where nothing was gained can stand again."""

    def __init__(self, widest: Callable[[], int]) -> None:
        """``widest`` tells the most bytes that one access moves, where it is asked."""
        self._widest = widest
        self._origin: dict[int, For] = {}
        self._gained: set[int] = set()
        self._alive: list[Statement] = []   # statements go by id

    def expand(self, body: Sequence[Statement]) -> Body:
        """``body``, blocks inside included, with its short loops of element accesses written out."""
        out: list[Statement] = []
        for statement in body:
            copies = self._copies(statement) if isinstance(statement, For) else None
            if copies is None:
                out.append(each_block(statement, self.expand))
                continue
            assert isinstance(statement, For)
            for copy in copies:
                self._origin[id(copy)] = statement
            self._alive += copies
            out += copies
        return tuple(out)

    def _copies(self, loop: For) -> list[Statement] | None:
        """What ``loop`` is written out to; None where it stays."""
        guarded = guard_outside(loop)
        if guarded is not None:
            return [each_block(guarded, self.expand)]
        return written_out(loop) or by_strips(loop, self._widest)

    def stands_for(self, new: Statement, old: Statement) -> Statement:
        """``new`` takes part in a merged access in place of, or beside, ``old``."""
        origin = self._origin.get(id(old))
        if origin is not None:
            self._origin[id(new)] = origin
        self._gained.add(id(new))
        self._alive.append(new)
        return new

    def fold(self, body: Sequence[Statement]) -> Body:
        """``body`` with every loop back in which no access was merged."""
        out: list[Statement] = []
        place = 0
        while place < len(body):
            origin = self._origin.get(id(body[place]))
            end = place + 1
            while origin is not None and end < len(body) and self._origin.get(id(body[end])) is origin:
                end += 1
            if origin is not None and not any(id(s) in self._gained for s in body[place:end]):
                out.append(origin)
            else:
                out += [each_block(s, self.fold) for s in body[place:end]]
            place = end
        return tuple(out)


def each_block(statement: Statement, change: Callable[[Sequence[Statement]], Body]) -> Statement:
    """``statement`` with ``change`` done to the blocks inside it."""
    if isinstance(statement, For):
        body = change(statement.body)
        return statement if _same(body, statement.body) else replace(statement, body=body)
    if isinstance(statement, If):
        then, orelse = change(statement.then), change(statement.orelse)
        if not (_same(then, statement.then) and _same(orelse, statement.orelse)):
            return replace(statement, then=then, orelse=orelse)
    return statement


def _same(a: Body, b: Body) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def guard_outside(loop: For) -> If | None:
    """``if`` around the loop where its whole body stands under one condition that the loop does not change."""
    inside: Statement | None = loop.body[0] if len(loop.body) == 1 else None
    if isinstance(inside, For):
        inside = guard_outside(inside)
    if not isinstance(inside, If) or inside.orelse or loop.var in free(inside.condition):
        return None
    return replace(inside, then=(replace(loop, body=inside.then),))


def written_out(loop: For) -> list[Statement] | None:
    """The iterations of ``loop`` one after the other; None where it stays a loop."""
    values, body = constant_range(loop.start, loop.stop, loop.step), _straight(loop.body)
    if not values or body is None:
        return None
    size = len(values) * len(body)
    if size > MOST_COPIES or not (loop.unroll or size + len(values) <= SMALL_LOOP):
        return None
    return [copy for value in values for copy in _iteration(body, {loop.var: Const(value, loop.var.dtype)})]


def by_strips(loop: For, widest: Callable[[], int]) -> list[Statement] | None:
    """``loop`` with as many iterations in one as a single access may serve; None where they do not come out even."""
    values = constant_range(loop.start, loop.stop, loop.step)
    body = None if any(isinstance(s, For) for s in loop.body) else _straight(loop.body)
    if not values or not body:
        return None
    moved = [element_bytes(s.view.dtype) for s in body
             if isinstance(s, (Load, Store)) and s.view.buffer.scope != "local"]
    width = widest() // min(moved) if moved else 1
    while width > 1 and len(values) % width:
        width //= 2
    if width < 2 or width * len(body) > MOST_TOGETHER:
        return None
    old = loop.var
    step = Const(values.step * width, old.dtype)
    var = Var(old.name, old.dtype, old.role, values[0], values[-width], old.span, step_of=(loop.start, step))
    copies: list[Statement] = []
    for k in range(width):
        further = Op("add", (var, Const(values.step * k, old.dtype)), old.dtype)
        copies += _iteration(body, {old: further if k else var})
    return [replace(loop, var=var, step=step, body=tuple(copies))]


def _straight(statements: Sequence[Statement]) -> list[Statement] | None:
    """``statements`` as element accesses one after the other, inner loops written out; None where there is more."""
    body: list[Statement] = []
    for statement in statements:
        inner = written_out(statement) if isinstance(statement, For) else [statement]
        if inner is None or not all(isinstance(s, (Load, Store)) for s in inner):
            return None
        body += inner
    return body


def _iteration(body: Sequence[Statement], values: _Values) -> list[Statement]:
    """One copy of ``body``; what it reads gets names of its own."""
    copies: list[Statement] = []
    for statement in body:
        if isinstance(statement, Load):
            old = statement.result
            result = Var(old.name, old.dtype, old.role, old.lo, old.hi, old.span)
            copies.append(Load(result, _placed(statement.view, values), _all(statement.index, values), statement.span))
            values[old] = result
        else:
            assert isinstance(statement, Store)
            copies.append(Store(_placed(statement.view, values), _all(statement.index, values),
                                substitute(statement.value, values), statement.span))
    return copies


def _all(expressions: tuple[Expr, ...], values: _Values) -> tuple[Expr, ...]:
    return tuple([substitute(e, values) for e in expressions])


def _placed(view: View, values: _Values) -> View:
    """``view`` with the variables in its selections replaced."""
    if not any(isinstance(step, Sub) for step in view.steps):
        return view
    steps = tuple(
        replace(step, axes=tuple(replace(axis, start=substitute(axis.start, values)) for axis in step.axes))
        if isinstance(step, Sub) else step for step in view.steps)
    return replace(view, steps=steps)
