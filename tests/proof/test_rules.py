"""Every rule of the normaliser and of index simplification, proved by Z3 on instances with unknown arguments."""

from __future__ import annotations

import random
from math import gcd

import pytest
import z3

from ptxspec.proof import congruence
from ptxspec.proof.congruence import Residue
from ptxspec.proof.encode import Encoder
from ptxspec.scalar import index as ix
from ptxspec.scalar import interval
from ptxspec.scalar.evaluate import rebuild_index
from ptxspec.scalar.expr import INDEX, Expr, Op, Poly, Var

SEEDS = range(25)


def proved(claim: z3.BoolRef, *facts: z3.BoolRef) -> bool:
    """True when Z3 proves the claim from the facts."""
    solver = z3.SimpleSolver()
    solver.set("rlimit", 20_000_000)
    solver.add(*facts)
    solver.add(z3.Not(claim))
    return bool(solver.check() == z3.unsat)


def some_residue(rng: random.Random) -> Residue:
    """A residue as the analysis makes them."""
    return congruence.make(rng.choice([0, 1, 2, 3, 4, 6, 8, 12, 16, 64]), rng.randint(-20, 20))


def member(residue: Residue, name: str) -> z3.ArithRef:
    """Any number with this residue."""
    return z3.IntVal(residue.rest) + z3.IntVal(residue.modulus) * z3.Int(name)


def says(residue: Residue, value: z3.ArithRef) -> z3.BoolRef:
    """What the residue claims of a value."""
    if residue.modulus == 0:
        return value == residue.rest
    return (value - residue.rest) % residue.modulus == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_residues_of_sums_products_and_choices(seed: int) -> None:
    rng = random.Random(seed)
    a, b = some_residue(rng), some_residue(rng)
    x, y = member(a, "k"), member(b, "l")
    assert proved(says(congruence.plus(a, b), x + y))
    assert proved(says(congruence.times(a, b), x * y))
    joined = congruence.join(a, b)
    assert proved(z3.And(says(joined, x), says(joined, y)))
    v = z3.Int("v")
    assert proved(says(congruence.meet(a, b), v), says(a, v), says(b, v))


@pytest.mark.parametrize("seed", SEEDS)
def test_residues_of_operations(seed: int) -> None:
    rng = random.Random(100 + seed)
    x, y = Var("x", "int32", "param", -1000, 1000), Var("y", "int32", "param", -1000, 1000)
    known = {x: some_residue(rng), y: some_residue(rng)}
    c = rng.choice([2, 3, 4, 8, 12, 16])
    mask = rng.choice([1, 3, 7, 8, 12, -4, -8])
    for made in (
        ix.floormod(x, c),
        ix.floordiv(x, c),
        ix.binary("min", x, y),
        ix.binary("max", x, y),
        ix.binary("and", x, mask),
        ix.binary("or", x, mask),
        ix.binary("xor", x, mask),
        ix.add(ix.scale(ix.floormod(ix.add(x, 1), c), 4), ix.scale(y, 6)),
    ):
        encoder = Encoder(z3.main_ctx())
        term = encoder.integer(made)
        facts = [says(known[v], encoder.integer(v)) for v in (x, y)]
        assert proved(says(congruence.residue(made, known), term), *facts, *encoder.definitions), made


@pytest.mark.parametrize("seed", SEEDS)
def test_solving_a_remainder_for_its_unknown(seed: int) -> None:
    rng = random.Random(200 + seed)
    x = Var("x", "int32", "param")
    coefficient, offset, modulus = rng.choice([1, 2, 3, 4, 6, -1, -2]), rng.randint(-5, 5), rng.choice([2, 3, 4, 8, 12])
    value = rng.randrange(modulus)
    inner = ix.add(ix.scale(x, coefficient), offset)
    found = congruence.solve(inner, modulus, value)
    v = z3.Int("v")
    if found is None:
        assert (value - offset) % gcd(coefficient, modulus)
    else:
        assert proved(says(found[1], v), (coefficient * v + offset) % modulus == value)


def some_interval(rng: random.Random) -> tuple[int | None, int | None]:
    """An interval that may be open."""
    low, high = sorted((rng.randint(-40, 40), rng.randint(-40, 40)))
    return (low if rng.random() < 0.85 else None), (high if rng.random() < 0.85 else None)


def inside(value: z3.ArithRef, bounds: tuple[int | None, int | None]) -> list[z3.BoolRef]:
    """The value lies in the interval."""
    low, high = bounds
    return ([value >= low] if low is not None else []) + ([value <= high] if high is not None else [])


@pytest.mark.parametrize("seed", SEEDS)
def test_interval_rules(seed: int) -> None:
    rng = random.Random(300 + seed)
    a, b = some_interval(rng), some_interval(rng)
    x, y = z3.Ints("x y")
    facts = inside(x, a) + inside(y, b)
    for found, term in (
        (interval.plus(a, b), x + y),
        (interval.minus(a), -x),
        (interval.times(a, b), x * y),
    ):
        assert proved(z3.And(*inside(term, found), True), *facts)
    c = rng.choice([1, 2, 3, 7, 16])
    assert proved(z3.And(*inside(x / c, interval.quotient(a, (c, c))), True), *facts)
    assert proved(z3.And(*inside(x % c, interval.remainder(a, (c, c))), True), *facts)
    low, high = rng.randint(1, 5), rng.randint(5, 9)
    divisor = z3.Int("d")
    ranged = [*facts, divisor >= low, divisor <= high]
    q, r = z3.Ints("q r")
    meaning = [x == divisor * q + r, r >= 0, r < divisor]
    assert proved(z3.And(*inside(q, interval.quotient(a, (low, high))), True), *ranged, *meaning)
    assert proved(z3.And(*inside(r, interval.remainder(a, (low, high))), True), *ranged, *meaning)


