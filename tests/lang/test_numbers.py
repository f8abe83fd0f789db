"""What the page says of numbers: every operation and conversion at the corners of every type, against plain Python."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

import ptxspec
from ptxspec import T

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
OPERATIONS: tuple[Callable[[int, int], int], ...] = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_, operator.or_,
    operator.xor, min, max)
COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def wrap(value: int, dtype: str) -> int:
    """``value`` as a register of ``dtype`` holds it."""
    bits = np.iinfo(dtype).bits
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.startswith("int") and value >> (bits - 1) else value


def shifted(left: int, amount: int, to_the_left: bool) -> int:
    """Amounts are unsigned; those beyond the width shift everything out."""
    amount = amount if 0 <= amount < 64 else 200
    return left << amount if to_the_left else left >> amount


def brain(values: np.ndarray) -> np.ndarray:
    """binary32 to bfloat16 bits, to nearest even."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return np.where(np.isnan(values), 0x7FFF, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def wide(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bits as binary32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: str) -> None:
    info = np.iinfo(dtype)
    corners = (0, 1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 127, -1, -2, -3, -7, -8, -31, -32, info.min,
               info.min + 1, info.max, info.max - 1)
    some = [v for v in corners if info.min <= v <= info.max]
    pairs = [(x, y) for x in some for y in some]
    n = len(pairs)

    @T.function
    def kernel(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), Out: T.Tensor((15, n), dtype),
               Compared: T.Tensor((6, n), "bool")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(n + 63) // 64, block=64))
        i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()
        if i < n:
            a, b = A[i], B[i]
            for k, value in enumerate([a + b, a - b, a * b]):
                Out[k, i] = value
            if b != 0:
                Out[3, i], Out[4, i] = a // b, a % b
            for k, value in enumerate([a & b, a | b, a ^ b, T.min(a, b), T.max(a, b), a << b, a >> b, ~a, -a,
                                       T.abs(a)]):
                Out[5 + k, i] = value
            for k, value in enumerate([a < b, a <= b, a > b, a >= b, a == b, a != b]):
                Compared[k, i] = value

    left, right = (np.array([p[k] for p in pairs], dtype) for k in range(2))
    out, compared = np.zeros((15, n), dtype), np.zeros((6, n), bool)
    ptxspec.compile(kernel, target="sm_90")(left, right, out, compared)
    for j, (x, y) in enumerate(pairs):
        wanted = [f(x, y) if y or f not in (operator.floordiv, operator.mod) else 0 for f in OPERATIONS]
        wanted += [shifted(x, y, True), shifted(x, y, False), ~x, -x, abs(x)]
        assert out[:, j].tolist() == [wrap(w, dtype) for w in wanted], (x, y)
        assert compared[:, j].tolist() == [f(x, y) for f in COMPARISONS], (x, y)
    for target in ("sm_75", "sm_120"):
        assert ptxspec.compile(kernel, target=target).cubin


