"""Interval arithmetic under facts: the bounds of :mod:`ptxspec.scalar.index`, tightened by what a path knows."""

from __future__ import annotations

from ptxspec.scalar.expr import BOOL, Const, Expr, Op, Poly, Var, int_range, is_integer

Interval = tuple[int | None, int | None]
Ranges = dict[Expr, Interval]

_NONE: Interval = (None, None)


def interval(expr: Expr, ranges: Ranges, memo: dict[Expr, Interval]) -> Interval:
    """Inclusive bounds of ``expr``, where atoms listed in ``ranges`` are known to be inside the given ones."""
    found = memo.get(expr)
    if found is None:
        found = _natural(expr, ranges, memo)
        known = ranges.get(expr)
        if known is not None:
            found = _cut(found, known)
        memo[expr] = found
    return found


def _cut(a: Interval, b: Interval) -> Interval:
    lows = [x for x in (a[0], b[0]) if x is not None]
    highs = [x for x in (a[1], b[1]) if x is not None]
    return (max(lows) if lows else None), (min(highs) if highs else None)


def _natural(expr: Expr, ranges: Ranges, memo: dict[Expr, Interval]) -> Interval:
    if isinstance(expr, Const):
        return (int(expr.value), int(expr.value)) if not isinstance(expr.value, float) else _NONE
    if isinstance(expr, Var):
        return _cut((expr.lo, expr.hi), int_range(expr.dtype)) if is_integer(expr.dtype) else (expr.lo, expr.hi)
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
    found = operation(expr, [interval(a, ranges, memo) for a in expr.args])
    return (
        _cut(found, int_range(expr.dtype))
        if is_integer(expr.dtype) and found == _NONE
        else (found if not is_integer(expr.dtype) else _machine(found, expr.dtype))
    )


def _machine(found: Interval, dtype: str) -> Interval:
    """The exact interval where it fits the type; the whole type where the operation might wrap."""
    low, high = int_range(dtype)
    lo, hi = found
    return found if lo is not None and hi is not None and low <= lo and hi <= high else (low, high)


def operation(expr: Op, args: list[Interval]) -> Interval:
    """Bounds of the exact result of one operation, before any wrapping."""
    name = expr.name
    if name == "add":
        return plus(args[0], args[1])
    if name == "sub":
        return plus(args[0], minus(args[1]))
    if name == "neg":
        return minus(args[0])
    if name == "mul":
        return times(args[0], args[1])
    if name == "floordiv":
        return quotient(args[0], args[1])
    if name == "floormod":
        return remainder(args[0], args[1])
    if name == "min":
        highs = [x for x in (args[0][1], args[1][1]) if x is not None]
        a, c = args[0][0], args[1][0]
        return (min(a, c) if a is not None and c is not None else None), (min(highs) if highs else None)
    if name == "max":
        return minus(operation(Op("min", expr.args, expr.dtype), [minus(args[0]), minus(args[1])]))
    if name == "select":
        (a, b), (c, d) = args[1], args[2]
        return (None if a is None or c is None else min(a, c)), (None if b is None or d is None else max(b, d))
    if name in ("and", "or", "xor"):
        return bitwise(name, args[0], args[1])
    return _NONE


def plus(x: Interval, y: Interval) -> Interval:
    """Sum of intervals."""
    return (None if x[0] is None or y[0] is None else x[0] + y[0]), (
        None if x[1] is None or y[1] is None else x[1] + y[1]
    )


def minus(x: Interval) -> Interval:
    """Negation of an interval."""
    return (None if x[1] is None else -x[1]), (None if x[0] is None else -x[0])


def times(x: Interval, y: Interval) -> Interval:
    """Product of intervals."""
    (a, b), (c, d) = x, y
    if a is not None and b is not None and c is not None and d is not None:
        products = (a * c, a * d, b * c, b * d)
        return min(products), max(products)
    if a is not None and a >= 0 and c is not None and c >= 0:
        return a * c, (b * d if b is not None and d is not None else None)
    return _NONE


def quotient(x: Interval, y: Interval) -> Interval:
    """Floor division by a positive divisor; nothing is known for others."""
    (a, b), (c, d) = x, y
    if c is None or c <= 0:
        return _NONE
    low = None if a is None else min(a // c, (a // d if d is not None else (0 if a >= 0 else -1)))
    high = None if b is None else max(b // c, (b // d if d is not None else (0 if b >= 0 else -1)))
    return low, high


def remainder(x: Interval, y: Interval) -> Interval:
    """Remainder of a positive divisor; the dividend itself where it already lies inside."""
    (a, b), (c, d) = x, y
    if c is None or c <= 0:
        return _NONE
    if a is not None and a >= 0 and b is not None:
        return 0 if b >= c else a, (b if d is None else min(b, d - 1))
    return 0, (None if d is None else d - 1)


def bitwise(name: str, x: Interval, y: Interval) -> Interval:
    """``and or xor`` of two's-complement integers."""
    (a, b), (c, d) = x, y
    first, second = a is not None and a >= 0, c is not None and c >= 0
    if name == "and":
        tops = [h for sure, h in ((first, b), (second, d)) if sure and h is not None]
        if first or second:
            return 0, (min(tops) if tops else None)
    elif first and second:
        return 0, (None if b is None or d is None else (1 << max(b.bit_length(), d.bit_length())) - 1)
    if a is None or b is None or c is None or d is None:
        return _NONE
    width = max((v if v >= 0 else ~v).bit_length() for v in (a, b, c, d))
    return -(1 << width), (1 << width) - 1
