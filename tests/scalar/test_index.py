"""Index arithmetic against plain Python: building simplifies, and must never change a value."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxspec.scalar import Const, Expr, Op, Poly, Var
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed as ty
from ptxspec.scalar.evaluate import Unknown, evaluate, substitute
from ptxspec.scalar.expr import int_range, walk

RANGES = {"a": (0, 7), "b": (-5, 6), "c": (0, 63), "d": (-3, -1)}
VARS = {name: Var(name, "int32", "loop", lo, hi) for name, (lo, hi) in RANGES.items()}
ENV = st.fixed_dictionaries({name: st.integers(lo, hi) for name, (lo, hi) in RANGES.items()})


@st.composite
def trees(draw: st.DrawFn, depth: int = 4) -> object:
    """A nested tuple (operation, operands); leaves are variable names or integers."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(sorted(VARS)) | st.integers(-9, 9))
    name = draw(st.sampled_from(["add", "sub", "mul", "floordiv", "floormod", "min", "max", "and", "or", "xor"]))
    left = draw(trees(depth=depth - 1))
    right = draw(st.sampled_from([1, 2, 3, 4, 8, 16, -2]) | st.sampled_from(["a", "c"])) \
        if name in ("floordiv", "floormod") else draw(trees(depth=depth - 1))
    return (name, left, right)


def build(tree: object) -> Poly:
    """The tree through the simplifying constructors."""
    if isinstance(tree, int):
        return ix.constant(tree)
    if isinstance(tree, str):
        return ix.index(VARS[tree])
    name, left, right = tree  # type: ignore[misc]
    a, b = build(left), build(right)
    return {"add": ix.add, "sub": ix.sub, "mul": ix.mul, "floordiv": ix.floordiv, "floormod": ix.floormod}[name](a, b) \
        if name in ("add", "sub", "mul", "floordiv", "floormod") else ix.binary(name, a, b)


def plain(tree: object, env: dict[str, int]) -> int:
    """The tree in Python integers; ZeroDivisionError where it divides by zero."""
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return env[tree]
    name, left, right = tree  # type: ignore[misc]
    a, b = plain(left, env), plain(right, env)
    return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "floordiv": lambda: a // b,
            "floormod": lambda: a % b, "min": lambda: min(a, b), "max": lambda: max(a, b), "and": lambda: a & b,
            "or": lambda: a | b, "xor": lambda: a ^ b}[name]()


def bind(env: dict[str, int]) -> dict[Expr, int]:
    return {VARS[name]: value for name, value in env.items()}


@settings(max_examples=600, deadline=None)
@given(trees(), ENV)
def test_simplification_keeps_the_value_and_the_bounds(tree: object, env: dict[str, int]) -> None:
    try:
        expected = plain(tree, env)
    except ZeroDivisionError:
        return
    poly = build(tree)
    try:
        assert evaluate(poly, bind(env)) == expected
    except Unknown as error:
        # A part that divides by zero may survive in the simplified form only if the plain form has it too.
        raise AssertionError(f"{poly} has no value: {error}") from error
    low, high = ix.bounds(poly)
    assert low is None or low <= expected
    assert high is None or expected <= high
    factor = ix.divisor(poly)
    assert expected == 0 if factor == 0 else expected % factor == 0


@settings(max_examples=300, deadline=None)
@given(trees(), ENV, st.sampled_from(sorted(VARS)))
def test_substitution_commutes_with_evaluation(tree: object, env: dict[str, int], name: str) -> None:
    try:
        expected = plain(tree, env)
    except ZeroDivisionError:
        return
    replaced = substitute(build(tree), {VARS[name]: env[name]})
    assert evaluate(replaced, bind(env)) == expected


def test_a_typed_expression_becomes_its_exact_integer() -> None:
    tid = Var("tid", "int32", "tid.x", 0, 63)
    shifted = ty.binary("floormod", ty.binary("add", tid, 1), 64)
    assert [evaluate(ix.index(shifted), {tid: t}) for t in (0, 62, 63)] == [1, 63, 0]
    assert ix.bounds(ix.index(shifted)) == (0, 63)


def test_multiples_leave_a_division_exactly() -> None:
    tid = Var("tid", "int32", "tid.x", 0, 63)
    offset = ix.add(ix.scale(tid, 4), 3)
    assert ix.floordiv(offset, 4) == ix.index(tid)
    assert ix.floormod(offset, 4) == ix.constant(3)


