"""Which values are fixed by others: the closure of what two threads are known to agree on.

Rules, each proved with Z3 in the tests: a number written with digits fixes its digits; quotient and remainder fix the
number, also where the quotient is cut again by another divisor; digits fix those among them; a remainder fixes a number
whose range is no wider than the divisor; ``x ^ y`` and ``y`` fix ``x``; a multiple's remainder fixes the number's
remainder by what the multiplier leaves of the divisor; what is computed from fixed values is fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import gcd

from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Const, Expr, Op, Poly, Var

#: Digits ``lo`` to ``hi`` of a number: ``(x // lo) % (hi // lo)``; without ``hi`` all from ``lo`` on.
Digits = tuple[int, int | None]


def declared(value: Poly) -> int | None:
    """The least value by the declared bounds of variables."""
    return ix.bounds(value)[0]


class Fixed:
    """Values that are the same for two threads. ``shared`` says which variables are anyway, ``least`` what a value is
    at least."""

    def __init__(self, values: Iterable[Poly], shared: Callable[[Var], bool],
                 least: Callable[[Poly], int | None] = declared) -> None:
        self.shared = shared
        self.least = least
        self._known: set[Expr] = set()
        self._digits: dict[Poly, set[Digits]] = {}
        self._held: dict[Expr, bool] = {}
        waiting = list(values)
        size = -1
        while size != (size := self._size()):  # each round may make more terms of the values computable
            self._held = {}
            for value in waiting:
                self._learn(value)
            for base, digits in list(self._digits.items()):
                if base not in self._known and _whole(base, digits):
                    self._known.add(base)
                    waiting.append(base)
            for node in list(self._known):
                waiting.extend(self._operand(node))
        self._held = {}

    def _size(self) -> int:
        return len(self._known) + sum(len(d) for d in self._digits.values())

    def holds(self, expr: Expr) -> bool:
        """True when both threads surely have the same value of ``expr``."""
        if expr in self._known or isinstance(expr, Const):
            return True
        if isinstance(expr, Var):
            return (expr.lo is not None and expr.lo == expr.hi) or self.shared(expr)
        found = self._held.get(expr)
        if found is None:
            found = self._held[expr] = all(self.holds(part) for part in expr.children()) or self._among(expr)
        return found

    def _among(self, expr: Expr) -> bool:
        """True for digits of a number among others of it that are known."""
        if not isinstance(expr, Op) or expr.dtype != INDEX or expr.name not in ("floordiv", "floormod"):
            return False
        base, low, high = digits_of(ix.atom(expr))
        return any(low % start == 0 and (end is None or (high is not None and end % high == 0))
                   for start, end in self._digits.get(base, ()))

    def _learn(self, value: Poly) -> None:
        rest = [(abs(c), m) for m, c in value.terms if not all(self.holds(part) for part in m)]
        if any(len(m) != 1 for _, m in rest):
            return
        terms = sorted(((c, m[0]) for c, m in rest), key=lambda t: (t[0], t[1]._hash))
        for _, atom in terms if _digits(terms) else _lowest(terms):
            self._atom(atom)

    def _atom(self, atom: Expr) -> None:
        self._known.add(atom)
        base, low, high = digits_of(ix.atom(atom))
        if (low, high) != (1, None):
            self._digits.setdefault(base, set()).add((low, high))

    def _operand(self, node: Expr) -> list[Poly]:
        """``x`` where ``x ^ y`` and ``y`` are fixed, or ``x // y``, ``x % y`` and ``y``; ``x % m`` where ``y`` and
        ``(x + y) % m`` are; ``x % (m // gcd(c, m))`` where ``(c*x + y) % m`` and ``y`` are."""
        if not isinstance(node, Op) or node.dtype != INDEX or node.name not in ("xor", "floormod", "floordiv"):
            return []
        left, right = node.args
        if node.name == "floordiv":
            partner = Op("floormod", node.args, INDEX)
            return [ix.index(left)] if partner in self._known and self.holds(right) and not self.holds(left) else []
        if node.name == "floormod" and isinstance(left, Poly) and self._cut_further(left, ix.index(right)):
            return [left]
        if node.name == "floormod":
            if not isinstance(left, Poly) or not isinstance(right, Poly) or not right.is_const or right.const <= 0:
                return []
            rest = tuple((m, c) for m, c in left.terms if not all(self.holds(part) for part in m))
            if len(rest) != 1:
                return [ix.floormod(Poly(0, rest), right.const)] if rest else []
            ((monomial, coefficient),) = rest
            return [ix.floormod(ix.atom(monomial[0]), right.const // gcd(coefficient, right.const))] \
                if len(monomial) == 1 else []
        sides = [x for x, y in ((left, right), (right, left)) if self.holds(y) and not self.holds(x)]
        return [ix.index(x) for x in sides]

    def _cut_further(self, quotient: Poly, by: Poly) -> bool:
        """True where ``quotient`` is ``x // d``, and ``x // (d * by)`` is fixed, which is ``quotient // by``."""
        node = ix.single(quotient)
        if not isinstance(node, Op) or node.dtype != INDEX or node.name != "floordiv" or not self.holds(by):
            return False
        value, first = (ix.index(a) for a in node.args)
        if not all((low := self.least(d)) is not None and low >= 0 for d in (first, by)):
            return False    # zero is none: what divides by it is refused
        whole = ix.floordiv(value, ix.mul(first, by))
        return all(part in self._known for monomial, _ in whole.terms for part in monomial)


def _digits(terms: list[tuple[int, Expr]]) -> bool:
    """Each coefficient, in ascending order, exceeds what lies below it."""
    below = 0
    for number, (coefficient, atom) in enumerate(terms):
        low, high = ix.bounds(atom)
        if coefficient <= below:
            return False
        if low is None or high is None:
            return number == len(terms) - 1
        below += coefficient * (high - low)
    return True


def _lowest(terms: list[tuple[int, Expr]]) -> list[tuple[int, Expr]]:
    """The lowest digits alone: those below coefficients that all are multiples of more than the digits span."""
    for count in range(len(terms) - 1, 0, -1):
        spans = [(c, *ix.bounds(a)) for c, a in terms[:count]]
        reach = [c * (high - low) for c, low, high in spans if low is not None and high is not None]
        if len(reach) == count and sum(reach) < gcd(*(c for c, _ in terms[count:])) and _digits(terms[:count]):
            return terms[:count]
    return []


def digits_of(value: Poly) -> tuple[Poly, int, int | None]:
    """``(x, lo, hi)`` with ``value == (x // lo) % (hi // lo)``: digits of a number, or all of it."""
    node = ix.single(value)
    if not isinstance(node, Op) or node.dtype != INDEX or node.name not in ("floordiv", "floormod"):
        return value, 1, None
    inner, by = node.args
    if not isinstance(inner, Poly) or not isinstance(by, Poly) or not by.is_const or by.const <= 0:
        return value, 1, None
    base, low, high = digits_of(inner)
    count = by.const
    if high is not None and high // low % count:
        base, low, high = inner, 1, None  # the digits of the inner number are cut elsewhere
    if node.name == "floordiv":
        return base, low * count, high
    return base, low, low * count


def _whole(base: Poly, digits: set[Digits]) -> bool:
    """The known digits of ``base`` leave one value."""
    low, high = ix.bounds(base)
    reach, grows = 1, True
    while grows:
        grows = False
        for start, end in digits:
            if reach % start:
                continue
            if end is None:
                return True
            if end > reach and end % reach == 0:
                reach, grows = end, True
    return low is not None and high is not None and high - low < reach


def runs(mask: int) -> list[tuple[int, int]]:
    """The runs of ones of a mask that is not negative, as (lowest bit, length)."""
    found: list[tuple[int, int]] = []
    at = 0
    while mask >> at:
        if mask >> at & 1:
            width = 0
            while mask >> at + width & 1:
                width += 1
            found.append((at, width))
            at += width
        else:
            at += 1
    return found