def test_constants_are_folded_as_the_machine_computes() -> None:
    @T.function
    def kernel(n: T.int32, Out: T.Tensor((2, 8), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=1))
        one, least, minus = T.int32(1), T.int32(-(2**31)), T.int32(-7)
        folded = [one << 40, minus >> 40, minus // 2, minus % 4, least // T.int32(-1), T.abs(least), ~one, minus // -2]
        n1, nleast, nminus = n, n * 0 + least, n * -7
        computed = [n1 << 40, nminus >> 40, nminus // 2, nminus % 4, nleast // -n1, T.abs(nleast), ~n1, nminus // -2]
        for k in range(8):
            Out[0, k], Out[1, k] = 0, 0
        for k, (a, b) in enumerate(zip(folded, computed)):
            Out[0, k], Out[1, k] = a, b

    out = np.ones((2, 8), np.int32)
    ptxspec.compile(kernel, target="sm_90")(1, out)
    assert out[0].tolist() == out[1].tolist() == [0, -1, -4, 1, -(2**31), -(2**31), -2, 3]


def test_constants_hold_what_their_type_can() -> None:
    """A constant is rounded once, from the Python number; NumPy's scalars are numbers too."""
    big = (2**24 + 1) * 2**30 + 1   # as a double it would be a tie
    numpy_half, numpy_three, numpy_true = np.float32(0.5), np.int64(3), np.bool_(True)

    @T.function
    def kernel(Out: T.Tensor((6,), "float32"), Wide: T.Tensor((1,), "float64"), Brain: T.Tensor((2,), "bfloat16")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=1))
        Out[0] = T.float16(0.1)
        Out[1] = T.float32(T.bfloat16(3.14159))
        Out[2] = big
        Out[3] = Out[0] * numpy_half + numpy_three
        Out[4] = T.Select(numpy_true, numpy_half, 1.0)
        Out[5] = T.float32(numpy_three)
        Wide[0] = T.float32(0.1)
        Brain[0] = float("inf")
        Brain[1] = 1.0 + 2.0**-9 + 2.0**-40

    out, wide_out, brain_out = np.zeros(6, np.float32), np.zeros(1), np.zeros(2, np.uint16)
    ptxspec.compile(kernel, target="sm_90")(out, wide_out, brain_out)
    assert out[0] == np.float16(0.1)
    assert out[1] == 3.140625
    assert out[2] == np.float32((2**24 + 2) * 2**30)
    assert out[3] == np.float32(out[0]) * np.float32(0.5) + np.float32(3)
    assert out[4:].tolist() == [0.5, 3.0]
    assert wide_out[0] == np.float32(0.1)
    assert brain_out.tolist() == [0x7F80, 0x3F80]


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype: str, target: str) -> None:
    """Also on chips that have no instruction for it: they compute in binary32, which rounds once all the same."""
    if dtype == "bfloat16" and target == "sm_75":
        pytest.skip("that chip has no bfloat16 at all")
    n = 4096

    @T.function
    def kernel(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), Out: T.Tensor((10, n), dtype),
               Compared: T.Tensor((6, n), "bool"), scale: getattr(T, dtype)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=n // 256, block=256))
        i = T.cuda.block_idx() * 256 + T.cuda.thread_idx()
        a, b = A[i], B[i]
        for k, value in enumerate([a + b, a - b, a * b, a / b, T.min(a, b), T.max(a, b), -a, T.abs(a),
                                   T.Select(a < b, a, b), a * scale + 1]):
            Out[k, i] = value
        for k, value in enumerate([a < b, a <= b, a > b, a >= b, a == b, a != b]):
            Compared[k, i] = value

    rng = np.random.default_rng(5)
    unit = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32, "float64": np.uint64}[dtype]
    given = [rng.integers(0, np.iinfo(unit).max, n, dtype=unit, endpoint=True) for _ in range(2)]
    given[1][: n // 2] = given[0][: n // 2] + rng.integers(0, 3, n // 2).astype(unit)   # near each other
    special = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 6e-8, 1e-40, 65504.0, 3.38e38]
    for k, x in enumerate(special):
        for j, y in enumerate(special):
            for side, value in ((0, x), (1, y)):
                with np.errstate(over="ignore"):
                    bits = brain(np.array([value])) if dtype == "bfloat16" else \
                        np.array([value]).astype(dtype).view(unit)
                given[side][-1 - k * len(special) - j] = bits[0]
    a, b = (wide(g) if dtype == "bfloat16" else g.view(dtype) for g in given)
    arguments = [g if dtype == "bfloat16" else g.view(dtype) for g in given]
    out, compared = np.zeros((10, n), unit if dtype == "bfloat16" else dtype), np.zeros((6, n), bool)
    exe = ptxspec.compile(kernel, target=target)
    exe(*arguments, out, compared, 1.5)
    assert exe.cubin
    with np.errstate(all="ignore"):
        one = a.dtype.type(1)
        if dtype == "bfloat16":
            # binary32 is wide enough for one rounding (24 >= 2 * 8 + 2), and the sum of the last is rounded twice.
            def rounded(x: np.ndarray) -> np.ndarray:
                return wide(brain(x))
        else:
            def rounded(x: np.ndarray) -> np.ndarray:
                return x
        less = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.minimum(a, b)))
        more = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.maximum(a, b)))
        wanted = [rounded(a + b), rounded(a - b), rounded(a * b), rounded(a / b), less, more, -a, np.abs(a),
                  np.where(a < b, a, b), rounded(rounded(a * a.dtype.type(1.5)) + one)]
        for k, want in enumerate(wanted):
            found = wide(out[k]) if dtype == "bfloat16" else out[k]
            np.testing.assert_array_equal(found, want.astype(found.dtype), err_msg=f"operation {k}")
        for k, compare in enumerate(COMPARISONS):
            np.testing.assert_array_equal(compared[k], compare(a, b))


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
def test_floats_to_integers(source: str, target: str) -> None:
    """Rounded to zero, stopped at the ends of the type; NaN is 0 where the hardware says so."""
    reals = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -1.5, 127.5, -128.5, 129, -129, 255.5, 256, 300, -300,
                      32767.5, -32768.9, 40000, 65535.9, 70000, 2147483520.0, 2147483648.0, -2147483648.0, 3e9, -3e9,
                      4294967040.0, 1e10, 9.3e18, -9.3e18, 1.9e19, np.inf, -np.inf, 1e-30, np.nan])
    n = len(reals)

    @T.function
    def kernel(A: T.Tensor((n,), source), B: T.Tensor((n,), target)):
        T.device_entry(launch=T.cuda.LaunchConfig(block=n))
        i = T.cuda.thread_idx()
        B[i] = getattr(T, target)(A[i])

    with np.errstate(over="ignore"):
        a = brain(reals) if source == "bfloat16" else reals.astype(source)
    b = np.zeros(n, target)
    ptxspec.compile(kernel, target="sm_90")(a, b)
    info = np.iinfo(target)
    for value, found in zip(wide(a) if source == "bfloat16" else a, b.tolist(), strict=True):
        if np.isnan(value):
            assert found == 0 or source == "float64" or info.bits == 64
        elif np.isinf(value):
            assert found == (info.max if value > 0 else info.min)
        else:
            assert found == max(info.min, min(info.max, int(float(value)))), value
