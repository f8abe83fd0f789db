"""A first question to Z3 in linear terms: products and quotients of unknowns become unknowns of their own.

What is said of those are consequences of what they are, all linear, so a claim that follows from them holds; one that
does not is asked again in full (:mod:`ptxspec.proof.solver`). Z3 answers linear questions in milliseconds, and seldom
finds its way through products of unknowns, such as the tiles in a row times the tiles in a column. Each consequence is
proved in the tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache

import z3

from ptxspec.proof.encode import Encoder, Unsupported, constant
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.witness import order
from ptxspec.scalar.expr import BOOL, Expr, Op, Poly, Var, walk

#: Products and quotients of one kernel that are compared with each other; further ones are unknowns without relations.
MOST = 24


@dataclass(frozen=True, slots=True)
class Quotient:
    """``x // y`` and ``x % y`` as unknowns."""

    x: z3.ArithRef
    y: z3.ArithRef
    whole: z3.ArithRef
    rest: z3.ArithRef


@dataclass(frozen=True, slots=True)
class Product:
    """A product of several unknowns, as an unknown."""

    factors: tuple[z3.ArithRef, ...]
    value: z3.ArithRef


class LinearEncoder(Encoder):
    """As :class:`Encoder`, with linear terms only. ``definitions`` follow from what the unknowns stand for."""

    def __init__(self) -> None:
        super().__init__()
        self._quotients: list[Quotient] = []
        self._products: dict[tuple[int, ...], Product] = {}

    def _times(self, factors: list[z3.ArithRef]) -> z3.ArithRef:
        factors = sorted(factors, key=lambda f: f.get_id())
        key = tuple(f.get_id() for f in factors)
        found = self._products.get(key)
        if found is None:
            found = Product(tuple(factors), self.fresh("product"))
            if len(self._products) < MOST:
                self.definitions += signs(found)
                for other in self._products.values():
                    self.definitions += ordered(found, other)
            self._products[key] = found
            for quotient in self._quotients[:MOST]:
                self._covered(quotient, found)
        return found.value

    def _define(self, kind: str, x: z3.ArithRef, y: z3.ArithRef, q: z3.ArithRef, r: z3.ArithRef) -> None:
        if z3.is_int_value(y):
            super()._define(kind, x, y, q, r)
            return
        if kind == "trunc":
            return      # nothing is said of it
        found = Quotient(x, y, q, r)
        if len(self._quotients) < MOST:
            self.definitions += parts(found)
            for other in self._quotients:
                self.definitions += compared(found, other)
        self._quotients.append(found)
        for product in list(self._products.values())[:MOST]:
            self._covered(found, product)

    def _covered(self, quotient: Quotient, product: Product) -> None:
        """Add what a product of the divisor says of the quotient."""
        left = list(product.factors)
        number = next((k for k, f in enumerate(left) if f.eq(quotient.y)), None)
        if number is None:
            return
        del left[number]
        if len(left) == 1:
            self.definitions += covered(quotient, product, left[0])


def signs(product: Product) -> list[z3.BoolRef]:
    """A product with zero is zero; of what is not negative it is no less than each factor where the others are not
    zero; and with a factor of one it is the other."""
    found: list[z3.BoolRef] = []
    for number, factor in enumerate(product.factors):
        others = [f for k, f in enumerate(product.factors) if k != number]
        found.append(z3.Implies(factor == 0, product.value == 0))
        found.append(z3.Implies(z3.And(factor >= 0, *(f >= 1 for f in others)), product.value >= factor))
        found.append(z3.Implies(z3.And(*(f == 1 for f in others)), product.value == factor))
    return found


def ordered(one: Product, two: Product) -> list[z3.BoolRef]:
    """Products of two factors, one of them common and not negative, are ordered as the others are, and that factor
    apart at least."""
    found: list[z3.BoolRef] = []
    if len(one.factors) != 2 or len(two.factors) != 2:
        return found
    for k, common in enumerate(one.factors):
        for m, same in enumerate(two.factors):
            if common.eq(same):
                a, b = one.factors[1 - k], two.factors[1 - m]
                found += [
                    z3.Implies(z3.And(common >= 0, a < b), one.value + common <= two.value),
                    z3.Implies(z3.And(common >= 0, b < a), two.value + common <= one.value),
                    z3.Implies(a == b, one.value == two.value),
                ]
    return found


def parts(q: Quotient) -> list[z3.BoolRef]:
    """Of one quotient and its remainder, by a divisor above zero."""
    return [
        z3.Implies(q.y > 0, z3.And(q.rest >= 0, q.rest < q.y)),
        z3.Implies(z3.And(q.y > 0, q.x >= 0), z3.And(q.whole >= 0, q.whole + q.rest <= q.x)),
        z3.Implies(z3.And(q.y > 0, q.x >= 0, q.x < q.y), z3.And(q.whole == 0, q.rest == q.x)),
        z3.Implies(z3.And(q.y > 0, q.x >= q.y), z3.And(q.whole >= 1, q.rest + q.y <= q.x)),
    ]


