"""Exact index arithmetic on :class:`Poly`, simplified while it is built.

Each simplification is sound for every value of the variables within their declared bounds; the tests prove each rule
with Z3. Nothing here knows machine widths: wrapping is a separate proof goal about the user's typed arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import gcd

from ptxspec.scalar.expr import BOOL, INDEX, Const, Expr, Monomial, Op, Poly, Var, int_range, is_integer
from ptxspec.scalar.interval import NOTHING, Interval, machine, operation, times

Like = int | Expr

ZERO = Poly(0, ())
ONE = Poly(1, ())


def constant(value: int) -> Poly:
    """The known integer ``value``."""
    return Poly(int(value), ())


def _build(const: int, terms: Mapping[Monomial, int]) -> Poly:
    kept = [(m, c) for m, c in terms.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda t: _order(t[0]))
    return Poly(const, tuple(kept))


def _order(monomial: Monomial) -> tuple[object, ...]:
    return (len(monomial), tuple((a.uid if isinstance(a, Var) else 1 << 60, a._hash) for a in monomial))


def atom(expr: Expr) -> Poly:
    """``expr`` as a polynomial of one atom."""
    return Poly(0, (((expr,), 1),))


def single(value: Poly) -> Expr | None:
    """The atom that ``value`` is, where it is nothing else."""
    if value.const or len(value.terms) != 1:
        return None
    monomial, factor = value.terms[0]
    return monomial[0] if factor == 1 and len(monomial) == 1 else None


def add(*values: Like) -> Poly:
    """Sum."""
    const = 0
    parts = []
    for value in values:
        poly = index(value)
        const += poly.const
        if poly.terms:
            parts.append(poly)
    if len(parts) < 2:  # numbers added to one polynomial leave its terms as they are
        return Poly(const, parts[0].terms if parts else ())
    terms: dict[Monomial, int] = {}
    for poly in parts:
        for monomial, coefficient in poly.terms:
            terms[monomial] = terms.get(monomial, 0) + coefficient
    return _build(const, terms)


def neg(value: Like) -> Poly:
    """Negation."""
    poly = index(value)
    return Poly(-poly.const, tuple((m, -c) for m, c in poly.terms))


def sub(left: Like, right: Like) -> Poly:
    """Difference."""
    return add(left, neg(right))


def scale(value: Like, factor: int) -> Poly:
    """``value`` times a known integer."""
    poly = index(value)
    if factor == 0:
        return ZERO
    if factor == 1:
        return poly
    return Poly(poly.const * factor, tuple((m, c * factor) for m, c in poly.terms))


def mul(left: Like, right: Like) -> Poly:
    """Product; the result stays a polynomial."""
    a, b = index(left), index(right)
    if a.is_const:
        return scale(b, a.const)
    if b.is_const:
        return scale(a, b.const)
    const = a.const * b.const
    terms: dict[Monomial, int] = {}
    for m1, c1 in ((((), a.const), *a.terms)):
        for m2, c2 in ((((), b.const), *b.terms)):
            monomial = tuple(sorted(m1 + m2, key=lambda e: _order((e,))))
            if monomial:
                terms[monomial] = terms.get(monomial, 0) + c1 * c2
    return _build(const, terms)


def floordiv(left: Like, right: Like) -> Poly:
    """``left // right`` rounding down. A known divisor is split off term by term where that is exact."""
    a, b = index(left), index(right)
    if not b.is_const:
        return ONE if a == b and (bounds(b)[0] or 0) > 0 else atom(Op("floordiv", (a, b), INDEX))
    c = b.const
    if c == 0:
        return atom(Op("floordiv", (a, b), INDEX))
    if c < 0:
        return floordiv(neg(a), constant(-c))
    if c == 1:
        return a
    if a.is_const:
        return constant(a.const // c)
    # c*q + r: the multiple leaves exactly; the rest r is divided, and vanishes when it provably lies in [0, c).
    quotient, rest = _split(a, c)
    lo, hi = bounds(rest)
    if lo is not None and hi is not None and lo // c == hi // c:
        return add(quotient, lo // c)
    common = c
    for _, coefficient in rest.terms:
        common = gcd(common, coefficient)
    if common > 1:   # floor((g*x + k) / (g*d)) == floor((x + floor(k/g)) / d)
        inner = Poly(rest.const // common, tuple((m, k // common) for m, k in rest.terms))
        return add(quotient, floordiv(inner, c // common))
    inner_atom = single(rest)
    if isinstance(inner_atom, Op) and inner_atom.name == "floordiv" and inner_atom.dtype == INDEX:
        first, second = inner_atom.args
        if isinstance(second, Poly) and second.is_const and second.const > 0:   # (x // a) // b == x // (a*b)
            return add(quotient, floordiv(first, second.const * c))
    return add(quotient, atom(Op("floordiv", (rest, b), INDEX)))


def floormod(left: Like, right: Like) -> Poly:
    """``left % right`` with the sign of the divisor, as in Python."""
    a, b = index(left), index(right)
    if not b.is_const:
        return ZERO if a == b else atom(Op("floormod", (a, b), INDEX))
    c = b.const
    if c == 0:
        return atom(Op("floormod", (a, b), INDEX))
    if c < 0:
        return neg(floormod(neg(a), constant(-c)))
    if c == 1:
        return ZERO
    if a.is_const:
        return constant(a.const % c)
    _, rest = _split(a, c)
    lo, hi = bounds(rest)
    if lo is not None and hi is not None and lo // c == hi // c:
        return add(rest, -c * (lo // c))
    common = c
    for _, coefficient in rest.terms:
        common = gcd(common, coefficient)
    if common > 1:   # (g*x + k) mod (g*d) == g*((x + k//g) mod d) + k mod g
        inner = Poly(rest.const // common, tuple((m, k // common) for m, k in rest.terms))
        return add(scale(floormod(inner, c // common), common), rest.const % common)
    inner_atom = single(rest)
    if isinstance(inner_atom, Op) and inner_atom.name == "floormod" and inner_atom.dtype == INDEX:
        first, second = inner_atom.args
        if isinstance(second, Poly) and second.is_const and second.const > 0 and second.const % c == 0:
            return floormod(first, c)   # (x mod (k*c)) mod c == x mod c
    return atom(Op("floormod", (rest, b), INDEX))


def _split(a: Poly, c: int) -> tuple[Poly, Poly]:
    """``a == c*quotient + rest`` with every coefficient of ``rest`` in [0, c)."""
    quotient = _build(a.const // c, {m: k // c for m, k in a.terms})
    rest = _build(a.const % c, {m: k % c for m, k in a.terms})
    # Prefer to leave small negative coefficients alone when no coefficient is a multiple of c: bounds stay tighter.
    if quotient.is_const and quotient.const == 0:
        return quotient, rest
    if all(k % c for _, k in a.terms):
        return constant(a.const // c), _build(a.const % c, dict(a.terms))
    kept = {m: k for m, k in a.terms if k % c}
    return _build(a.const // c, {m: k // c for m, k in a.terms if k % c == 0}), _build(a.const % c, kept)


def binary(name: str, left: Like, right: Like) -> Poly:
    """``min max and or xor`` on exact integers (bitwise ones on the infinite two's-complement expansion)."""
    a, b = index(left), index(right)
    if a.is_const and b.is_const:
        x, y = a.const, b.const
        return constant({"min": min(x, y), "max": max(x, y), "and": x & y, "or": x | y, "xor": x ^ y}[name])
    if a == b:
        return ZERO if name == "xor" else a
    if name in ("min", "max"):
        lo, hi = bounds(sub(a, b))
        if lo is not None and lo >= 0:
            return b if name == "min" else a
        if hi is not None and hi <= 0:
            return a if name == "min" else b
    if a.is_const:
        a, b = b, a
    if b.is_const:
        if name == "and" and b.const >= 0 and b.const & (b.const + 1) == 0:
            return floormod(a, b.const + 1)   # x & (2**k - 1) == x mod 2**k in two's complement
        if b.const == 0:
            return ZERO if name == "and" else a if name in ("or", "xor") else atom(Op(name, (a, b), INDEX))
    if name in ("and", "or", "xor") and (_below_bits(a, b) or _below_bits(b, a) or _no_common_bit(a, b)):
        return ZERO if name == "and" else add(a, b)
    return atom(Op(name, (a, b), INDEX))


def _below_bits(low: Poly, high: Poly) -> bool:
    """``low`` is not negative and lies below a power of two that divides ``high``."""
    bottom, top = bounds(low)
    found = divisor(high)
    return bottom is not None and bottom >= 0 and top is not None and top < found & -found


def _no_common_bit(a: Poly, b: Poly) -> bool:
    one = _set_bits(a)
    two = _set_bits(b) if one is not None else None
    return one is not None and two is not None and not one & two


def _set_bits(value: Expr) -> int | None:
    """A mask of the bits that ``value`` may have; None where it may be negative or has no bound."""
    bottom, top = bounds(value)
    if bottom is None or bottom < 0 or top is None:
        return None
    found = (1 << top.bit_length()) - 1
    if isinstance(value, Poly):   # parts that share no bit add up without a carry
        union = value.const
        for monomial, coefficient in value.terms:
            part = _set_bits(monomial[0]) if len(monomial) == 1 and coefficient > 0 else None
            if part is None or coefficient & (coefficient - 1) or union & part * coefficient:
                return found
            union |= part * coefficient
        return found & union if union >= 0 else found
    if isinstance(value, Op) and value.name == "and":
        parts = [_set_bits(a) for a in value.args]
        masks = [p for p in parts if p is not None]
        return found & masks[0] & masks[-1] if masks else found
    return found


def select(condition: Expr, left: Like, right: Like) -> Poly:
    """``left`` where ``condition`` (a typed bool) holds, else ``right``."""
    a, b = index(left), index(right)
    if isinstance(condition, Const):
        return a if condition.value else b
    return a if a == b else atom(Op("select", (condition, a, b), INDEX))


@lru_cache(maxsize=1 << 16)
def _index_of(expr: Expr) -> Poly:
    if isinstance(expr, Const):
        return constant(int(expr.value))
    if isinstance(expr, Var):
        return constant(expr.lo) if expr.lo is not None and expr.lo == expr.hi else atom(expr)
    assert isinstance(expr, Op)
    name, args = expr.name, expr.args
    if name == "add":
        return add(*args)
    if name == "sub":
        return sub(*args)
    if name == "mul":
        return mul(*args)
    if name == "neg":
        return neg(args[0])
    if name == "floordiv":
        return floordiv(*args)
    if name == "floormod":
        return floormod(*args)
    if name in ("truncdiv", "truncmod"):
        a, b = index(args[0]), index(args[1])
        la, lb = bounds(a)[0], bounds(b)[0]
        if la is not None and la >= 0 and lb is not None and lb > 0:
            return floordiv(a, b) if name == "truncdiv" else floormod(a, b)
        return atom(Op(name, (a, b), INDEX))
    if name in ("min", "max", "and", "or", "xor"):
        return binary(name, *args)
    if name in ("shl", "shr"):
        amount = index(args[1])
        if amount.is_const and 0 <= amount.const < 64:
            power = 1 << amount.const
            return scale(args[0], power) if name == "shl" else floordiv(args[0], power)
        return atom(Op(name, (index(args[0]), amount), INDEX))
    if name == "not":
        # ~x == -x - 1 for signed types; unsigned complement depends on the width.
        return sub(-1, args[0]) if expr.dtype.startswith("int") else atom(expr)
    if name == "abs":
        return binary("max", args[0], neg(args[0]))
    if name == "select":
        return select(args[0], args[1], args[2])
    if name == "cast" and is_integer(expr.dtype) and (is_integer(args[0].dtype) or args[0].dtype == BOOL):
        if args[0].dtype == BOOL:
            return select(args[0], ONE, ZERO)
        inner = index(args[0])
        lo, hi = bounds(inner)
        least, most = int_range(expr.dtype)
        from_least, from_most = int_range(args[0].dtype)
        widening = least <= from_least and from_most <= most
        if widening or (lo is not None and hi is not None and least <= lo and hi <= most):
            return inner
    return atom(expr)


def index(value: Like) -> Poly:
    """``value`` as an exact integer. A typed user expression keeps its meaning provided that it does not wrap."""
    if isinstance(value, Poly):
        return value
    if isinstance(value, int):
        return Poly(int(value), ())
    return _index_of(value)


@lru_cache(maxsize=1 << 16)
def bounds(expr: Expr) -> Interval:
    """Inclusive lower and upper bound of an integer expression, None where none is known.

    Uses the declared bounds of variables only (hardware ids within the launch, loop variables within constant ranges,
    values within their type): never a path condition, so it holds wherever the expression may be evaluated.
    """
    if isinstance(expr, Const):
        return (int(expr.value), int(expr.value)) if not isinstance(expr.value, float) else NOTHING
    if isinstance(expr, Var):
        return expr.lo, expr.hi
    if isinstance(expr, Poly):
        return _poly_bounds(expr)
    assert isinstance(expr, Op)
    if expr.dtype == BOOL:
        return 0, 1
    found = operation(expr.name, [bounds(a) for a in expr.args])
    return machine(expr.name, found, int_range(expr.dtype)) if is_integer(expr.dtype) else found


def _poly_bounds(poly: Poly) -> Interval:
    lo: int | None = poly.const
    hi: int | None = poly.const
    for monomial, coefficient in poly.terms:
        span: Interval = (1, 1)
        for part in monomial:
            span = times(span, bounds(part))
        low, high = span if coefficient > 0 else (span[1], span[0])
        lo = None if lo is None or low is None else lo + coefficient * low
        hi = None if hi is None or high is None else hi + coefficient * high
    return lo, hi


def divisor(value: Like) -> int:
    """A positive number that divides ``value`` for all variables (0 when the value is known to be zero)."""
    poly = index(value)
    result = abs(poly.const)
    for monomial, coefficient in poly.terms:
        factor = abs(coefficient)
        for part in monomial:
            factor *= _atom_divisor(part)
        result = gcd(result, factor)
    return result


def _atom_divisor(part: Expr) -> int:
    if isinstance(part, Op) and part.dtype == INDEX:
        if part.name == "floormod":
            return gcd(divisor(part.args[0]), divisor(part.args[1])) or 1
        if part.name in ("min", "max"):
            return gcd(divisor(part.args[0]), divisor(part.args[1])) or 1
        if part.name == "select":
            return gcd(divisor(part.args[1]), divisor(part.args[2])) or 1
        if part.name == "and":   # the lowest bits that a mask leaves
            found = max(divisor(a) & -divisor(a) for a in part.args)
            return found or 1
    if isinstance(part, Var) and part.step_of is not None:
        start, step = part.step_of
        return gcd(divisor(start), divisor(step)) or 1
    return 1


def total(values: Iterable[Like]) -> Poly:
    """Sum of many."""
    return add(*values)
