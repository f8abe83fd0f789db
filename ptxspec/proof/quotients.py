"""Linear bounds of quotients and remainders, also by a number that only a launch knows, such as the tiles in a row.

A remainder is less than its divisor, ``x < y * n`` bounds ``x // y`` by ``n``, and ``y * (x // y)`` lies less than
``y`` below ``x``. The rules are proved with Z3 in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ptxspec.layout.value import exact_div
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Expr, Op, Poly, walk


def divided(atom: Expr) -> tuple[Poly, Poly] | None:
    """``(x, y)`` where ``atom`` is the exact ``x // y`` or ``x % y``."""
    if isinstance(atom, Op) and atom.dtype == INDEX and atom.name in ("floordiv", "floormod"):
        value, by = (ix.index(a) for a in atom.args)
        return value, by
    return None


def at_least(atom: Expr, low: int) -> list[Poly]:
    """What is at least zero where ``atom``, a quotient of a number with products by a constant, is at least ``low``."""
    pair = divided(atom)
    if pair is None or not pair[1].is_const or pair[1].const < 1 or not _products(pair[0]):
        return []
    assert isinstance(atom, Op)
    return [ix.sub(pair[0], low * pair[1].const)] if atom.name == "floordiv" else []


def by_constant(atom: Op, value: Poly, by: int) -> list[Poly]:
    """What is at least zero beside ``value // by``: ``0 <= value - by * (value // by) < by``."""
    rest = ix.sub(value, ix.scale(ix.atom(atom), by))
    return [rest, ix.sub(by - 1, rest)] if atom.name == "floordiv" else []


def by_unknown(atom: Op, value: Poly, by: Poly, known: Iterable[Poly], shows: Callable[[Poly], bool]) -> list[Poly]:
    """What is at least zero beside ``value // by`` or ``value % by``, for ``by`` of at least one, where all of
    ``known`` is. ``shows`` asks of a sum whether it is at least zero."""
    own = ix.atom(atom)
    if atom.name == "floormod":
        return [ix.sub(ix.sub(by, own), 1)]
    least = [own] if shows(value) else []
    most: list[Poly] = []
    for fact in known:
        limit = ix.add(fact, value)      # value <= limit
        for count in _counts(limit, by):
            room = ix.sub(ix.mul(count, by), limit)
            if shows(ix.sub(room, 1)):      # value < count * by
                most.append(ix.sub(ix.sub(count, own), 1))
            elif limit.const >= 0 and shows(ix.add(room, limit.const)):     # value <= count * by + limit.const
                most.append(ix.add(ix.sub(count, own), limit.const))
    for product in () if most else (p for node in walk(value) for p in _products(node)):
        for count in _counts(product, by):
            if shows(ix.sub(ix.sub(ix.mul(count, by), 1), value)):      # value < count * by
                most.append(ix.sub(ix.sub(count, own), 1))
    return least + most


def _counts(number: Poly, by: Poly) -> list[Poly]:
    """What ``by`` may have been multiplied with to give about ``number``: what its terms divide, all and each."""
    found: dict[Poly, None] = {}
    for part in by.terms:
        counts = [exact_div(Poly(0, (term,)), Poly(0, (part,))) for term in number.terms]
        known = [c for c in counts if c is not None]
        found |= dict.fromkeys(c for c in (ix.total(known), *known) if not c.is_const)
    return list(found)


def _products(node: Expr) -> list[Poly]:
    return [Poly(0, ((m, 1),)) for m, _ in node.terms if len(m) > 1] if isinstance(node, Poly) else []
