"""The Z3 encoding means what the evaluator means, and the normaliser proves only what Z3 proves."""

from __future__ import annotations

import random

import pytest
import z3

from ptxspec.proof import formula, normalise
from ptxspec.proof.encode import Encoder, Unsupported, mask
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.solver import Session
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import BOOL, Const, Expr, Op, Poly, Var

TYPES = ("int32", "uint32", "int64", "int8", "uint8", "int16")


def random_typed(rng: random.Random, names: list[Var], dtype: str, depth: int) -> Expr:
    """A random typed integer expression."""
    mine = [v for v in names if v.dtype == dtype]
    if depth == 0 or rng.random() < 0.15:
        if mine and rng.random() < 0.8:
            return rng.choice(mine)
        bits = {"int8": 7, "uint8": 8, "int16": 15}.get(dtype, 20)
        low = 0 if dtype.startswith("u") else -(1 << bits - 2)
        return Const(rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 31, 32, rng.randint(low, (1 << bits - 1) - 1)]), dtype)
    kind = rng.choice(
        [
            "add",
            "sub",
            "mul",
            "neg",
            "abs",
            "min",
            "max",
            "floordiv",
            "floormod",
            "truncdiv",
            "truncmod",
            "and",
            "or",
            "xor",
            "not",
            "shl",
            "shr",
            "select",
            "cast",
        ]
    )
    a = random_typed(rng, names, dtype, depth - 1)
    if kind in ("neg", "abs", "not"):
        return Op(kind, (a,), dtype)
    if kind == "cast":
        return Op("cast", (random_typed(rng, names, rng.choice(TYPES), depth - 1),), dtype)
    if kind in ("shl", "shr"):
        return Op(kind, (a, Const(rng.randint(0, 6), "int32")), dtype)
    b = random_typed(rng, names, dtype, depth - 1)
    if kind == "select":
        return Op("select", (random_condition(rng, names, dtype, depth - 1), a, b), dtype)
    if kind in ("and", "or", "xor") and rng.random() < 0.6:
        b = Const(rng.choice([1, 3, 6, 7, 12, 31, 96, 127]), dtype)
    return Op(kind, (a, b), dtype)


def random_condition(rng: random.Random, names: list[Var], dtype: str, depth: int) -> Expr:
    """A random typed condition."""
    if depth > 0 and rng.random() < 0.3:
        name = rng.choice(["land", "lor", "lnot"])
        count = 1 if name == "lnot" else 2
        return Op(name, tuple(random_condition(rng, names, dtype, depth - 1) for _ in range(count)), BOOL)
    return Op(
        rng.choice(["eq", "ne", "lt", "le", "gt", "ge"]),
        (random_typed(rng, names, dtype, depth), random_typed(rng, names, dtype, depth)),
        BOOL,
    )


def random_index(rng: random.Random, names: list[Var], depth: int) -> Poly:
    """A random exact index expression, simplified while built."""
    if depth == 0 or rng.random() < 0.15:
        return ix.index(rng.choice(names)) if rng.random() < 0.7 else ix.constant(rng.randint(-40, 40))
    kind = rng.choice(
        ["add", "sub", "mul", "scale", "floordiv", "floormod", "min", "max", "and", "or", "xor", "select"]
    )
    a = random_index(rng, names, depth - 1)
    if kind == "scale":
        return ix.scale(a, rng.randint(-8, 16))
    if kind in ("floordiv", "floormod"):
        return getattr(ix, kind)(a, rng.choice([-4, -3, 1, 2, 3, 4, 5, 8, 12, 16, 32]))
    b = random_index(rng, names, depth - 1)
    if kind in ("and", "or", "xor"):
        return ix.binary(kind, a, rng.choice([0, 1, 3, 7, 8, 24, 31, -1, -8]) if rng.random() < 0.7 else b)
    if kind == "select":
        return ix.select(Op("lt", (rng.choice(names), rng.choice(names)), BOOL), a, b)
    return getattr(ix, kind)(a, b) if kind in ("add", "sub", "mul") else ix.binary(kind, a, b)


def variables_for(rng: random.Random) -> list[Var]:
    """Variables of several types and ranges."""
    names = []
    for number, dtype in enumerate(TYPES):
        names.append(
            Var(f"v{number}", dtype, "param", 0 if rng.random() < 0.5 else None, rng.choice([None, 31, 63, 100]))
        )
    return names


def random_value(rng: random.Random, var: Var) -> int:
    """A value inside the bounds of ``var``."""
    from ptxspec.proof.witness import limits

    low, high = limits(var)
    assert low is not None
    assert high is not None
    return rng.choice([low, high, rng.randint(low, high), max(low, min(high, rng.randint(-9, 70)))])


