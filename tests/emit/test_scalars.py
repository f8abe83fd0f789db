"""Scalar code: what the emitted instructions compute equals plain Python with machine integers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from ptxspec.backend.assemble import assemble
from run import run

from build import block_id, buffer, kernel, tid, whole
from ptxspec.diagnostics import KernelError
from ptxspec.lang import ir
from ptxspec.scalar import typed
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import Const, Expr, Var

SPAN = ir.Span("kernel.py", 1)
NUMPY = {"int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32,
         "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64, "bool": np.bool_}
BINARY = ["add", "sub", "mul", "floordiv", "floormod", "truncdiv", "truncmod", "min", "max", "and", "or", "xor"]


def random_expr(rng: random.Random, leaves: list[Expr], depth: int) -> Expr:
    """A random typed integer expression over ``leaves``; divisions by a known zero are drawn again."""
    while True:
        try:
            return draw(rng, leaves, depth)
        except KernelError:
            continue


def draw(rng: random.Random, leaves: list[Expr], depth: int) -> Expr:
    """One attempt of :func:`random_expr`."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(leaves)
    kind = rng.randrange(8)
    a = random_expr(rng, leaves, depth - 1)
    if kind == 0:
        return typed.unary(rng.choice(["neg", "abs", "not"]), a)
    if kind == 1:
        return typed.binary(rng.choice(["shl", "shr"]), a, rng.randrange(0, 9))
    if kind == 2:
        b = typed.cast(random_expr(rng, leaves, depth - 1), a.dtype)
        return typed.select(typed.compare(rng.choice(["lt", "le", "eq", "ne", "gt", "ge"]), a, b), a, b)
    if kind == 3:
        return typed.cast(a, rng.choice(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]))
    if kind == 4:
        from ptxspec.scalar.expr import int_range
        low, high = int_range(a.dtype)
        constant = rng.choice([c for c in (-7, -4, -1, 1, 2, 3, 5, 8, 16, 100) if low <= c <= high])
        return typed.binary(rng.choice(BINARY), a, constant)
    b = typed.cast(random_expr(rng, leaves, depth - 1), a.dtype)
    name = rng.choice(BINARY)
    if "div" in name or "mod" in name:   # never by zero, and never the one quotient that overflows
        b = typed.binary("or", typed.binary("and", b, 7), 2)
        if a.dtype.startswith("int") and rng.random() < 0.5:
            b = typed.unary("neg", b)
    return typed.binary(name, a, b)


def expected(expr: Expr, env: dict[Expr, int]) -> int | None:
    try:
        return evaluate(expr, env, machine=True)
    except Unknown:
        return None


@pytest.mark.parametrize("seed", range(25))
def test_random_integer_expressions(seed: int) -> None:
    rng = random.Random(seed)
    threads = 64
    t = tid(threads)
    inputs = buffer("X", (threads,), "int32", align=4)
    loaded = Var("x", "int32", "value", -(1 << 31), (1 << 31) - 1)
    body: list[ir.Statement] = [ir.Load(loaded, whole(inputs), (t,), SPAN)]
    leaves: list[Expr] = [t, loaded, typed.cast(loaded, "int64"), typed.cast(loaded, "uint8"), Const(3, "int32")]
    expressions, outputs = [], []
    for k in range(12):
        expr = random_expr(rng, leaves, 4)
        out = buffer(f"O{k}", (threads,), expr.dtype, align=8)
        expressions.append(expr)
        outputs.append(out)
        body.append(ir.Store(whole(out), (t,), expr, SPAN))
    data = np.array([rng.choice([0, 1, -1, 5, -5, 1 << 30, -(1 << 31), (1 << 31) - 1, rng.randrange(-1000, 1000)])
                     for _ in range(threads)], np.int32)
    values: dict[str, object] = {"X": data}
    for k, expr in enumerate(expressions):
        values[f"O{k}"] = np.zeros(threads, NUMPY[expr.dtype])
    module = run(kernel([inputs, *outputs], body, block=threads, hardware=[t]), values)
    for k, expr in enumerate(expressions):
        result = values[f"O{k}"]
        assert isinstance(result, np.ndarray)
        for thread in range(threads):
            want = expected(expr, {t: thread, loaded: int(data[thread])})
            assert want is None or int(result[thread]) == want, (expr, thread, int(data[thread]), module.ptx)
    if seed < 3:
        assemble(module.ptx, "sm_90", line_map=module.line_map)


FLOATS = {"float32": np.float32, "float64": np.float64, "float16": np.float16}


