"""Quotients and products of unknowns: every rule used of them, proved with Z3 or gone through value by value."""

from __future__ import annotations

import random
from itertools import product as pairs

import pytest
import z3
from bounded_numbers import proved

from ptxspec.proof import linear
from ptxspec.proof.determine import Fixed
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.formula import le, lt
from ptxspec.proof.linear import Linear, Product, Quotient
from ptxspec.proof.quotients import at_least, by_constant, by_unknown
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import BOOL, INDEX, Expr, Op, Poly, Var, variables


def quotient(name: str = "") -> tuple[Quotient, list[z3.BoolRef]]:
    """A quotient of unknowns with what it stands for."""
    x, y, whole, rest = z3.Ints(f"x{name} y whole{name} rest{name}")
    meaning = [x == y * whole + rest, z3.Implies(y > 0, z3.And(rest >= 0, rest < y)),
               z3.Implies(y < 0, z3.And(rest <= 0, rest > y)), y != 0]
    return Quotient(x, y, whole, rest), meaning


def times(*factors: z3.ArithRef) -> tuple[Product, list[z3.BoolRef]]:
    """A product with what it stands for."""
    value = z3.FreshInt("product")
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return Product(factors, value), [value == total]


def test_what_is_said_of_a_quotient_follows() -> None:
    one, meaning = quotient()
    for said in linear.parts(one):
        assert proved(said, *meaning)


def test_what_is_said_of_two_quotients_follows() -> None:
    one, first = quotient("a")
    two, second = quotient("b")
    for said in linear.compared(one, two):
        assert proved(said, *first, *second)


def test_what_is_said_of_a_product_follows() -> None:
    a, b, c = z3.Ints("a b c")
    for factors in ((a, b), (a, a), (a, b, c)):
        made, meaning = times(*factors)
        said = linear.signs(made)
        assert len(said) == 3 * len(factors)
        for one in said:
            assert proved(one, *meaning)


def test_what_is_said_of_two_products_follows() -> None:
    a, b, c = z3.Ints("a b c")
    for left, right in (((a, b), (a, c)), ((b, a), (c, a)), ((a, a), (a, b))):
        one, first = times(*left)
        two, second = times(*right)
        said = linear.ordered(one, two)
        assert said
        for claim in said:
            assert proved(claim, *first, *second)
    assert not linear.ordered(times(a, b)[0], times(c, c)[0])


def test_what_a_product_says_of_a_quotient_follows() -> None:
    one, meaning = quotient()
    count = z3.Int("count")
    for other in (count, one.whole):
        made, more = times(one.y, other)
        for said in linear.covered(one, made, other):
            assert proved(said, *meaning, *more)


N, M, X = (Var(n, "int32", "param", 0, 6) for n in "nmx")


def holds_everywhere(claims: list[Poly], *given: Poly) -> None:
    """Every claim is at least zero wherever all that is given is, for all values with a divisor above zero."""
    for n, m, x in pairs(range(1, 6), range(7), range(-3, 20)):
        env: dict[Expr, int] = {N: n, M: m, X: x}
        if all(evaluate(g, env) >= 0 for g in given):
            assert all(evaluate(c, env) >= 0 for c in claims), env


def clearly(value: Poly) -> bool:
    """True where a value is at least zero by the bounds of its variables alone."""
    low = ix.bounds(value)[0]
    return low is not None and low >= 0


@pytest.mark.parametrize("divisor", [ix.add(N, 1), ix.add(N, 2), ix.add(N, X, 1)])
@pytest.mark.parametrize("more", [-2, -1, 0, 3])
def test_divisors_of_several_terms_bound_quotients(divisor: Poly, more: int) -> None:
    """``x <= (n + 1) * m + more``, written out, and ``x <= n * m + more`` bound ``x // (n + 1)`` by ``m``."""
    value = Var("value", "int32", "param", 0, 40)
    y = ix.index(value)
    atom = Op("floordiv", (y, divisor), INDEX)
    for product in (ix.mul(divisor, M), ix.mul(N, M)):
        fact = ix.sub(ix.add(product, more), y)
        found = by_unknown(atom, y, divisor, [fact], clearly)
        assert any(M in variables(claim) for claim in found)
        for n, m, x, v in pairs(range(1, 5), range(5), range(3), range(41)):
            env: dict[Expr, int] = {N: n, M: m, X: x, value: v}
            if evaluate(fact, env) >= 0:
                assert all(evaluate(claim, env) >= 0 for claim in found), env


