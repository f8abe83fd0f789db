"""Claims: boolean expressions over exact integers, folded while they are built.

They are ordinary :mod:`ptxspec.scalar` nodes, so the same claim is decided by the normaliser, encoded for Z3 and
replayed by :func:`ptxspec.scalar.evaluate.evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BOOL, INDEX, Const, Expr, Op, Poly
from ptxspec.scalar.index import Like

TRUE = Const(True, BOOL)
FALSE = Const(False, BOOL)


def truth(value: bool) -> Const:
    """The constant claim ``value``."""
    return TRUE if value else FALSE


def le(left: Like, right: Like) -> Expr:
    """``left <= right``."""
    difference = ix.sub(right, left)
    if difference.is_const:
        return truth(difference.const >= 0)
    return Op("le", (ix.index(left), ix.index(right)), BOOL)


def lt(left: Like, right: Like) -> Expr:
    """``left < right``."""
    difference = ix.sub(right, left)
    if difference.is_const:
        return truth(difference.const > 0)
    return Op("lt", (ix.index(left), ix.index(right)), BOOL)


def eq(left: Like, right: Like) -> Expr:
    """``left == right``."""
    difference = ix.sub(right, left)
    if difference.is_const:
        return truth(difference.const == 0)
    return Op("eq", (ix.index(left), ix.index(right)), BOOL)


def divides(modulus: int, value: Like) -> Expr:
    """``value`` is a multiple of ``modulus`` (positive)."""
    if modulus == 1:
        return TRUE
    rest = ix.floormod(value, modulus)
    if rest.is_const:
        return truth(rest.const == 0)
    # The remainder is kept unsimplified: messages show the whole address, and the normaliser sees every term.
    return Op("eq", (Op("floormod", (ix.index(value), ix.constant(modulus)), INDEX), ix.ZERO), BOOL)


def within(value: Like, low: int, high: int) -> Expr:
    """``low <= value <= high``."""
    return conj((le(low, value), le(value, high)))


def conj(parts: Iterable[Expr]) -> Expr:
    """All of ``parts``."""
    kept: list[Expr] = []
    for part in parts:
        if isinstance(part, Const):
            if not part.value:
                return FALSE
        elif part not in kept:
            kept.append(part)
    result: Expr = TRUE
    for part in kept:
        result = part if result is TRUE else Op("land", (result, part), BOOL)
    return result


def disj(parts: Iterable[Expr]) -> Expr:
    """Any of ``parts``."""
    kept: list[Expr] = []
    for part in parts:
        if isinstance(part, Const):
            if part.value:
                return TRUE
        elif part not in kept:
            kept.append(part)
    result: Expr = FALSE
    for part in kept:
        result = part if result is FALSE else Op("lor", (result, part), BOOL)
    return result


def negate(claim: Expr) -> Expr:
    """Not ``claim``."""
    if isinstance(claim, Const):
        return truth(not claim.value)
    if isinstance(claim, Op) and claim.name == "lnot":
        return claim.args[0]
    return Op("lnot", (claim,), BOOL)


def conjuncts(claim: Expr) -> tuple[Expr, ...]:
    """The parts of a conjunction, left to right; comparisons of ``lnot`` are pushed inward where that is exact."""
    if isinstance(claim, Op):
        if claim.name == "land":
            return conjuncts(claim.args[0]) + conjuncts(claim.args[1])
        if claim.name == "lnot":
            inner = claim.args[0]
            if isinstance(inner, Op):
                if inner.name == "lor":
                    return conjuncts(negate(inner.args[0])) + conjuncts(negate(inner.args[1]))
                flipped = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}.get(inner.name)
                # NaN compares false both ways, so only integer and bool comparisons may be turned round.
                if flipped is not None and not any(a.dtype.startswith(("float", "bfloat")) for a in inner.args):
                    return (Op(flipped, inner.args, BOOL, inner.span),)
    return (claim,)


def is_index(expr: Expr) -> bool:
    """True for exact integers."""
    return isinstance(expr, Poly) or expr.dtype == INDEX