@pytest.mark.parametrize("dtype", list(FLOATS))
def test_float_arithmetic_equals_numpy(dtype: str) -> None:
    threads = 64
    t = tid(threads)
    a, b = buffer("A", (threads,), dtype, align=8), buffer("B", (threads,), dtype, align=8)
    x, y = Var("x", dtype, "value"), Var("y", dtype, "value")
    body: list[ir.Statement] = [ir.Load(x, whole(a), (t,), SPAN), ir.Load(y, whole(b), (t,), SPAN)]
    numpy = FLOATS[dtype]
    rng = np.random.default_rng(7)
    av, bv = (rng.standard_normal(threads).astype(numpy) for _ in range(2))
    bv[bv == 0] = numpy(1)
    cases = {"add": av + bv, "sub": av - bv, "mul": av * bv, "div": av / bv,
             "min": np.minimum(av, bv), "max": np.maximum(av, bv)}
    values: dict[str, object] = {"A": av, "B": bv}
    outputs = []
    for name in cases:
        out = buffer(name, (threads,), dtype, align=8)
        outputs.append(out)
        body.append(ir.Store(whole(out), (t,), typed.binary(name, x, y), SPAN))
        values[name] = np.zeros(threads, numpy)
    for name, expr in {"neg": typed.unary("neg", x), "abs": typed.unary("abs", x),
                       "plus": typed.binary("add", x, 1.5), "rest": typed.binary("sub", 2.0, x),
                       "pick": typed.select(typed.compare("lt", x, y), x, y)}.items():
        out = buffer(name, (threads,), dtype, align=8)
        outputs.append(out)
        body.append(ir.Store(whole(out), (t,), expr, SPAN))
        values[name] = np.zeros(threads, numpy)
    cases |= {"neg": -av, "abs": np.abs(av), "plus": av + numpy(1.5), "rest": numpy(2.0) - av,
              "pick": np.where(av < bv, av, bv)}
    module = run(kernel([a, b, *outputs], body, block=threads, hardware=[t]), values)
    assemble(module.ptx, "sm_90", line_map=module.line_map)
    for name, want in cases.items():
        np.testing.assert_array_equal(values[name], want, err_msg=name)


@pytest.mark.parametrize(("source", "target"), [
    ("int32", "float32"), ("int32", "float16"), ("int64", "float64"), ("uint8", "float32"), ("bool", "float32"),
    ("bool", "int64"), ("float32", "int32"), ("float32", "int8"), ("float32", "uint16"), ("float64", "float32"),
    ("float16", "float32"), ("float32", "float16"), ("float16", "int32"), ("float32", "bool"), ("int32", "bool"),
    ("int16", "int64"), ("uint32", "int64"), ("int64", "int8"), ("float32", "float64"), ("uint64", "float32"),
])
def test_casts_equal_numpy(source: str, target: str) -> None:
    types = NUMPY | FLOATS
    threads = 32
    t = tid(threads)
    a, out = buffer("A", (threads,), source, align=8), buffer("O", (threads,), target, align=8)
    x = Var("x", source, "value")
    data = (np.arange(threads) % 2 == 0) if source == "bool" else (np.arange(threads) * 3 - (
        0 if source.startswith("u") else 40)).astype(types[source])
    if source.startswith("float"):
        data = data / types[source](8)
    if target.startswith("u"):
        data = np.abs(data)
    values: dict[str, object] = {"A": data, "O": np.zeros(threads, types[target])}
    body = [ir.Load(x, whole(a), (t,), SPAN), ir.Store(whole(out), (t,), typed.cast(x, target), SPAN)]
    module = run(kernel([a, out], body, block=threads, hardware=[t]), values)
    assemble(module.ptx, "sm_90", line_map=module.line_map)
    np.testing.assert_array_equal(values["O"], data.astype(types[target]))


def test_bfloat16_rounds_once() -> None:
    threads = 64
    t = tid(threads)
    a, out, back = (buffer(n, (threads,), d) for n, d in (("A", "float32"), ("O", "bfloat16"), ("B", "float32")))
    x, y = Var("x", "float32", "value"), Var("y", "bfloat16", "value")
    data = np.random.default_rng(3).standard_normal(threads).astype(np.float32)
    bits = data.view(np.uint32).astype(np.uint64)
    want = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    values: dict[str, object] = {"A": data, "O": np.zeros(threads, np.uint16), "B": np.zeros(threads, np.float32)}
    body = [ir.Load(x, whole(a), (t,), SPAN), ir.Store(whole(out), (t,), typed.cast(x, "bfloat16"), SPAN),
            ir.Load(y, whole(out), (t,), SPAN), ir.Store(whole(back), (t,), typed.cast(y, "float32"), SPAN)]
    run(kernel([a, out, back], body, block=threads, hardware=[t]), values)
    np.testing.assert_array_equal(values["O"], want)
    assert isinstance(values["B"], np.ndarray)
    np.testing.assert_array_equal(values["B"].view(np.uint32), want.astype(np.uint32) << 16)


def test_large_grid_addresses_use_64_bits() -> None:
    n = Var("n", "int32", "dim", 1, (1 << 31) - 1)
    i = typed.binary("add", typed.binary("mul", block_id(), 1024), tid(1024))
    out = buffer("O", (n,), "float32")
    text = run.__globals__["emit"](kernel([out], [ir.If(typed.compare("lt", i, n), (
        ir.Store(whole(out), (i,), Const(1.0, "float32"), SPAN),), (), SPAN)], block=1024, dims=[n])).ptx
    assert "mul.wide.s32" in text
    assert "mul.lo.s32" in text or "mad.lo.s32" in text   # the guard compares the user's own 32-bit index