@pytest.mark.parametrize("more", [-3, -1, 0, 1, 5])
def test_numbers_below_a_product_have_few_quotients(more: int) -> None:
    """``x <= n * m + more`` bounds ``x // n``."""
    x, n = ix.index(X), ix.index(N)
    fact = ix.sub(ix.add(ix.mul(N, M), more), x)
    atom = Op("floordiv", (x, n), INDEX)
    found = [claim for claim in by_unknown(atom, x, n, [fact], clearly) if M in variables(claim)]
    assert len(found) == 1
    holds_everywhere(found, fact)
    tighter = [ix.sub(found[0], 1)]
    with pytest.raises(AssertionError):
        holds_everywhere(tighter, fact)


def test_a_number_that_is_shown_to_be_small_has_few_quotients() -> None:
    """Where no fact says so at once, products in the number itself are asked for; and for its sign."""
    n = ix.index(N)
    value = ix.sub(ix.mul(N, M), ix.add(X, 1))      # below n * m where x >= 0
    atom = Op("floordiv", (value, n), INDEX)
    asked: list[Poly] = []

    def shows(sum: Poly) -> bool:
        asked.append(sum)
        return True

    found = by_unknown(atom, value, n, [], shows)
    assert len(found) == 2
    assert asked == [value, ix.index(X)]
    holds_everywhere(found, *asked)


def test_remainders_are_below_their_divisor() -> None:
    x, n = ix.index(X), ix.index(N)
    found = by_unknown(Op("floormod", (x, n), INDEX), x, n, [], clearly)
    assert found
    holds_everywhere(found)


@pytest.mark.parametrize("by", [1, 2, 7])
def test_quotients_by_constants_lie_near(by: int) -> None:
    x = ix.index(X)
    atom = Op("floordiv", (x, ix.constant(by)), INDEX)
    holds_everywhere(by_constant(atom, x, by))
    product = ix.add(ix.mul(N, M), X)
    large = Op("floordiv", (product, ix.constant(by)), INDEX)
    holds_everywhere(at_least(large, 2), ix.sub(ix.atom(large), 2))
    assert at_least(large, 2)
    assert not at_least(Op("floormod", (product, ix.constant(by)), INDEX), 2)


def fact(condition: Expr) -> Fact:
    """Something known."""
    return Fact("fact", "", condition, None, "assume")


def test_a_product_above_zero_has_no_zero_factor() -> None:
    context = Context().extend(fact(lt(X, ix.mul(N, M)))).extend(fact(le(0, X)))
    low = Context().extend(fact(le(1, ix.mul(N, M))))
    assert low.interval(N)[0] == low.interval(M)[0] == 1
    assert context.interval(X)[0] == 0
    signed = Var("signed", "int32", "param", -5, 5)
    assert Context().extend(fact(le(1, ix.mul(signed, N)))).interval(signed)[0] == -5   # two below zero do as well
    assert Context().extend(fact(le(1, ix.mul(signed, N)))).interval(N)[0] == 1         # but none may be zero


@pytest.mark.parametrize("seed", range(300))
def test_what_wraps_bounds_what_is_below_it(seed: int) -> None:
    """``x < a`` says ``x`` is below the exact value of ``a``, also where ``a`` wraps in its type."""
    rng = random.Random(seed)
    low, high = rng.choice([(0, 255), (0, 15), (-20, 60), (-128, 127)]), rng.choice([(0, 255), (0, 40), (-3, 90)])
    kind = "uint8" if min(low[0], high[0]) >= 0 else "int8"
    low, high = ((a, min(b, 127)) if kind == "int8" else (a, b) for a, b in (low, high))
    a, b = Var("a", kind, "param", *low), Var("b", kind, "param", *high)
    x = Var("x", kind, "param", None, None)
    stop = typed.binary(rng.choice(["mul", "add"]), a, b)
    if rng.random() < 0.5:
        stop = typed.binary("add", stop, rng.choice([0, 1, 9]))
    name = rng.choice(["lt", "le"])
    condition = Op(name, (x, stop), BOOL) if rng.random() < 0.5 else \
        Op({"lt": "gt", "le": "ge"}[name], (stop, x), BOOL)
    learned = [known for known, _ in Context().extend(fact(condition)).linear]
    for _ in range(400):
        env: dict[Expr, int] = {a: rng.randint(*low), b: rng.randint(*high),
                                x: rng.randint(*((0, 255) if kind == "uint8" else (-128, 127)))}
        if evaluate(condition, env, machine=True):
            assert all(evaluate(known, env) >= 0 for known in learned), (condition, env)


