"""Residue arithmetic: what is known of a value modulo a number, for every value of its variables."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Const, Expr, Op, Poly, Var


@dataclass(frozen=True, slots=True)
class Residue:
    """``value == rest (mod modulus)``; modulus 0 says the value is ``rest`` exactly, modulus 1 says nothing."""

    modulus: int
    rest: int


NOTHING = Residue(1, 0)
Residues = dict[Expr, Residue]


def make(modulus: int, rest: int) -> Residue:
    """A normalised residue."""
    modulus = abs(modulus)
    return Residue(modulus, rest % modulus if modulus else rest)


def plus(a: Residue, b: Residue) -> Residue:
    """Residue of a sum."""
    return make(gcd(a.modulus, b.modulus), a.rest + b.rest)


def times(a: Residue, b: Residue) -> Residue:
    """Residue of a product: (r + m*k)(s + n*l) leaves r*s modulo gcd(r*n, s*m, m*n)."""
    return make(gcd(gcd(a.rest * b.modulus, b.rest * a.modulus), a.modulus * b.modulus), a.rest * b.rest)


def join(a: Residue, b: Residue) -> Residue:
    """What holds of a value that is one or the other."""
    return make(gcd(gcd(a.modulus, b.modulus), a.rest - b.rest), a.rest)


def meet(a: Residue, b: Residue) -> Residue:
    """What holds of a value that satisfies both; the finer one where they cannot be combined simply."""
    if a.modulus == 0 or b.modulus == 1:
        return a
    if b.modulus == 0 or a.modulus == 1:
        return b
    g = gcd(a.modulus, b.modulus)
    if (a.rest - b.rest) % g:
        return a  # contradictory facts: vacuity is decided elsewhere
    step = b.modulus // g
    k = ((b.rest - a.rest) // g * pow(a.modulus // g, -1, step)) % step if step > 1 else 0
    return make(a.modulus * step, a.rest + a.modulus * k)


def residue(expr: Expr, known: Residues) -> Residue:
    """The residue of ``expr``, with ``known`` residues of atoms from facts."""
    own = _residue(expr, known)
    extra = known.get(expr)
    return own if extra is None else meet(own, extra)


def _residue(expr: Expr, known: Residues) -> Residue:
    if isinstance(expr, Const):
        return make(0, int(expr.value)) if not isinstance(expr.value, float) else NOTHING
    if isinstance(expr, Poly):
        total = _plain(expr, known)
        for least in _moduli(expr):
            rest, modulus = unfolded(expr, least)
            total = meet(total, plus(_plain(rest, known), make(modulus, 0)))
        return total
    if isinstance(expr, Var):
        if expr.lo is not None and expr.lo == expr.hi:
            return make(0, expr.lo)
        return NOTHING
    if not isinstance(expr, Op) or expr.dtype != "index":
        return NOTHING
    return _operation(expr, [residue(a, known) for a in expr.args])


def _plain(value: Poly, known: Residues) -> Residue:
    """The residue of a sum from those of its terms."""
    total = make(0, value.const)
    for monomial, coefficient in value.terms:
        product = make(0, coefficient)
        for part in monomial:
            product = times(product, residue(part, known))
        total = plus(total, product)
    return total


def _moduli(value: Poly) -> list[int]:
    """The products of a coefficient and the modulus of a remainder beside it."""
    found = {abs(coefficient) * pair[1] for monomial, coefficient in value.terms for part in monomial
             if (pair := remainder(part)) is not None}
    return sorted(found)


def unfolded(value: Poly, least: int = 1) -> tuple[Poly, int]:
    """``value`` up to multiples of the second, a multiple of ``least``, with remainders by constants taken away:
    ``c * (x % m) == c * x`` modulo ``c * m``. The same value, and 0, where it has none."""
    modulus, terms = 0, [ix.constant(value.const)]
    for monomial, coefficient in value.terms:
        term = ix.constant(coefficient)
        for part in monomial:
            inner, by = remainder(part) or (part, 0)
            if coefficient * by % least:
                inner, by = part, 0
            modulus = gcd(modulus, coefficient * by)
            term = ix.mul(term, inner)
        terms.append(term)
    if not modulus:
        return value, 0
    rest, further = unfolded(ix.add(*terms), least)
    return rest, gcd(modulus, further)


def remainder(part: Expr) -> tuple[Expr, int] | None:
    """``(x, m)`` where ``part`` is the exact ``x % m`` of a positive constant."""
    if isinstance(part, Op) and part.name == "floormod" and part.dtype == INDEX:
        inner, by = part.args
        if isinstance(by, Poly) and by.is_const and by.const > 0:
            return inner, by.const
    return None


def _operation(expr: Op, args: list[Residue]) -> Residue:
    name = expr.name
    if name == "floormod" and args[1].modulus == 0 and args[1].rest > 0:
        a, c = args[0], args[1].rest
        if a.modulus % c == 0:
            return make(0, a.rest % c)
        return make(gcd(a.modulus, c), a.rest)
    if name == "floormod":  # x mod y == x - y*q keeps every common divisor
        return make(gcd(args[0].modulus, gcd(args[1].modulus, args[1].rest)), args[0].rest)
    if name == "floordiv" and args[1].modulus == 0 and args[1].rest > 0:
        a, c = args[0], args[1].rest
        return make(a.modulus // c, a.rest // c) if a.modulus % c == 0 else NOTHING
    if name in ("min", "max"):
        return join(args[0], args[1])
    if name == "select":
        return join(args[1], args[2])
    if name in ("and", "or", "xor"):
        a, b = args
        if a.modulus == 0 and b.modulus == 0:
            x, y = a.rest, b.rest
            return make(0, {"and": x & y, "or": x | y, "xor": x ^ y}[name])
        low = min(_low_bits(a), _low_bits(b))  # equal low bits in, known low bits out
        x, y = a.rest, b.rest
        best = make(low, {"and": x & y, "or": x | y, "xor": x ^ y}[name])
        if name == "and":
            zero = max(_trailing_zeros(a), _trailing_zeros(b))
            best = meet(best, make(zero, 0))
        return best
    return NOTHING


def _low_bits(a: Residue) -> int:
    """The largest power of two whose residue is known (exact values know plenty)."""
    return a.modulus & -a.modulus if a.modulus else 1 << 128


def _trailing_zeros(a: Residue) -> int:
    """The largest known power of two that divides the value."""
    g = gcd(a.modulus, a.rest)
    return g & -g if g else 1 << 128


def solve(inner: Poly, modulus: int, value: int) -> tuple[Expr, Residue] | None:
    """From ``inner % modulus == value``: the residue of the only atom of ``inner``; None where it has several."""
    if len(inner.terms) != 1 or len(inner.terms[0][0]) != 1:
        return None
    (atom,), coefficient = inner.terms[0]
    target = value - inner.const
    g = gcd(coefficient, modulus)
    if target % g or not 0 <= value < modulus:
        return None
    reduced = modulus // g
    if reduced == 1:
        return atom, NOTHING
    return atom, make(reduced, target // g * pow(coefficient // g % reduced, -1, reduced))
