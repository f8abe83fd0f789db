"""Numbers cut in parts: what lies above, in multiples of ``m``, is equal where all that lies below is less than ``m``.

The rule for numbers whose digits are written in different ways, or overlap; proved with Z3 in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from ptxspec.proof.tree import Access
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Parts:
    """``rows``: parts of all numbers that are equal wherever two of the numbers meet. ``rests``: what each number is
    without them, so that rests are as far apart as the numbers there."""

    rows: list[tuple[Poly, ...]]
    rests: tuple[Poly, ...]


def cut(
    accesses: Sequence[Access], numbers: Sequence[dict[int, Poly]], constants: Sequence[int], sizes: Sequence[int]
) -> Parts:
    """Cut numbers, each the sum of a constant and of digits by their coefficients, from the highest digits down.

    ``sizes``: how much each covers from itself on; two meet where what they cover does. A cut is taken below
    coefficient ``c`` where all above it, up to the cut before, is a multiple of ``m`` and all below, sizes included,
    spans at most ``m``.
    """
    coefficients = sorted({c for n in numbers for c in n})
    spans = _below(accesses, numbers, coefficients)
    base = min(constants)
    left = [k - base for k in constants]
    rows: list[tuple[Poly, ...]] = []
    stop = len(coefficients)
    while (found := _highest(coefficients[:stop], coefficients[stop:], spans, left, sizes)) is not None:
        at, unit = found
        rests = [k % unit for k in left]
        rows.append(tuple(_sum(n, coefficients[at:stop], k - r)
                          for n, k, r in zip(numbers, left, rests, strict=True)))
        left, stop = rests, at
    return Parts(rows, tuple(_sum(n, coefficients[:stop], k) for n, k in zip(numbers, left, strict=True)))


def _highest(
    coefficients: Sequence[int], above: Sequence[int], spans: Sequence[list[Span] | None], constants: Sequence[int],
    sizes: Sequence[int],
) -> tuple[int, int] | None:
    """The highest place where numbers of these coefficients can be cut, and the unit of what lies above it.

    A smaller unit may do where constants leave less of it: the one that the parts ``above``, cut off before, share too.
    """
    for at in reversed(range(len(coefficients))):
        below = spans[at]
        if below is None:
            continue
        own = gcd(*coefficients[at:])
        for unit in (own, gcd(own, *above)):
            rests = [k % unit for k in constants]
            ends = (h + r + size for (_, h), r, size in zip(below, rests, sizes, strict=True))
            if max(ends) - min(n + r for (n, _), r in zip(below, rests, strict=True)) <= unit:
                return at, unit
    return None


def _below(
    accesses: Sequence[Access], numbers: Sequence[dict[int, Poly]], coefficients: Sequence[int]
) -> list[list[Span] | None]:
    """For each coefficient what the digits below it span in each number; None where that is not known."""
    found: list[list[Span] | None] = [[(0, 0)] * len(numbers)]
    for c in coefficients[:-1]:
        before, spans = found[-1], list[Span]()
        if before is not None:
            for (least, most), access, digits in zip(before, accesses, numbers, strict=True):
                low, high = access.context.interval(digits.get(c, ix.ZERO))
                if low is None or high is None:
                    break
                spans.append((least + c * low, most + c * high))
        found.append(spans if len(spans) == len(numbers) else None)
    return found


def _sum(digits: dict[int, Poly], coefficients: Sequence[int], constant: int) -> Poly:
    return ix.add(constant, *(ix.scale(digits[c], c) for c in coefficients if c in digits))
