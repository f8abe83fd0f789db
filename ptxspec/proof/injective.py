"""The quick test of race freedom: an address that tells threads apart like the digits of a number.

Write the addresses of some accesses as ``common + constant + sum(c * digit)``, the digits of one coefficient added up.
If each coefficient is at least as large as all lower digits together (and the constants and widths below them) can
differ, then two accesses overlap only where all digits are equal. If the digits that all accesses share determine the
thread, two different threads never overlap. Where accesses write their lower digits differently, parts of the number
are compared instead: what lies above, in multiples of ``m``, is equal where all that lies below is less than ``m``.
Both rules are proved with Z3 in the tests. They say yes or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from ptxspec.proof import rowwise, swizzle
from ptxspec.proof.congruence import residue
from ptxspec.proof.determine import Fixed, runs
from ptxspec.proof.tree import Access, Threads
from ptxspec.proof.twin import Twin
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import INDEX, Expr, Monomial, Op, Poly, Var, variables, walk

Shared = frozenset[tuple[Monomial, int]]
Values = Mapping[Expr, Expr | int]


def separates(accesses: Sequence[Access], twin: Twin, threads: Threads) -> bool:
    """True when different threads surely touch different bytes through any two of ``accesses`` (or one of them)."""
    starts = swizzle.starts(accesses)
    addresses = [_progressed(s, a, twin) for s, a in zip(starts, accesses, strict=True)]
    if not all(_multiples(a) is None for a in addresses):
        remainders = _below_one_step(accesses, addresses, twin)
        if remainders is None:
            return False
        addresses = remainders
    rows = _digit_rows(accesses, addresses, [a.size for a in accesses], twin)
    if rows is not None and determined(_common(rows), twin, threads):
        return True
    by_axis = rowwise.axes(accesses, twin)
    if by_axis is None:
        return False
    found: list[Poly] = []
    for values, width in by_axis:
        progressed = [_progressed(v, a, twin) for v, a in zip(values, accesses, strict=True)]
        found += _common(_digit_rows(accesses, progressed, [width] * len(accesses), twin) or [])
    return determined(found, twin, threads)


def never_meet(one: Access, two: Access, twin: Twin, mine: Values, other: Values) -> bool:
    """True when some digit of the two addresses surely differs, with variables of each thread as ``mine`` and
    ``other`` (which are written for the second thread's names) give them."""
    starts = swizzle.starts((one, two))
    rows = _digit_rows((one, two), starts, [one.size, two.size], twin) or []
    return any(differ(ix.index(substitute(a, mine)), ix.index(substitute(twin.rename(b), other))) for a, b in rows)


def differ(left: Poly, right: Poly) -> bool:
    """True when the two are never equal, by what is left of them modulo a common divisor of all remainders taken."""
    modulus, parts = 0, []
    for poly, sign in ((left, 1), (right, -1)):
        parts.append(ix.constant(sign * poly.const))
        for monomial, coefficient in poly.terms:
            node = monomial[0]
            if len(monomial) == 1 and isinstance(node, Op) and node.name == "floormod" and node.dtype == INDEX:
                inner, by = (ix.index(a) for a in node.args)
                if by.is_const and by.const > 0:  # x % m is x, up to multiples of m
                    modulus = gcd(modulus, coefficient * by.const)
                    parts.append(ix.scale(inner, sign * coefficient))
                    continue
            parts.append(Poly(0, ((monomial, sign * coefficient),)))
    rest = residue(ix.add(*parts), {})
    modulus = gcd(modulus, rest.modulus)
    return rest.rest % modulus != 0 if modulus else rest.rest != 0


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
            return _parts(accesses, written, [n.const for n in numbers_of], max(sizes)) or None
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


def _parts(
    accesses: Sequence[Access], numbers: Sequence[dict[int, Poly]], constants: Sequence[int], size: int
) -> list[tuple[Poly, ...]]:
    """Rows as in :func:`_digit_rows`, of parts that may hold several digits each.

    A number is cut below coefficient ``c`` where all above is a multiple of ``m`` and all below, ``size`` included,
    spans at most ``m``: numbers less than ``size`` apart then are equal above the cut. A row is what lies between two.
    """
    coefficients = sorted({c for n in numbers for c in n})
    base = min(constants)
    lows, highs = [0] * len(numbers), [0] * len(numbers)    # what the digits below the cut span
    cuts: list[tuple[int, list[int]]] = []      # the place of each cut, and each number's constant above it
    for at, c in enumerate(coefficients):
        unit = gcd(*coefficients[at:])
        rests = [(k - base) % unit for k in constants]
        if max(h + r for h, r in zip(highs, rests, strict=True)) + size \
                - min(n + r for n, r in zip(lows, rests, strict=True)) <= unit:
            cuts.append((at, [k - base - r for k, r in zip(constants, rests, strict=True)]))
        for k, (access, digits) in enumerate(zip(accesses, numbers, strict=True)):
            low, high = access.context.interval(digits.get(c, ix.ZERO))
            if low is None or high is None:
                return _between(cuts, numbers, coefficients)    # nothing is known of what lies below a later cut
            lows[k] += c * low
            highs[k] += c * high
    return _between(cuts, numbers, coefficients)


def _between(
    cuts: Sequence[tuple[int, list[int]]], numbers: Sequence[dict[int, Poly]], coefficients: Sequence[int]
) -> list[tuple[Poly, ...]]:
    """What each number has between one cut and the next."""
    rows: list[tuple[Poly, ...]] = []
    ends = [*cuts[1:], (len(coefficients), [0] * len(numbers))] if cuts else []
    for (start, here), (stop, above) in zip(cuts, ends, strict=True):
        rows.append(tuple(
            ix.add(h - a, *(ix.scale(n[c], c) for c in coefficients[start:stop] if c in n))
            for n, h, a in zip(numbers, here, above, strict=True)))
    return rows


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


def determined(digits: Sequence[Poly], twin: Twin, threads: Threads) -> bool:
    """True when the values of ``digits`` fix the thread (or the block)."""
    wanted = (
        [v for k, v in enumerate(threads.tid) if threads.block[k] > 1]
        if twin.one_block
        else [v for v in threads.ctaid if v.lo != v.hi]
    )
    fixed = Fixed(digits, twin.shared)
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
