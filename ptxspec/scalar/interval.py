"""Interval arithmetic: bounds of one operation from those of its operands. The tests prove each rule with Z3."""

from __future__ import annotations

from collections.abc import Sequence

Interval = tuple[int | None, int | None]

#: Nothing is known.
NOTHING: Interval = (None, None)

#: Operations whose result lies in the type of their operands.
_INSIDE = ("floormod", "min", "max", "and", "or", "xor", "select")


def cut(a: Interval, b: Interval) -> Interval:
    """What lies in both."""
    lows = [x for x in (a[0], b[0]) if x is not None]
    highs = [x for x in (a[1], b[1]) if x is not None]
    return (max(lows) if lows else None), (min(highs) if highs else None)


def machine(name: str, found: Interval, whole: tuple[int, int]) -> Interval:
    """Bounds of the value a typed operation gives: the exact ones where they fit the type, else the whole type."""
    lo, hi = found
    if lo is not None and hi is not None and whole[0] <= lo and hi <= whole[1]:
        return found
    return cut(found, whole) if name in _INSIDE else whole


def operation(name: str, args: Sequence[Interval]) -> Interval:
    """Bounds of the exact result of one operation, before any wrapping."""
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
        return minus(operation("min", [minus(args[0]), minus(args[1])]))
    if name == "select":
        (a, b), (c, d) = args[1], args[2]
        return (None if a is None or c is None else min(a, c)), (None if b is None or d is None else max(b, d))
    if name in ("and", "or", "xor"):
        return bitwise(name, args[0], args[1])
    return NOTHING


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
    return NOTHING


def quotient(x: Interval, y: Interval) -> Interval:
    """Floor division by a positive divisor; nothing is known for others."""
    (a, b), (c, d) = x, y
    if c is None or c <= 0:
        return NOTHING
    low = None if a is None else min(a // c, (a // d if d is not None else (0 if a >= 0 else -1)))
    high = None if b is None else max(b // c, (b // d if d is not None else (0 if b >= 0 else -1)))
    return low, high


def remainder(x: Interval, y: Interval) -> Interval:
    """Remainder of a positive divisor; the dividend itself where it already lies inside."""
    (a, b), (c, d) = x, y
    if c is None or c <= 0:
        return NOTHING
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
        return NOTHING
    width = max((v if v >= 0 else ~v).bit_length() for v in (a, b, c, d))
    return -(1 << width), (1 << width) - 1
