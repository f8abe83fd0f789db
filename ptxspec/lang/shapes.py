"""Shape arithmetic of views: matching the dimensions of a reshape, inferring one, showing shapes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ptxspec.layout.base import ravel, unravel
from ptxspec.layout.value import exact_div, product
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Expr, Op, Poly, Var, variables

Shape = tuple[Poly, ...]


@lru_cache(maxsize=4096)
def matched(old: Shape, new: Shape) -> tuple[tuple[slice, slice], ...]:
    """Runs of dimensions of ``old`` and ``new`` with equal products, as short as they can be made.

    Dimensions that a reshape leaves alone pass through untouched, which keeps symbolic extents out of divisions.
    """
    result: list[tuple[slice, slice]] = []
    a0 = b0 = a = b = 0
    pa = pb = ix.ONE
    while a < len(old) or b < len(new):
        if a == a0 and a < len(old):
            pa, a = old[a], a + 1
        if b == b0 and b < len(new):
            pb, b = new[b], b + 1
        while pa != pb:
            grow_old = _smaller(pa, pb)
            if grow_old and a < len(old):
                pa, a = ix.mul(pa, old[a]), a + 1
            elif grow_old is False and b < len(new):
                pb, b = ix.mul(pb, new[b]), b + 1
            else:   # no common border: the rest is one run
                return (*result, (slice(a0, len(old)), slice(b0, len(new))))
        result.append((slice(a0, a), slice(b0, b)))
        a0, b0, pa, pb = a, b, ix.ONE, ix.ONE
    return tuple(result)


def _smaller(a: Poly, b: Poly) -> bool | None:
    if a.is_const and b.is_const:
        return a.const < b.const
    if exact_div(b, a) is not None:
        return True
    return False if exact_div(a, b) is not None else None


def reshaped(index: Sequence[Poly], new: Shape, old: Shape) -> list[Poly]:
    """The coordinates in ``old`` of the element that has ``index`` in ``new``, both in row-major order."""
    if new == old:
        return list(index)
    result: list[Poly] = []
    for before, after in matched(old, new):
        if after.stop - after.start == before.stop - before.start == 1:
            result.append(index[after.start])
        else:
            result.extend(unravel(ravel(index[after], new[after]), old[before]))
    return result


def count(shape: Sequence[Poly]) -> Poly:
    """Number of elements."""
    return product(shape)


def quotient(total: Poly, known: Poly) -> Poly | None:
    """``total / known`` where it is exact for all values of the dimensions."""
    return exact_div(total, known)


def to_typed(poly: Poly) -> Expr:
    """A typed expression (int32, int64 where an atom is) of the same value, for ``.shape`` inside kernels."""
    from ptxspec.scalar import typed
    total: Expr | int = poly.const
    for monomial, coefficient in poly.terms:
        term: Expr | int = coefficient
        for part in monomial:
            atom = _typed_atom(part)
            term = atom if isinstance(term, int) and term == 1 else typed.binary("mul", term, atom)
        total = term if isinstance(total, int) and total == 0 else typed.binary("add", total, term)
    return total if isinstance(total, Expr) else typed.literal(total, typed.default_dtype(total))


def _typed_atom(part: Expr) -> Expr:
    from ptxspec.scalar import typed
    if isinstance(part, Op) and part.dtype == "index":
        args = [to_typed(a) if isinstance(a, Poly) else a for a in part.args]
        if part.name == "select":
            return typed.select(args[0], args[1], args[2])
        return typed.binary(part.name, args[0], args[1])
    return part


def launch_time(expr: Expr) -> bool:
    """True when only dimensions and scalar parameters occur: the host can compute it before the launch."""
    if isinstance(expr, Poly) and expr.is_const:
        return True
    return all(isinstance(v, Var) and v.role in ("dim", "param") for v in variables(expr))
