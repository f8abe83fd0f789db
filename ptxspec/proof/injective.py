"""The quick test of race freedom: an address that tells threads apart like the digits of a number.

Write the addresses of some accesses as ``common + constant + sum(c * digit)``, the digits of one coefficient added up.
If each coefficient is at least as large as all lower digits together (and the constants and widths below them) can
differ, then two accesses overlap only where all digits are equal. If the digits that all accesses share determine the
thread, two different threads never overlap. The rule is proved with Z3 in the tests. It says yes or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.proof import rowwise, swizzle
from ptxspec.proof.determine import Fixed
from ptxspec.proof.tree import Access, Threads
from ptxspec.proof.twin import Twin
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import Expr, Monomial, Poly, Var, variables

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
    same = _common_digits(accesses, addresses, [a.size for a in accesses], twin)
    if same is not None and determined(same, twin, threads):
        return True
    by_axis = rowwise.axes(accesses, twin)
    if by_axis is None:
        return False
    found: list[Poly] = []
    for values, width in by_axis:
        progressed = [_progressed(v, a, twin) for v, a in zip(values, accesses, strict=True)]
        found += _common_digits(accesses, progressed, [width] * len(accesses), twin) or []
    return determined(found, twin, threads)


def _common_digits(
    accesses: Sequence[Access], numbers_of: Sequence[Poly], sizes: Sequence[int], twin: Twin
) -> list[Poly] | None:
    """The digits that are equal wherever two of the numbers are less than their sizes apart; None if they have none."""
    common: Shared | None = None
    numbers: list[dict[int, Poly]] = []
    for number in numbers_of:
        split = digits_of(number, twin)
        if split is None or (common is not None and split[0] != common):
            return None
        common = split[0]
        numbers.append(split[1])
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
    constants = [n.const for n in numbers_of]
    below = max(k + size for k, size in zip(constants, sizes, strict=True)) - min(constants)
    for c in sorted(coefficients):
        if c < below:
            return None
        below += c * max(reach[c][1] - reach[c][0], 0)
    return [numbers[0][c] for c in coefficients if all(n.get(c) == numbers[0].get(c) for n in numbers)]


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
