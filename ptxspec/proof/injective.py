"""The quick test of race freedom: an address that tells threads apart like the digits of a number.

Write the addresses of some accesses as ``common + constant + sum(c * digit)``, the digits of one coefficient added up.
If each coefficient is at least as large as all lower digits together (and the constants and widths below them) can
differ, then two accesses overlap only where all digits are equal. If the digits that all accesses share determine the
thread, two different threads never overlap. Where accesses write their lower digits differently, parts of the number
are compared instead (:mod:`ptxspec.proof.parts`). What the digits found so far determine is taken off all numbers, and
the rest is looked at again. The rules are proved with Z3 in the tests. They say yes or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from ptxspec.layout.value import exact_div
from ptxspec.proof import rowwise, swizzle
from ptxspec.proof.congruence import residue
from ptxspec.proof.determine import Fixed, runs
from ptxspec.proof.parts import cut
from ptxspec.proof.sift import Values, left_of, named, one_name
from ptxspec.proof.tree import Access, Threads
from ptxspec.proof.twin import Twin
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import INDEX, Expr, Monomial, Op, Poly, Var, variables, walk

Shared = frozenset[tuple[Monomial, int]]


def separates(accesses: Sequence[Access], twin: Twin, threads: Threads) -> bool:
    """True when different threads surely touch different bytes through any two of ``accesses`` (or one of them)."""
    starts = swizzle.starts(accesses)
    addresses = [_progressed(s, a, twin) for s, a in zip(starts, accesses, strict=True)]
    if not all(_multiples(a) is None for a in addresses):
        remainders = _below_one_step(accesses, addresses, twin)
        if remainders is None:
            return False
        addresses = remainders
    found: list[Poly] = []
    names = one_name(addresses, twin.shared)
    if _sifted(accesses, addresses, [a.size for a in accesses], twin, threads, found, names):
        return True
    by_axis = rowwise.axes(accesses)
    if by_axis is None:
        return False
    for values, widths in by_axis:
        progressed = [_progressed(v, a, twin) for v, a in zip(values, accesses, strict=True)]
        if _sifted(accesses, progressed, widths, twin, threads, found, names):
            return True
    return False


def _sifted(accesses: Sequence[Access], numbers: Sequence[Poly], sizes: Sequence[int], twin: Twin, threads: Threads,
            found: list[Poly], names: Sequence[Values]) -> bool:
    """True when the digits of ``numbers``, with those ``found`` before, determine the thread; adds to ``found``.

    Two accesses that meet agree on all that is found, so what it determines is taken off the numbers: what is left of
    them is as near to each other as they were. ``names`` are those that what is found is written in.
    """
    while True:
        rows = _digit_rows(accesses, numbers, sizes, twin) or []
        found += _common([tuple(named(d, n) for d, n in zip(row, names, strict=True)) for row in rows])
        if determined(found, twin, threads, accesses):
            return True
        left = left_of(accesses, numbers, sizes, Fixed(found, twin.shared), names)
        if left is None:
            return False
        numbers = left


def never_meet(one: Access, two: Access, twin: Twin, mine: Values, other: Values) -> bool:
    """True when some digit of the two addresses surely differs, with variables of each thread as ``mine`` and
    ``other`` (which are written for the second thread's names) give them."""
    starts = swizzle.starts((one, two))
    rows = _digit_rows((one, two), starts, [one.size, two.size], twin) or []
    return any(differ(ix.index(substitute(a, mine)), ix.index(substitute(twin.rename(b), other))) for a, b in rows)


def differ(left: Poly, right: Poly) -> bool:
    """True when the two are never equal, by what is left of them modulo some number."""
    return residue(ix.sub(left, right), {}).rest != 0


@dataclass(frozen=True, slots=True)
class Near:
    """When two accesses meet by one measure: pairs of ``rows`` are equal, and stretches of ``sizes`` from ``rests`` on
    meet. The second of each pair is the second access's, by the first thread's names."""

    rows: list[tuple[Poly, Poly]]
    rests: tuple[Poly, Poly]
    sizes: tuple[int, int]


def nearer(one: Access, two: Access, twin: Twin) -> list[Near]:
    """What must be for the two accesses to meet: by their addresses, or by the indices of each axis where a launch
    chooses extents, or guards and not formulas keep the axes apart."""
    by_axis = rowwise.axes((one, two)) or []
    starts = swizzle.starts((one, two))
    names = one_name(starts, twin.shared)
    if all(e.is_const for e in one.buffer.shape) or not by_axis:
        found = _near((one, two), starts, (one.size, two.size), twin, [], names)
        if found.rows or not by_axis:
            return [found]
    agreed: list[Poly] = []
    return [_near((one, two), numbers, sizes, twin, agreed, names) for numbers, sizes in by_axis]


def _near(accesses: Sequence[Access], starts: Sequence[Poly], sizes: Sequence[int], twin: Twin, agreed: list[Poly],
          names: Sequence[Values]) -> Near:
    """By one measure; adds to what the two have ``agreed`` on."""
    numbers, rows = starts, list[tuple[Poly, ...]]()
    while True:
        left = left_of(accesses, numbers, sizes, Fixed(agreed, twin.shared), names)
        if left is not None:
            numbers = left
            continue
        written = [fields(n) for n in numbers]
        split = [s for s in (digits_of(n, twin) for n in written) if s is not None]
        if len(split) != 2 or split[0][0] != split[1][0]:
            break
        parts = cut(accesses, [digits for _, digits in split], [n.const for n in written], sizes)
        if not parts.rows:
            break
        agreed += _common([tuple(named(d, n) for d, n in zip(row, names, strict=True)) for row in parts.rows])
        rows += parts.rows
        numbers = parts.rests
    pairs: list[tuple[Poly, Poly]] = []
    for a, b in rows:
        unit = ix.constant(gcd(a.const, b.const, *(c for side in (a, b) for _, c in side.terms)) or 1)
        one, two = exact_div(a, unit), exact_div(b, unit)
        assert one is not None and two is not None
        pairs.append((one, two))
    return Near(pairs, (numbers[0], numbers[1]), (sizes[0], sizes[1]))


def fields(number: Poly) -> Poly:
    """``number`` with masks by constants written as quotients and remainders: ``x & 12`` is ``4 * (x // 4 % 4)``."""
    found: dict[Expr, Expr | int] = {}
    for node in walk(number):
        if isinstance(node, Op) and node.name == "and" and node.dtype == INDEX:
            value, mask = (ix.index(a) for a in node.args)
            if mask.is_const and mask.const > 0:
                value = ix.index(substitute(value, found))
                found[node] = ix.total(
                    ix.scale(ix.floormod(ix.floordiv(value, 1 << at), 1 << width), 1 << at)
                    for at, width in runs(mask.const)
                )
    return ix.index(substitute(number, found)) if found else number


def _common(rows: list[tuple[Poly, ...]]) -> list[Poly]:
    """The digits that are written the same way in all accesses."""
    return [r[0] for r in rows if all(d == r[0] for d in r)]


def _digit_rows(
    accesses: Sequence[Access], numbers_of: Sequence[Poly], sizes: Sequence[int], twin: Twin
) -> list[tuple[Poly, ...]] | None:
    """Digits of all numbers, row by row: those of a row are equal wherever two of the numbers are less than their sizes
    apart. None if they have none."""
    common: Shared | None = None
    numbers: list[dict[int, Poly]] = []
    numbers_of = [fields(n) for n in numbers_of]
    for number in numbers_of:
        split = digits_of(number, twin)
        if split is None or (common is not None and split[0] != common):
            return None
        common = split[0]
        numbers.append(split[1])
    constants = [n.const for n in numbers_of]
    written = [dict(n) for n in numbers]
    if _apart(accesses, numbers, constants, sizes) is None:
        # The same again with digits that start at zero: descending indices then line up with ascending ones.
        for k, digits in enumerate(numbers):
            for c, digit in digits.items():
                low = ix.bounds(digit)[0] or 0
                digits[c] = ix.sub(digit, low)
                constants[k] += c * low
        if _apart(accesses, numbers, constants, sizes) is None:
            return cut(accesses, written, [n.const for n in numbers_of], sizes).rows or None
    return [tuple(n.get(c, ix.ZERO) for n in numbers) for c in {c for n in numbers for c in n}]


def _apart(
    accesses: Sequence[Access], numbers: Sequence[dict[int, Poly]], constants: Sequence[int], sizes: Sequence[int]
) -> int | None:
    """How far the numbers reach where each coefficient is at least all that lies below it; None where it is not."""
    reach: dict[int, tuple[int, int]] = {}
    coefficients = {c for n in numbers for c in n}
    top = max(coefficients, default=0)
    for access, digits in zip(accesses, numbers, strict=True):
        for c in coefficients:
            low, high = access.context.interval(digits.get(c, ix.ZERO))
            if low is None or high is None:
                if c != top:
                    return None
                low = high = 0  # nothing lies above the highest digit, so its reach does not matter
            old = reach.get(c, (low, high))
            reach[c] = (min(old[0], low), max(old[1], high))
    below = max(k + size for k, size in zip(constants, sizes, strict=True)) - min(constants)
    for c in sorted(coefficients):
        if c < below:
            return None
        below += c * max(reach[c][1] - reach[c][0], 0)
    return below


def digits_of(address: Poly, twin: Twin) -> tuple[Shared, dict[int, Poly]] | None:
    """What both threads share of the address, and the digit of each coefficient; None where it has no digits."""
    shared: set[tuple[Monomial, int]] = set()
    digits: dict[int, Poly] = {}
    for monomial, coefficient in address.terms:
        if all(twin.shared(v) for part in monomial for v in variables(part)):
            shared.add((monomial, coefficient))
            continue
        if len(monomial) != 1:
            return None
        size = abs(coefficient)
        atom = ix.scale(ix.atom(monomial[0]), coefficient // size)
        digits[size] = ix.add(digits[size], atom) if size in digits else atom
    return frozenset(shared), digits


def _progressed(address: Poly, access: Access, twin: Twin) -> Poly:
    """The address with strided loop variables as start + step * iteration, so that the start shows its digits."""
    inside = set(variables(address))
    progress: dict[Expr, Expr | int] = {
        f.binds: f.progress
        for f in access.context
        if f.binds in inside and f.progress is not None and f.binds is not None and not twin.shared(f.binds)
    }
    return ix.index(substitute(address, progress)) if progress else address


def _multiples(address: Poly) -> tuple[Expr, Poly, Poly] | None:
    """``(k, q, rest)`` with address = q * k + rest: an iteration count ``k``, a step ``q`` that only a launch knows."""
    found: Expr | None = None
    step, rest = ix.ZERO, ix.constant(address.const)
    for monomial, coefficient in address.terms:
        counts = [p for p in monomial if isinstance(p, Var) and p.role == "trip"]
        term = Poly(0, ((monomial, coefficient),))
        if len(monomial) < 2 or not counts:
            rest = ix.add(rest, term)
            continue
        if len(counts) != 1 or found not in (None, counts[0]):
            return None
        found = counts[0]
        others = list(monomial)
        others.remove(found)
        part = ix.constant(coefficient)
        for other in others:
            part = ix.mul(part, ix.atom(other))
        step = ix.add(step, part)
    return None if found is None else (found, step, rest)


def _below_one_step(accesses: Sequence[Access], addresses: Sequence[Poly], twin: Twin) -> list[Poly] | None:
    """What is left of the addresses below a common runtime step, where it surely is less than one step: overlapping
    accesses then are in the same iteration, and overlap in what is left."""
    rests: list[Poly] = []
    steps: set[Poly] = set()
    for access, address in zip(accesses, addresses, strict=True):
        found = _multiples(address)
        if found is None:
            return None
        _, step, rest = found
        if not all(twin.shared(v) for v in variables(step)):
            return None
        if not access.context.at_least_zero(rest):
            return None
        if not access.context.at_least_zero(ix.sub(ix.sub(step, rest), access.size)):
            return None
        steps.add(step)
        rests.append(rest)
    return rests if len(steps) == 1 else None


def determined(digits: Sequence[Poly], twin: Twin, threads: Threads, accesses: Sequence[Access]) -> bool:
    """True when the values of ``digits``, which ``accesses`` have in common, fix the thread (or the block)."""

    def least(value: Poly) -> int | None:
        lows = [a.context.interval(value)[0] for a in accesses]
        known = [low for low in lows if low is not None]
        return min(known) if known and len(known) == len(lows) else None

    wanted = (
        [v for k, v in enumerate(threads.tid) if threads.block[k] > 1]
        if twin.one_block
        else [v for v in threads.ctaid if v.lo != v.hi]
    )
    fixed = Fixed(digits, twin.shared, least)
    return all(fixed.holds(v) for v in wanted)


def doubtful_parts(accesses: Sequence[Access], twin: Twin, threads: Threads) -> list[list[Access]]:
    """The accesses to one array that may meet another thread's, in parts: those of different parts never meet.

    Accesses are first cut into parts whose byte ranges do not meet; a part without writes, or one whose addresses tell
    threads apart, is safe whatever the barriers. Linear in the number of accesses, but for sorting.
    """
    ranges: list[tuple[int, int, Access]] = []
    unbounded: list[Access] = []
    for start, access in zip(swizzle.starts(accesses), accesses, strict=True):
        low, high = access.context.interval(start)
        if low is None or high is None:
            unbounded.append(access)
        else:
            ranges.append((low, high + access.size, access))
    parts: list[list[Access]] = []
    if unbounded:
        parts = [[*accesses]]
    else:
        end = 0
        for low, high, access in sorted(ranges, key=lambda r: (r[0], r[1])):
            if parts and low < end:
                parts[-1].append(access)
            else:
                parts.append([access])
            end = max(end, high)
    return [p for p in parts if not (all(a.kind == "read" for a in p) or separates(p, twin, threads))]
