"""Floating point arithmetic against exact rational arithmetic, in every format and rounding mode."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sim_reference as ref
from hypothesis import given, settings
from hypothesis import strategies as st
from ptxspec.backend.simulate.compute import build
from ptxspec.backend.simulate.floats import CANONICAL_NAN
from ptxspec.backend.simulate.values import UNSIGNED, parse_type

ARITY = {"add": 2, "sub": 2, "mul": 2, "div": 2, "fma": 3}
MODES = ("rn", "rz", "rm", "rp")
CASES = [(op, name, mode) for op, name, mode in product(ARITY, ref.FORMATS, MODES)
         if (op != "div" or name in ("f32", "f64")) and (mode == "rn" or name in ("f32", "f64"))]


def compute(op: str, name: str, columns: list[list[int]], **options: object) -> list[int]:
    type_ = parse_type(name)
    arrays = [np.array(c, UNSIGNED[type_.total]) for c in columns]
    with np.errstate(all="ignore"):
        out = build(op, type_, **options)(arrays)[0]  # type: ignore[arg-type]
    return [int(v) for v in out]


def patterns(name: str) -> st.SearchStrategy[int]:
    fmt = ref.FORMATS[name]
    near_one = st.integers(-40, 40).flatmap(lambda e: st.integers(0, (1 << fmt.mantissa) - 1).map(
        lambda m: (max(1, min(fmt.bias + e, 2 * fmt.bias)) << fmt.mantissa) + m))
    signed = st.one_of(near_one, near_one.map(lambda p: p | 1 << (fmt.bits - 1)))
    return st.one_of(st.integers(0, (1 << fmt.bits) - 1), signed, st.sampled_from(ref.specials(name)))


ORDER = {"div": (0, 1), "fma": (1, 2, 0)}


def passed_on(op: str, row: list[int], name: str, expected: int) -> int:
    """In f64 a NaN operand comes out quiet: the second's before the first's, except in a division."""
    if name == "f64" and expected == ref.FORMATS[name].nan:
        for k in ORDER.get(op, (1, 0)):
            if math.isnan(ref.decode(row[k], name)):
                return row[k] | 1 << 51
    return expected


def check(op: str, name: str, mode: str, rows: list[list[int]]) -> None:
    got = compute(op, name, [list(c) for c in zip(*rows)], mode=mode)
    for row, value in zip(rows, got):
        expected = passed_on(op, row, name, ref.arithmetic(op, row, name, mode))
        shown = [hex(p) for p in row]
        assert value == expected, f"{op}.{mode}.{name} {shown}: {value:#x}, exactly {expected:#x}"


@pytest.mark.parametrize("op, name, mode", CASES)
def test_random_operands(op, name, mode):
    @settings(max_examples=8, deadline=None)
    @given(st.lists(st.lists(patterns(name), min_size=ARITY[op], max_size=ARITY[op]), min_size=20, max_size=20))
    def inner(rows: list[list[int]]) -> None:
        check(op, name, mode, rows)

    inner()


@pytest.mark.parametrize("op, name, mode", [c for c in CASES if c[0] != "fma"])
def test_every_pair_of_edge_values(op, name, mode):
    check(op, name, mode, [list(pair) for pair in product(ref.specials(name), ref.specials(name)[::3])])


@pytest.mark.parametrize("name", ref.FORMATS)
def test_fused_multiply_add_at_the_edges(name):
    edge = ref.specials(name)
    check("fma", name, "rn", [[a, b, c] for a in edge[::3] for b in edge[1::4] for c in edge[::3]])


@pytest.mark.parametrize("name, mode", [(n, m) for n in ("f32", "f64") for m in MODES])
def test_an_infinite_addend_wins_over_a_product_that_overflows(name, mode):
    fmt = ref.FORMATS[name]
    top, big, inf = 1 << (fmt.bits - 1), fmt.infinity - 1, fmt.infinity
    rows = [[a, b, c] for a in (big, big | top) for b in (big, big | top) for c in (inf, inf | top, big, big | top)]
    check("fma", name, mode, rows)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_fused_multiply_add_when_the_product_cancels(name):
    rng = np.random.default_rng(5)
    fmt = ref.FORMATS[name]
    rows = []
    for _ in range(150):
        a, b = (int(fmt.bias << fmt.mantissa) + int(rng.integers(0, 1 << fmt.mantissa)) for _ in range(2))
        c = ref.arithmetic("mul", [a, b], name) ^ 1 << (fmt.bits - 1)
        rows.append([a, b, c + int(rng.integers(-1, 2))])
    check("fma", name, "rn", rows)


@pytest.mark.parametrize("name, mode", list(product(["f32", "f64"], MODES)))
def test_square_roots(name, mode):
    rng = np.random.default_rng(6)
    fmt = ref.FORMATS[name]
    rows = ref.specials(name) + [int(p) for p in rng.integers(0, fmt.infinity, 300)]
    for pattern, got in zip(rows, compute("sqrt", name, [rows], mode=mode)):
        value = ref.decode(pattern, name)
        if math.isnan(value) or value < 0:
            assert got == (pattern | 1 << 51 if name == "f64" and math.isnan(value) else fmt.nan)
        elif value == 0 or math.isinf(value):
            assert got == pattern
        else:
            low = ref.size_of(got, fmt)
            exact = Fraction(value)
            below, above = ref.size_of(got - 1, fmt), ref.size_of(got + 1, fmt)
            if mode == "rn":
                assert ((below + low) / 2) ** 2 <= exact <= ((low + above) / 2) ** 2
            elif mode == "rp":
                assert below**2 < exact <= low**2
            else:
                assert low**2 <= exact < above**2


@pytest.mark.parametrize("op", ["add", "mul", "fma"])
def test_flushing_subnormals(op):
    edge = ref.specials("f32")

    def flush(pattern: int) -> int:
        return pattern & 0x80000000 if pattern & 0x7F800000 == 0 else pattern

    rows = [list(row) for row in product(edge[::2], repeat=ARITY[op])]
    got = compute(op, "f32", [list(c) for c in zip(*rows)], ftz=True)
    for row, value in zip(rows, got):
        flushed = [flush(p) for p in row]
        expected = flush(ref.arithmetic(op, flushed, "f32"))
        if expected & 0x7FFFFFFF == 0x00800000:  # tiny counts before the exponent is bounded: see the next test
            continue
        assert value == expected


def test_flushing_looks_at_the_result_before_it_becomes_normal_by_rounding():
    # Measured: 2**-126 * (1 - 2**-24) has 24 bits and is below 2**-126; only its subnormal rounding is 2**-126.
    least, below_one = 0x00800000, 0x3F7FFFFF
    assert compute("mul", "f32", [[least], [below_one]], ftz=True) == [0]
    assert compute("mul", "f32", [[least], [below_one]]) == [least]
    # -2**-126 + 2**-252, rounded down to 24 bits, is -2**-126.
    assert compute("fma", "f32", [[least], [least], [least | 1 << 31]], ftz=True, mode="rm") == [least | 1 << 31]


def test_saturation_clamps_and_replaces_nan():
    values = [0.25, 1.5, -3.0, math.inf, -math.inf, math.nan, -0.0, 1.0]
    got = compute("add", "f32", [[ref.f32(v) for v in values], [0x80000000] * 8], sat=True)
    assert got == [ref.f32(v) for v in (0.25, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)]


@pytest.mark.parametrize("name", ref.FORMATS)
def test_sign_operations_change_one_bit(name):
    edge = ref.specials(name)
    top = 1 << (ref.FORMATS[name].bits - 1)
    nan = [math.isnan(ref.decode(p, name)) for p in edge]
    changed = [[p | 1 << 51 if name == "f64" else ref.FORMATS[name].nan for p in edge]] * 2
    for op, other, numbers in zip(("neg", "abs"), changed, ([p ^ top for p in edge], [p & ~top for p in edge])):
        assert compute(op, name, [edge]) == [o if n else p for o, n, p in zip(other, nan, numbers)]


@pytest.mark.parametrize("name", ref.FORMATS)
def test_minimum_and_maximum(name):
    edge = ref.specials(name)
    rows = [list(pair) for pair in product(edge, repeat=2)]
    columns = [list(c) for c in zip(*rows)]
    ops = ("min", "max") if name == "f64" else ("min", "max", "min_nan", "max_nan")
    results = {op: compute(op, name, columns) for op in ops}
    for k, (a, b) in enumerate(rows):
        x, y = ref.decode(a, name), ref.decode(b, name)
        key_x, key_y = (x, math.copysign(1, x)), (y, math.copysign(1, y))
        for op, choose in (("min", min), ("max", max)):
            if math.isnan(x) and math.isnan(y):
                expected = b | 1 << 51 if name == "f64" else CANONICAL_NAN[name]
            elif math.isnan(x):
                expected = b
            elif math.isnan(y):
                expected = a
            else:
                expected = a if choose(key_x, key_y) == key_x else b
            assert results[op][k] == expected
            either = math.isnan(x) or math.isnan(y)
            if name != "f64":
                assert results[f"{op}_nan"][k] == (CANONICAL_NAN[name] if either else expected)


@pytest.mark.parametrize("name", ref.FORMATS)
def test_comparisons_with_and_without_nan(name):
    rows = [list(pair) for pair in product(ref.specials(name), repeat=2)]
    columns = [list(c) for c in zip(*rows)]
    table = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
    for op, method in table.items():
        ordered, unordered = compute(op, name, columns), compute(op + "u", name, columns)
        for k, (a, b) in enumerate(rows):
            x, y = ref.decode(a, name), ref.decode(b, name)
            either = math.isnan(x) or math.isnan(y)
            holds = bool(getattr(x, method)(y))
            assert ordered[k] == (holds and not either)
            assert unordered[k] == (holds or either)
    nan = [math.isnan(ref.decode(a, name)) or math.isnan(ref.decode(b, name)) for a, b in rows]
    assert compute("nan", name, columns) == nan
    assert compute("num", name, columns) == [not n for n in nan]


def test_packed_halves_are_two_independent_results():
    rng = np.random.default_rng(2)
    a, b = (rng.integers(0, 1 << 32, 500, dtype=np.uint64).astype(np.uint32) for _ in range(2))
    got = compute("add", "f16x2", [[int(v) for v in a], [int(v) for v in b]])
    for x, y, z in zip(a, b, got):
        low = ref.arithmetic("add", [int(x) & 0xFFFF, int(y) & 0xFFFF], "f16")
        high = ref.arithmetic("add", [int(x) >> 16, int(y) >> 16], "f16")
        assert z == high << 16 | low


def test_relu_clamps_negative_results_only():
    values = [0x3C00, 0xBC00, 0x7E00, 0x8000, 0x0001, 0x8001, 0xFC00]
    assert compute("fma_relu", "f16", [values, [0x3C00] * 7, [0x8000] * 7]) == [0x3C00, 0, 0x7FFF, 0, 1, 0, 0]


def test_unknown_operations_and_modes_are_refused():
    for op, name, mode in (("spin", "f32", ""), ("add", "f32", "upward"), ("shl", "f32", ""), ("mul_wide", "u64", "")):
        with pytest.raises(ValueError):
            build(op, parse_type(name), mode=mode)
