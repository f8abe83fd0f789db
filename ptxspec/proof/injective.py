"""The quick test of race freedom: an address that tells threads apart like the digits of a number.

If the address is ``common + c1*a1 + c2*a2 + ...`` with each coefficient larger than everything below it can add up to,
then two accesses overlap only where all digits ``a`` are equal; if the digits determine the thread, two threads never
overlap. The rule is proved with Z3 in the tests. It says yes or nothing.
"""

from __future__ import annotations

from ptxspec.proof.tree import Access, Threads
from ptxspec.proof.twin import Twin
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Expr, Op, Poly, Var, variables


def separates(one: Access, two: Access, twin: Twin, threads: Threads) -> bool:
    """True when different threads surely touch different bytes through these two accesses."""
    if one.words[0] != two.words[0]:
        return False
    size = max(one.size, two.size)
    digits: list[tuple[int, Expr, int]] = []
    for monomial, coefficient in one.words[0].terms:
        if all(twin.shared(v) for part in monomial for v in variables(part)):
            continue  # the same for both threads
        if len(monomial) != 1:
            return False
        atom = monomial[0]
        low_one, high_one = one.context.interval(atom)
        low_two, high_two = two.context.interval(atom)
        if low_one is None or low_two is None or high_one is None or high_two is None:
            return False
        if any(twin.shared(v) for v in variables(atom)) and not _tame(atom):
            return False
        reach = max(high_one, high_two) - min(low_one, low_two)
        digits.append((abs(coefficient), atom, reach))
    digits.sort(key=lambda d: (d[0], d[1]._hash))
    below = size
    for coefficient, _, reach in digits:
        if coefficient < below:
            return False
        below += coefficient * max(reach, 0)
    return determined([atom for _, atom, _ in digits], threads, not twin.one_block)


def _tame(atom: Expr) -> bool:
    """Atoms that mix shared and private variables are equal for equal digits all the same: a digit is its value."""
    return isinstance(atom, (Op, Var))


def determined(atoms: list[Expr], threads: Threads, blocks: bool) -> bool:
    """True when the values of ``atoms`` fix the thread (or the block)."""
    wanted = (
        [v for v in threads.ctaid if v.lo != v.hi]
        if blocks
        else [v for k, v in enumerate(threads.tid) if threads.block[k] > 1]
    )
    known: set[Expr] = set(atoms)
    fixed: set[Poly] = {ix.index(a) for a in atoms}
    for atom in atoms:
        if not isinstance(atom, Op) or atom.dtype != INDEX or atom.name != "floormod":
            continue
        inner, modulus = atom.args
        if not isinstance(inner, Poly) or not isinstance(modulus, Poly) or not modulus.is_const or modulus.const <= 0:
            continue
        if ix.floordiv(inner, modulus) in fixed:  # quotient and remainder give the number back
            fixed.add(inner)
        low, high = ix.bounds(inner)
        if low is not None and high is not None and high - low < modulus.const:
            fixed.add(inner)  # a shift that wraps around at most once
    for poly in list(fixed):
        known.update(_digits_of(poly))
    return all(v in known for v in wanted)


def _digits_of(poly: Poly) -> list[Expr]:
    """The variables that a known number fixes: its digits, if it is built like a number."""
    terms = [(abs(c), m[0]) for m, c in poly.terms if len(m) == 1]
    if len(terms) != len(poly.terms):
        return []
    below = 1
    for coefficient, atom in sorted(terms, key=lambda t: (t[0], t[1]._hash)):
        low, high = ix.bounds(atom)
        if low is None or high is None or coefficient < below:
            return []
        below += coefficient * (high - low)
    return [atom for _, atom in terms]