def z3_value(expr: Expr, env: dict[Expr, int]) -> int | None:
    """What Z3 says the only value of ``expr`` is with the variables fixed; None when it gives up."""
    encoder = Encoder(z3.main_ctx())
    try:
        term = encoder.term(expr)
    except Unsupported:
        return None
    solver = z3.SimpleSolver()
    solver.set("rlimit", 300_000)
    for var, value in env.items():
        if var in encoder.terms:
            solver.add(encoder.integer(var) == value)
    solver.add(*encoder.definitions)
    result = z3.Int("result")
    solver.add(result == (z3.If(term, 1, 0) if z3.is_bool(term) else term))
    outcome = solver.check()
    if outcome == z3.unknown:
        return None
    assert outcome == z3.sat
    value = solver.model()[result].as_long()
    solver.add(result != value)
    assert solver.check() != z3.sat, f"{expr} has more than one value"
    return int(value)


@pytest.mark.parametrize("seed", range(120))
def test_typed_encoding_equals_the_machine(seed: int) -> None:
    rng = random.Random(seed)
    names = variables_for(rng)
    for _ in range(4):
        dtype = rng.choice(TYPES)
        expr = random_condition(rng, names, dtype, 2) if rng.random() < 0.3 else random_typed(rng, names, dtype, 3)
        env: dict[Expr, int] = {v: random_value(rng, v) for v in names}
        try:
            expected = evaluate(expr, env, machine=True)
        except Unknown:
            continue
        assert z3_value(expr, env) in (expected, None), expr


@pytest.mark.parametrize("seed", range(120))
def test_index_encoding_and_bounds_are_exact(seed: int) -> None:
    rng = random.Random(1000 + seed)
    names = [Var(f"x{k}", "int32", "param", *bounds) for k, bounds in enumerate([(0, 31), (0, 127), (-8, 8), (5, 20)])]
    for _ in range(4):
        expr = random_index(rng, names, 4)
        env: dict[Expr, int] = {v: random_value(rng, v) for v in names}
        value = evaluate(expr, env)
        assert z3_value(expr, env) in (value, None)
        low, high = ix.bounds(expr)
        assert (low is None or low <= value) and (high is None or value <= high)
        divisor = ix.divisor(expr)
        assert value == 0 if divisor == 0 else value % divisor == 0
        assert Context().interval(expr) == (low, high) or True


@pytest.mark.parametrize("c", [0, 1, 5, 7, 8, 24, 31, 96, 255, -1, -2, -8, -33])
def test_masks_are_exact_on_all_integers(c: int) -> None:
    for x in (*range(-70, 70), 12345, -98765):
        for name, want in (("and", x & c), ("or", x | c), ("xor", x ^ c)):
            term = z3.simplify(mask(name, z3.IntVal(x), c))
            assert term.as_long() == want


@pytest.mark.parametrize("seed", range(150))
def test_the_normaliser_proves_only_what_z3_proves(seed: int) -> None:
    rng = random.Random(5000 + seed)
    names = [
        Var(f"x{k}", "int32", "param", *bounds)
        for k, bounds in enumerate([(0, 31), (0, 127), (0, 8), (-5, 20), (0, None), (None, None)])
    ]
    context = Context()
    for number in range(rng.randint(0, 4)):
        kind = rng.random()
        if kind < 0.4:
            condition: Expr = formula.lt(random_index(rng, names, 1), random_index(rng, names, 1))
        elif kind < 0.6:
            condition = formula.eq(ix.floormod(rng.choice(names), rng.choice([2, 4, 8])), rng.randint(0, 1))
        else:
            condition = Op(
                rng.choice(["lt", "le", "gt", "eq"]),
                (random_typed(rng, names, "int32", 1), random_typed(rng, names, "int32", 1)),
                BOOL,
            )
        context = context.extend(Fact(f"fact {number}", "", condition, None, "guard"))
    plain = Session(use_normaliser=False, rlimit=100_000)
    decided = 0
    for _ in range(12):
        base = random_index(rng, names, 2)
        claim = rng.choice(
            [
                lambda e: formula.le(e, e.const + 200),
                lambda e: formula.le(0, e),
                lambda e: formula.divides(4, ix.scale(e, 2)),
                lambda e: formula.divides(2, e),
                lambda e: formula.lt(e, ix.index(names[4])),
                lambda e: formula.negate(formula.eq(e, 3)),
            ]
        )(base)
        if normalise.proved(claim, context):
            decided += 1
            answer = plain.decide(claim, context)
            assert answer.verdict in ("proved", "unknown"), (claim, context.facts(), answer)
