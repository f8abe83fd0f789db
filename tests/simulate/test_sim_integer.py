"""Integer arithmetic, logic, comparisons and conversions against Python's integers and exact rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sim_reference as ref
from hypothesis import given, settings
from hypothesis import strategies as st
from ptxspec.backend.simulate.compute import argument_widths, build
from ptxspec.backend.simulate.convert import convert
from ptxspec.backend.simulate.values import UNSIGNED, parse_type

TYPES = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "b32"]


def value(pattern: int, bits: int, signed: bool) -> int:
    return pattern - (1 << bits) if signed and pattern >> (bits - 1) else pattern


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


EXPECT = {
    "add": lambda a, b, n: a + b, "sub": lambda a, b, n: a - b, "mul_lo": lambda a, b, n: a * b,
    "mul_hi": lambda a, b, n: a * b >> n, "min": lambda a, b, n: min(a, b), "max": lambda a, b, n: max(a, b),
    "div": lambda a, b, n: quotient(a, b) if b else -1, "rem": lambda a, b, n: a - b * quotient(a, b) if b else -1,
    "and": lambda a, b, n: a & b, "or": lambda a, b, n: a | b, "xor": lambda a, b, n: a ^ b,
}
COMPARE = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}


def words(bits: int) -> st.SearchStrategy[list[int]]:
    edge = [0, 1, 2, 31, 32, 33, 64, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1, (1 << bits) - 2]
    one = st.one_of(st.integers(0, (1 << bits) - 1), st.sampled_from([e & (1 << bits) - 1 for e in edge]))
    return st.lists(one, min_size=12, max_size=12)


def compute(op: str, name: str, *columns: list[int], sat: bool = False) -> tuple[list[int], list[bool] | None]:
    type_ = parse_type(name)
    widths = argument_widths(op, type_, len(columns))
    arrays = [np.array([v & (1 << w) - 1 for v in c], UNSIGNED[w]) for c, w in zip(columns, widths)]
    with np.errstate(all="ignore"):
        out, undef = build(op, type_, sat=sat)(arrays)
    return [int(v) for v in out], None if undef is None else [bool(u) for u in undef]


@pytest.mark.parametrize("name", TYPES)
def test_operations_wrap(name):
    type_ = parse_type(name)
    n = type_.bits

    @settings(max_examples=20, deadline=None)
    @given(words(n), words(n), words(n))
    def inner(a: list[int], b: list[int], c: list[int]) -> None:
        va, vb, vc = ([value(p, n, type_.signed) for p in column] for column in (a, b, c))
        for op, function in EXPECT.items():
            got, undef = compute(op, name, a, b)
            assert got == [function(x, y, n) & (1 << n) - 1 for x, y in zip(va, vb)], op
            wanted = [y == 0 for y in vb] if op in ("div", "rem") and 0 in vb else None
            assert undef == wanted
        assert compute("mad_lo", name, a, b, c)[0] == [x * y + z & (1 << n) - 1 for x, y, z in zip(va, vb, vc)]
        assert compute("neg", name, a)[0] == [-x & (1 << n) - 1 for x in va]
        assert compute("abs", name, a)[0] == [abs(x) & (1 << n) - 1 for x in va]
        assert compute("not", name, a)[0] == [~x & (1 << n) - 1 for x in va]
        for op, method in COMPARE.items():
            assert compute(op, name, a, b)[0] == [getattr(x, method)(y) for x, y in zip(va, vb)]
        if n < 64:
            double = (1 << 2 * n) - 1
            assert compute("mul_wide", name, a, b)[0] == [x * y & double for x, y in zip(va, vb)]
            assert compute("mad_wide", name, a, b, c)[0] == [x * y + z & double for x, y, z in zip(va, vb, c)]

    inner()


@pytest.mark.parametrize("name", ["u16", "s16", "b32", "s32", "b64", "s64"])
def test_shift_amounts_clamp(name):
    type_ = parse_type(name)
    n = type_.bits

    @settings(max_examples=20, deadline=None)
    @given(words(n), words(32))
    def inner(a: list[int], amount: list[int]) -> None:
        assert compute("shl", name, a, amount)[0] == [x << min(s, n) & (1 << n) - 1 for x, s in zip(a, amount)]
        va = [value(p, n, type_.signed) for p in a]
        assert compute("shr", name, a, amount)[0] == [x >> min(s, n) & (1 << n) - 1 for x, s in zip(va, amount)]

    inner()


@given(words(32), words(32))
@settings(max_examples=20, deadline=None)
def test_saturating_addition(a, b):
    va, vb = ([value(p, 32, True) for p in column] for column in (a, b))
    clamp = [max(-(1 << 31), min((1 << 31) - 1, x + y)) & 0xFFFFFFFF for x, y in zip(va, vb)]
    assert compute("add", "s32", a, b, sat=True)[0] == clamp


def converted(patterns: list[int], source: str, target: str, mode: str = "", *, sat: bool = False) -> list[int]:
    a, b = parse_type(source), parse_type(target)
    with np.errstate(all="ignore"):
        out = convert(np.array(patterns, UNSIGNED[a.bits]), a, b, mode, ftz=False, sat=sat)
    return [int(v) for v in out]


@pytest.mark.parametrize("source", TYPES[:8])
@pytest.mark.parametrize("target", TYPES[:8])
def test_integer_conversions(source, target):
    a, b = parse_type(source), parse_type(target)
    low = -(1 << b.bits - 1) if b.signed else 0
    high = (1 << b.bits - b.signed) - 1

    @settings(max_examples=10, deadline=None)
    @given(words(a.bits))
    def inner(patterns: list[int]) -> None:
        values = [value(p, a.bits, a.signed) for p in patterns]
        mask = (1 << b.bits) - 1
        assert converted(patterns, source, target) == [v & mask for v in values]
        assert converted(patterns, source, target, sat=True) == [max(low, min(high, v)) & mask for v in values]

    inner()


ROUND = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}


@pytest.mark.parametrize("source", ref.FORMATS)
@pytest.mark.parametrize("target", TYPES[:8])
@pytest.mark.parametrize("mode", ROUND)
def test_float_to_integer_rounds_and_clamps(source, target, mode):
    b = parse_type(target)
    low = -(1 << b.bits - 1) if b.signed else 0
    high = (1 << b.bits - b.signed) - 1
    fmt = ref.FORMATS[source]
    rng = np.random.default_rng(3)
    values = [0.5, 1.5, 2.5, -0.5, -1.5, 127.5, 255.5, 32767.5, 2.0**31, 2.0**32, 2.0**63, 2.0**64]
    values += [-(2.0**31), -(2.0**63)]
    near = [ref.encode_float(v, source) for v in values]
    patterns = ref.specials(source) + near + [p - 1 for p in near]
    patterns += [int(p) for p in rng.integers(0, 1 << min(fmt.bits, 63), 50)]
    for pattern, got in zip(patterns, converted(patterns, source, target, mode)):
        v = ref.decode(pattern, source)
        if math.isnan(v):
            expected = 1 << b.bits - 1 if source == "f64" or b.bits == 64 else 0
        elif math.isinf(v):
            expected = (high if v > 0 else low) & (1 << b.bits) - 1
        else:
            expected = max(low, min(high, ROUND[mode](Fraction(v)))) & (1 << b.bits) - 1
        assert got == expected, (hex(pattern), v)


@pytest.mark.parametrize("source", TYPES[:8])
@pytest.mark.parametrize("target", ref.FORMATS)
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_integer_to_float_rounds_once(source, target, mode):
    a = parse_type(source)

    @settings(max_examples=10, deadline=None)
    @given(words(a.bits))
    def inner(patterns: list[int]) -> None:
        values = [Fraction(value(p, a.bits, a.signed)) for p in patterns]
        assert converted(patterns, source, target, mode) == [ref.encode(v, target, mode) for v in values]

    inner()


@pytest.mark.parametrize("source", ref.FORMATS)
@pytest.mark.parametrize("target", ref.FORMATS)
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_float_to_float_rounds_once(source, target, mode):
    fmt = ref.FORMATS[source]
    rng = np.random.default_rng(4)
    patterns = ref.specials(source) + [int(p) for p in rng.integers(0, 1 << min(fmt.bits, 63), 100)]
    one = fmt.bias << fmt.mantissa
    patterns += [one + int(p) for p in rng.integers(-(4 << fmt.mantissa), 4 << fmt.mantissa, 100)]
    for pattern, got in zip(patterns, converted(patterns, source, target, mode)):
        v = ref.decode(pattern, source)
        if math.isnan(v):  # what becomes of NaNs was measured: test_sim_measured.py
            assert math.isnan(ref.decode(got, target))
            continue
        expected = ref.encode_float(v, target) if not math.isfinite(v) else ref.encode(Fraction(v), target, mode, v)
        assert got == expected, hex(pattern)


@pytest.mark.parametrize("mode", ROUND)
def test_rounding_to_an_integral_float(mode):
    values = [0.5, -0.5, 1.5, 2.5, -2.5, 1e30, -0.0, 0.49999997, math.inf]
    got = converted([ref.f32(v) for v in values], "f32", "f32", mode)
    for v, pattern in zip(values, got):
        expected = v if math.isinf(v) else math.copysign(float(ROUND[mode](v)), v)
        assert pattern == ref.f32(expected)