@pytest.mark.parametrize("name", ["and", "or", "xor"])
@pytest.mark.parametrize("seed", range(12))
def test_bitwise_interval_rules(name: str, seed: int) -> None:
    rng = random.Random(400 + seed)
    low, high = rng.choice([(0, rng.randint(0, 40)), (-rng.randint(1, 40), rng.randint(0, 40))])
    x = Var("x", "int32", "param", low, high)
    mask = rng.choice([3, 7, 12, 40, -4])
    found = interval.bitwise(name, (low, high), (mask, mask))
    encoder = Encoder(z3.main_ctx())
    term = encoder.integer(Op(name, (ix.index(x), ix.constant(mask)), INDEX))
    assert proved(z3.And(*inside(term, found), True), *encoder.bounds(x), *encoder.definitions)


@pytest.mark.parametrize("seed", range(60))
def test_index_simplifications(seed: int) -> None:
    """The simplified polynomial equals the plain operation on the same arguments, for all values of the unknowns."""
    rng = random.Random(500 + seed)
    names = [Var("a", "int32", "param", 0, 31), Var("b", "int32", "param", 0, 127), Var("c", "int32", "param", -50, 50)]
    raw: Expr = ix.add(*(ix.scale(n, rng.choice([1, 2, 4, 8, -1, 12, 32])) for n in names), rng.randint(-9, 40))
    for _ in range(2):
        name = rng.choice(["floordiv", "floormod", "min", "max", "and", "xor", "or"])
        choices = [1, 2, 4, 8, 12, 32, 64] if name.startswith("floor") else [0, 3, 7, 15]
        other = ix.constant(rng.choice(choices))
        assert isinstance(raw, Poly)
        plain = Op(name, (raw, other), INDEX)
        simple = rebuild_index(name, (raw, other))
        encoder = Encoder(z3.main_ctx())
        left, right = encoder.integer(plain), encoder.integer(simple)
        bounds = [b for n in names if n in encoder.terms for b in encoder.bounds(n)]
        assert proved(left == right, *bounds, *encoder.definitions), (plain, simple)
        raw = ix.add(simple, ix.scale(rng.choice(names), rng.choice([1, 4])))


@pytest.mark.parametrize("seed", SEEDS)
def test_addresses_with_digits_tell_apart(seed: int) -> None:
    """The rule behind the quick race test: overlapping accesses have equal digits."""
    rng = random.Random(600 + seed)
    size = rng.choice([1, 4, 16])
    constants = [rng.randint(0, 64) for _ in range(2)]
    below = max(constants) + size - min(constants)
    digits: list[tuple[int, int]] = []
    for _ in range(rng.randint(1, 4)):
        coefficient = below + rng.choice([0, 0, 3, 17])
        reach = rng.choice([1, 3, 31])
        digits.append((coefficient, reach))
        below += coefficient * reach
    first, second = (z3.IntVal(c) for c in constants)
    facts: list[z3.BoolRef] = []
    equal: list[z3.BoolRef] = []
    for k, (coefficient, reach) in enumerate(digits):
        x, y = z3.Ints(f"x{k} y{k}")
        facts += [x >= 0, x <= reach, y >= 0, y <= reach]
        equal.append(x == y)
        sign = rng.choice([1, -1])
        first, second = first + sign * coefficient * x, second + sign * coefficient * y
    overlap = z3.And(first < second + size, second < first + size)
    assert proved(z3.And(*equal), *facts, overlap)


def test_less_than_a_step_tells_iterations_apart() -> None:
    """The rule for runtime strides: what lies below one step cannot reach into another iteration."""
    step, size, k, j, rest, other = z3.Ints("step size k j rest other")
    facts = [size > 0, rest >= 0, rest + size <= step, other >= 0, other + size <= step]
    first, second = step * k + rest, step * j + other
    overlap = z3.And(first < second + size, second < first + size)
    # Without loss of generality k = j + more; the product is monotone in `more`.
    more = z3.Int("more")
    grown = z3.Implies(more >= 1, step * more >= step)
    assert proved(z3.Not(overlap), *facts, k == j + more, more >= 1, grown, step * k == step * j + step * more)


@pytest.mark.parametrize("name", ["and", "or", "xor"])
@pytest.mark.parametrize(("shift", "top"), [(3, 7), (3, 8), (2, 3), (4, 5)])
def test_bits_that_do_not_meet_add_up(name: str, shift: int, top: int) -> None:
    """``x * 2**k | y`` is their sum where y lies below ``2**k``, for negative x as well; else it stays what it is."""
    x, y = Var("x", "int32", "param", -20, 20), Var("y", "int32", "param", 0, top)
    high = ix.scale(x, 1 << shift)
    simple = ix.binary(name, high, y)
    folded = simple in (ix.ZERO, ix.add(high, y))
    assert folded == (top < 1 << shift)
    assert not folded or simple == ix.binary(name, y, high)
    encoder = Encoder(z3.main_ctx())
    left, right = encoder.integer(Op(name, (high, ix.index(y)), INDEX)), encoder.integer(simple)
    bounds = [*encoder.bounds(x), *encoder.bounds(y)]
    assert proved(left == right, *bounds, *encoder.definitions)
