"""Interval arithmetic under facts: the bounds of :mod:`ptxspec.scalar.index`, tightened by what a path knows."""

from __future__ import annotations

from ptxspec.scalar.expr import BOOL, Const, Expr, Op, Poly, Var, int_range, is_integer
from ptxspec.scalar.interval import NOTHING, Interval, cut, machine, operation, times

Ranges = dict[Expr, Interval]


def interval(expr: Expr, ranges: Ranges, memo: dict[Expr, Interval]) -> Interval:
    """Inclusive bounds of ``expr``, where atoms listed in ``ranges`` are known to be inside the given ones."""
    found = memo.get(expr)
    if found is None:
        found = _natural(expr, ranges, memo)
        known = ranges.get(expr)
        if known is not None:
            found = cut(found, known)
        memo[expr] = found
    return found


def _natural(expr: Expr, ranges: Ranges, memo: dict[Expr, Interval]) -> Interval:
    if isinstance(expr, Const):
        return (int(expr.value), int(expr.value)) if not isinstance(expr.value, float) else NOTHING
    if isinstance(expr, Var):
        return cut((expr.lo, expr.hi), int_range(expr.dtype)) if is_integer(expr.dtype) else (expr.lo, expr.hi)
    if isinstance(expr, Poly):
        lo: int | None = expr.const
        hi: int | None = expr.const
        for monomial, coefficient in expr.terms:
            span: Interval = (1, 1)
            for part in monomial:
                span = times(span, interval(part, ranges, memo))
            low, high = span if coefficient > 0 else (span[1], span[0])
            lo = None if lo is None or low is None else lo + coefficient * low
            hi = None if hi is None or high is None else hi + coefficient * high
        return lo, hi
    assert isinstance(expr, Op)
    if expr.dtype == BOOL:
        return 0, 1
    found = operation(expr.name, [interval(a, ranges, memo) for a in expr.args])
    return machine(expr.name, found, int_range(expr.dtype)) if is_integer(expr.dtype) else found