def compared(one: Quotient, two: Quotient) -> list[z3.BoolRef]:
    """Of two quotients by one divisor above zero: multiples of it are equal, or it apart at least."""
    same = z3.And(one.y > 0, one.y == two.y)
    first, second = one.x - one.rest, two.x - two.rest
    return [
        z3.Implies(z3.And(same, one.whole == two.whole), first == second),
        z3.Implies(z3.And(same, one.whole < two.whole), first + one.y <= second),
        z3.Implies(z3.And(same, one.whole > two.whole), second + one.y <= first),
    ]


def covered(q: Quotient, product: Product, count: z3.ArithRef) -> list[z3.BoolRef]:
    """Of a product of ``count`` and the divisor: numbers below it are those with a quotient below ``count``."""
    found = [z3.Implies(q.y > 0, (q.x < product.value) == (q.whole < count))]
    if count.eq(q.whole):
        found.append(z3.Implies(q.y != 0, q.x == product.value + q.rest))
    return found


class Linear:
    """The linear questions of one kernel. A claim may take ``most`` of Z3's resource units, a core ``small``."""

    def __init__(self, most: int, small: int) -> None:
        self._most, self._small = most, small
        self._encoder = LinearEncoder()
        self._solver = z3.SimpleSolver(ctx=self._encoder.context)
        self._solver.set("random_seed", 0)
        self._solver.set("rlimit", most)
        self._asserted = 0

    def ask(self, claim: Expr, context: Context) -> dict[Expr, int] | None:
        """None when ``claim`` follows from the facts, linear as they are here. Values for which it does not otherwise:
        where the unknowns were what they stand for, it may hold all the same."""
        facts = context.facts()
        try:
            goal = self._encoder.boolean(exactly(claim, context))
        except Unsupported:
            return {}
        given: list[z3.BoolRef] = []
        for fact in facts:
            with suppress(Unsupported):     # fewer facts prove less, never more
                given.append(self._encoder.boolean(exactly(fact.condition, context)))
        names = self._names(claim, facts)
        with self._asking(goal, names):
            self._solver.add(*given)
            outcome = self._solver.check()
            if outcome == z3.unsat:
                return None
            if outcome == z3.unknown:
                return {}
            model = self._solver.model()
            return {v: int(model.eval(self._encoder.integer(v), model_completion=True).as_long()) for v in names
                    if v.dtype != BOOL}

    def core(self, claim: Expr, facts: Sequence[Fact]) -> tuple[Fact, ...] | None:
        """Facts from which ``claim`` follows; None where it does not by linear terms alone. Conditions are taken as
        they stand: that nothing in one wraps may rest on another one."""
        tracked: dict[str, tuple[Fact, z3.BoolRef]] = {}
        try:
            goal = self._encoder.boolean(claim)
        except Unsupported:
            return None
        for number, fact in enumerate(facts):
            with suppress(Unsupported):
                tracked[f"fact!{number}"] = fact, self._encoder.boolean(fact.condition)
        with self._asking(goal, self._names(claim, facts)):
            for name, (_, term) in tracked.items():
                self._solver.assert_and_track(term, name)
            self._solver.set("rlimit", self._small)
            outcome = self._solver.check()
            self._solver.set("rlimit", self._most)
            if outcome != z3.unsat:
                return None
            used = {str(n) for n in self._solver.unsat_core()}
        return tuple(fact for name, (fact, _) in tracked.items() if name in used)

    def _names(self, claim: Expr, facts: Sequence[Fact]) -> list[Var]:
        return [v for v in order(claim, facts) if v.dtype == BOOL or v in self._encoder.terms]

    @contextmanager
    def _asking(self, goal: z3.BoolRef, names: Sequence[Var]) -> Iterator[None]:
        """The solver with what is known of unknowns, and without ``goal``."""
        self._solver.add(*self._encoder.definitions[self._asserted :])
        self._asserted = len(self._encoder.definitions)
        self._solver.push()
        try:
            self._solver.add(z3.Not(goal), *(b for v in names for b in self._encoder.bounds(v)))
            yield
        finally:
            self._solver.pop()


@lru_cache(maxsize=1 << 14)
def unknown_products(expr: Expr) -> bool:
    """True where ``expr`` has products or quotients of unknowns."""
    for node in walk(expr):
        if isinstance(node, Poly):
            if any(len(monomial) > 1 for monomial, _ in node.terms):
                return True
        elif isinstance(node, Op) and (
            (node.name == "mul" and all(constant(a) is None for a in node.args))
            or (node.name in ("floordiv", "floormod", "truncdiv", "truncmod") and constant(node.args[1]) is None)
        ):
            return True
    return False


def exactly(condition: Expr, context: Context) -> Expr:
    """``condition`` with comparisons of exact values, where the facts show that nothing in them wraps."""
    if not isinstance(condition, Op) or condition.dtype != BOOL:
        return condition
    if condition.name in ("land", "lor", "lnot"):
        return Op(condition.name, tuple(exactly(a, context) for a in condition.args), BOOL)
    if condition.name in ("lt", "le", "gt", "ge", "eq", "ne") and all(a.dtype != BOOL for a in condition.args):
        sides = [context.exact(a) for a in condition.args]
        known = [s for s in sides if s is not None]
        if len(known) == len(sides):
            return Op(condition.name, tuple(known), BOOL)
    return condition
