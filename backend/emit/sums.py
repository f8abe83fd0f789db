"""Sums of index terms: which width holds them exactly, in which order they are added, which of them go together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd

from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Expr, Monomial, Op, Poly, Var, show

from .machine import machine_bounds

S32 = (-(1 << 31), (1 << 31) - 1)
U32 = (0, (1 << 32) - 1)


def fits(expr: Expr, limits: tuple[int, int]) -> bool:
    """True when the exact value of ``expr`` provably lies within ``limits`` (inclusive)."""
    lo, hi = ix.bounds(_bounded(expr) if isinstance(expr, Poly) else expr)
    return lo is not None and hi is not None and limits[0] <= lo and hi <= limits[1]


def _bounded(poly: Poly) -> Poly:
    """``poly`` with stand-ins for its typed sums, which are known to lie where machine arithmetic puts them."""
    if not any(isinstance(a, Op) and a.dtype != INDEX for m, _ in poly.terms for a in m):
        return poly
    return Poly(poly.const, tuple((tuple(_stand_in(a) if isinstance(a, Op) and a.dtype != INDEX else a for a in m), c)
                                  for m, c in poly.terms))


@lru_cache(maxsize=1 << 12)
def _stand_in(typed: Op) -> Expr:
    return Var("typed", INDEX, "bound", *machine_bounds(typed))


def form(expr: Expr) -> tuple[int, bool]:
    """(bits, signed) of the narrowest register form that holds ``expr`` exactly."""
    if fits(expr, S32):
        return 32, True
    return (32, False) if fits(expr, U32) else (64, True)


def in_order(poly: Poly) -> Sequence[tuple[Monomial, int]]:
    """The terms in an order that is the same in every process, whatever was traced before: operations by their text."""
    if sum(not isinstance(m[0], Var) for m, _ in poly.terms) < 2:
        return poly.terms
    return sorted(poly.terms, key=lambda term: tuple((0, a.uid, "") if isinstance(a, Var) else (1, 0, _text(a))
                                                     for a in term[0]))


@lru_cache(maxsize=1 << 12)
def _text(expr: Expr) -> str:
    return show(expr)


def as_signed(value: int, bits: int) -> int:
    """``value`` modulo 2**bits as a signed literal."""
    half = 1 << bits - 1
    return (value + half) % (1 << bits) - half


def grouped(poly: Poly) -> list[tuple[Poly, int]]:
    """The terms of ``poly`` as (part, factor) with sum of part*factor, parts joined while they fit 32 bits.

    One part is then one 32-bit sum and one widening multiply-add; a term that needs 64 bits stands alone.
    """
    parts: list[tuple[Poly, int]] = []
    joined: Poly | None = None
    for monomial, coefficient in sorted(in_order(poly), key=lambda term: -abs(term[1])):   # multiples side by side
        term = Poly(0, ((monomial, coefficient),))
        single = Poly(0, ((monomial, 1),))
        if len(monomial) > 1 and not fits(single, S32):
            parts.append((single, coefficient))
            continue
        if not (fits(single, S32) or fits(single, U32)):
            parts.append((single, coefficient))
            continue
        if joined is not None:
            together = ix.add(joined, term)
            factor = _common(together)
            if fits(_over(together, factor), S32):
                joined = together
                continue
            parts.append((_over(joined, _common(joined)), _common(joined)))
        joined = term
    if joined is not None:
        factor = _common(joined)
        parts.append((_over(joined, factor), factor))
    return parts


def _common(poly: Poly) -> int:
    factor = 0
    for _, coefficient in poly.terms:
        factor = gcd(factor, coefficient)
    if len(poly.terms) == 1 and poly.terms[0][1] < 0:
        factor = -factor
    return factor


def _over(poly: Poly, factor: int) -> Poly:
    return Poly(0, tuple((monomial, coefficient // factor) for monomial, coefficient in poly.terms))


__all__ = ["S32", "U32", "as_signed", "fits", "form", "grouped", "in_order"]