def test_machine_evaluation_wraps_where_exact_evaluation_does_not() -> None:
    n = Var("n", "int32", "param")
    square = ty.binary("mul", n, n)
    assert evaluate(square, {n: 1 << 16}) == 1 << 32
    assert evaluate(square, {n: 1 << 16}, machine=True) == 0


def test_a_known_polynomial_is_an_integer() -> None:
    assert int(ix.add(ix.constant(40), 2)) == 42
    with pytest.raises(TypeError):
        int(ix.index(VARS["a"]))


def test_the_order_of_terms_does_not_depend_on_the_process() -> None:
    code = ("from ptxspec.scalar import Var, index as ix\n"
            "a, b = (Var(n, 'int32', 'loop', 0, 99) for n in 'ab')\n"
            "print(ix.add(ix.floormod(a, 7), ix.floordiv(b, 3), ix.floormod(b, 5), ix.binary('xor', a, b), a))")
    texts = {subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
                            capture_output=True, text=True).stdout for seed in ("1", "2", "3")}
    assert len(texts) == 1


@pytest.mark.parametrize("seed", range(150))
def test_bounds_hold_for_what_the_machine_computes(seed: int) -> None:
    """Typed expressions wrap: whatever their operands, the value lies within the bounds."""
    rng = random.Random(seed)
    dtype = rng.choice(["int8", "uint8", "int16"])
    least, most = int_range(dtype)
    names = []
    for name in "ab":
        low = rng.randint(least, most)
        names.append(Var(name, dtype, "param", low, min(most, low + rng.choice([0, 3, 40]))))

    choices = ["add", "sub", "mul", "min", "max", "and", "or", "xor", "floordiv", "floormod", "select"]

    def build(depth: int) -> Expr:
        if depth == 0 or rng.random() < 0.2:
            return rng.choice([*names, Const(rng.randint(least, most), dtype)])
        operation = rng.choice(choices)
        left, right = build(depth - 1), build(depth - 1)
        if operation == "select":
            return Op("select", (Op("lt", (left, right), "bool"), left, right), dtype)
        if operation.startswith("floor"):
            right = Const(rng.choice([1, 2, 3, 7, 16]), dtype)
        return Op(operation, (left, right), dtype)

    expr = build(3)
    low_bound, high_bound = ix.bounds(expr)
    ranges = [range(v.lo or 0, (v.hi or 0) + 1) for v in names]
    points = list(product(*ranges))
    for point in rng.sample(points, min(60, len(points))):
        value = evaluate(expr, dict(zip(names, point, strict=True)), machine=True)
        assert low_bound is None or low_bound <= value, expr
        assert high_bound is None or value <= high_bound, expr


@pytest.mark.parametrize("seed", range(200))
def test_parts_without_a_common_bit_add_up(seed: int) -> None:
    """Bits taken apart and put together again: the simplified form has the value of the plain operations."""
    rng = random.Random(seed)
    x, y = Var("x", "int32", "loop", 0, 15), Var("y", "int32", "loop", rng.choice([-4, 0]), 15)

    def piece() -> tuple[Poly, object]:
        var, mask, shift = rng.choice([x, y]), rng.choice([1, 2, 4, 8, 3, 10, 5]), rng.randint(0, 4)
        return ix.scale(ix.binary("and", var, mask), 1 << shift), lambda env: (env[var] & mask) << shift

    value, plain = piece()
    for _ in range(rng.randint(1, 4)):
        name, (other, truth) = rng.choice(["or", "xor", "or", "and"]), piece()
        before = plain

        def joined(env: object, name: str = name, before: object = before, truth: object = truth) -> int:
            a, b = before(env), truth(env)  # type: ignore[operator]
            return a | b if name == "or" else a ^ b if name == "xor" else a & b

        value, plain = ix.binary(name, value, other), joined
    for a, b in product(range(16), range(y.lo or 0, 16)):
        env = {x: a, y: b}
        assert evaluate(value, env) == plain(env), value


def test_bits_of_two_numbers_woven_together_are_a_sum() -> None:
    x, y = (Var(n, "int32", "tid.x", 0, 3) for n in "xy")

    def spread(v: Var) -> Poly:
        return ix.binary("or", ix.binary("and", v, 1), ix.scale(ix.binary("and", v, 2), 2))

    woven = ix.binary("or", spread(x), ix.scale(spread(y), 2))
    assert not any(isinstance(n, Op) and n.name == "or" for n in walk(woven))
    assert sorted(evaluate(woven, {x: a, y: b}) for a, b in product(range(4), repeat=2)) == list(range(16))