def test_something_is_learned_of_what_may_wrap() -> None:
    x, a, b = (Var(n, "int32", "param", 0, 1 << 20) for n in "xab")
    stop = typed.binary("mul", a, b)
    assert Context().extend(fact(Op("lt", (x, stop), BOOL))).linear
    assert Context().extend(fact(Op("lt", (x, typed.binary("add", stop, 3)), BOOL))).linear
    assert not Context().extend(fact(Op("lt", (stop, x), BOOL))).linear         # from below it says nothing
    signed = Var("signed", "int32", "param", -(1 << 20), 1 << 20)
    assert not Context().extend(fact(Op("lt", (x, typed.binary("mul", signed, a)), BOOL))).linear


@pytest.mark.parametrize("seed", range(150))
def test_linear_answers_are_true(seed: int) -> None:
    """What follows from linear consequences holds for all values."""
    rng = random.Random(seed)
    names = [Var(n, "int32", "param", 0, rng.choice([3, 4, 5])) for n in "nxyz"]

    def atom() -> Poly:
        n, x, y, z = names
        one = ix.index(rng.choice([x, y, z, n]))
        kind = rng.randrange(5)
        if kind == 0:
            return ix.mul(one, rng.choice(names))
        if kind == 1:
            return ix.floordiv(ix.add(one, rng.choice([0, 1, y])), ix.index(n))
        if kind == 2:
            return ix.floormod(ix.add(one, rng.choice([0, 1, y])), ix.index(n))
        return one

    def side() -> Poly:
        return ix.add(ix.scale(atom(), rng.choice([1, 1, 2])), atom(), rng.randint(-2, 2))

    facts = [lt(0, names[0]), *(rng.choice([lt, le])(side(), side()) for _ in range(rng.randint(0, 3)))]
    context = Context()
    for condition in facts:
        context = context.extend(fact(condition))
    claim = rng.choice([lt, le])(atom(), ix.add(atom(), rng.choice([0, 1, 3])))
    if Linear(1_000_000, 200_000).ask(claim, context) is None:
        for values in pairs(*(range(v.hi + 1) for v in names)):  # type: ignore[operator]
            env: dict[Expr, int] = dict(zip(names, values, strict=True))
            if values[0] and all(evaluate(f, env, machine=True) for f in facts):
                assert evaluate(claim, env, machine=True), (claim, env)


def test_linear_questions_prove_something() -> None:
    """Tiles that are dealt out by a number of the launch are told apart."""
    n, t, u = (Var(name, "int32", "param", 0, 1 << 20) for name in "ntu")
    same = [lt(0, n), Op("eq", (ix.floordiv(t, n), ix.floordiv(u, n)), BOOL),
            Op("eq", (ix.floormod(t, n), ix.floormod(u, n)), BOOL)]
    context = Context()
    for condition in same:
        context = context.extend(fact(condition))
    assert Linear(1_000_000, 200_000).ask(Op("eq", (ix.index(t), ix.index(u)), BOOL), context) is None
    less = Context().extend(fact(same[0])).extend(fact(same[1]))
    assert Linear(1_000_000, 200_000).ask(Op("eq", (ix.index(t), ix.index(u)), BOOL), less) is not None


def test_a_quotient_cut_again_fixes_the_quotient() -> None:
    """``x // d % y`` and ``x // (d * y)`` give ``x // d`` back, for divisors above zero only."""
    x, d, y = (ix.index(v) for v in (X, N, M))
    for n, m, value in pairs(range(1, 6), range(1, 6), range(-40, 40)):
        assert value // n // m == value // (n * m)
    assert 1 // 2 // -1 != 1 // (2 * -1)
    quotient = ix.floordiv(x, d)
    found = [ix.floormod(quotient, y), ix.floordiv(x, ix.mul(d, y))]

    def shared(var: Var) -> bool:
        return var is not X

    assert Fixed(found, shared).holds(ix.index(quotient))
    assert Fixed([*found, ix.floormod(x, d)], shared).holds(X)
    assert not Fixed(found[:1], shared).holds(ix.index(quotient))
    assert not Fixed(found, shared, lambda value: None).holds(ix.index(quotient))
    assert not Fixed(found, lambda var: var is N).holds(ix.index(quotient))
