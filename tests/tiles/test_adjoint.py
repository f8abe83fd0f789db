"""Adjoint kernels: against numerical gradients, and against the rules that Warp documents."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec import T

F = "float32"


def matrix(shape, dtype=F):
    """A parameter's type."""
    return T.Tensor(shape, dtype, align=16)


def gradients(kernel, arrays: list[np.ndarray], numbers: tuple[float, ...], seeds: dict[int, np.ndarray]):
    """The arrays' gradients after the adjoint, from ``seeds`` (by position; zero elsewhere)."""
    exe = ptxspec.compile(kernel.adjoint(), target="sm_90")
    assert exe.report is not None
    assert exe.report.verdict == "proved"
    grads = [seeds.get(k, np.zeros_like(a)).copy() for k, a in enumerate(arrays) if a.dtype.kind == "f"]
    exe(*arrays, *numbers, *grads)
    return grads


def numerical(kernel, arrays: list[np.ndarray], numbers: tuple[float, ...], out: int, seed: np.ndarray, of: int):
    """d(sum(seed * arrays[out])) / d(arrays[of]), one element at a time; kernels here are linear, so exact steps do."""
    exe = ptxspec.compile(kernel, target="sm_90")

    def total(values: np.ndarray) -> float:
        given = [a.copy() for a in arrays]
        given[of] = values
        exe(*given, *numbers)
        return float((seed.astype(np.float64) * given[out]).sum())

    base, result = total(arrays[of]), np.zeros(arrays[of].shape)
    for at in np.ndindex(*arrays[of].shape):
        moved = arrays[of].copy()
        moved[at] += 1
        result[at] = total(moved) - base
    return result


@T.function
def linear(A: matrix((6, 8)), C: matrix((6, 8)), B: matrix((6, 8)), s: T.float32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=32))
    i, j = T.cuda.block_idx("y") * 3, T.cuda.block_idx("x") * 4
    t = T.tile_load(A, shape=(3, 4), offset=(i + 1, j - 1))
    u = T.tile_load(C, shape=(3, 4), offset=(i, j), storage="shared")
    T.tile_store(B, t * s, offset=(i, j))
    T.tile_store(B, u, offset=(i, j))


def integers(shape, seed, dtype=np.float32):
    """Small whole numbers: sums of them are exact in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def test_numerical_gradients_of_linear_kernels() -> None:
    @T.function
    def stored(A: matrix((6, 8)), B: matrix((6, 8)), s: T.float32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=32))
        i, j = T.cuda.block_idx("y") * 3, T.cuda.block_idx("x") * 4
        t = T.tile_load(A, shape=(3, 4), offset=(i + 1, j - 1))
        u = T.tile_load(A, shape=(3, 4), offset=(i, j))
        T.tile_store(B, -t * s + t / 2.0 - (3.0 - u), offset=(i, j))

    a, b, seed = integers((6, 8), 1), np.zeros((6, 8), np.float32), integers((6, 8), 2)
    found = gradients(stored, [a, b], (4.0,), {1: seed})
    np.testing.assert_array_equal(found[0], numerical(stored, [a, b], (4.0,), 1, seed, 0))
    np.testing.assert_array_equal(found[1], np.zeros((6, 8)))


def test_atomic_addition_keeps_the_gradient_and_passes_it_on() -> None:
    @T.function
    def added(A: matrix((6, 8)), B: matrix((6, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=32))
        i, j = T.cuda.block_idx("y") * 3, T.cuda.block_idx("x") * 4
        T.tile_atomic_add(B, T.tile_load(A, shape=(3, 4), offset=(i, j)), offset=(i, j - 2))

    a, b, seed = integers((6, 8), 1), integers((6, 8), 3), integers((6, 8), 2)
    found = gradients(added, [a, b], (), {1: seed})
    np.testing.assert_array_equal(found[0], numerical(added, [a, b], (), 1, seed, 0))
    np.testing.assert_array_equal(found[1], seed)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_load_and_store_rules(dtype) -> None:
    """Full load: 1 everywhere; at an offset: 0 before it; what was stored is cleared; gradients add up."""
    kind = np.dtype(dtype)

    @T.function
    def padded(A: T.Tensor((16, 8), dtype), B: T.Tensor((16, 8), dtype)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        T.tile_store(B, T.tile_load(A, shape=(16, 8), offset=(5, 0)))

    a, b = integers((16, 8), 1, kind), np.zeros((16, 8), kind)
    found = gradients(padded, [a, b], (), {0: np.full((16, 8), 2, kind), 1: np.ones((16, 8), kind)})
    expected = np.full((16, 8), 3, kind)
    expected[:5] = 2
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], np.zeros((16, 8), kind))


def test_only_the_stored_region_is_cleared() -> None:
    """load_unaligned: gradient 1 inside, 0 in row 0 and column 0."""
    @T.function
    def window(A: matrix((17, 9)), B: matrix((17, 9))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        T.tile_store(B, T.tile_load(A, shape=(16, 8), offset=(1, 1), storage="shared"), offset=(1, 1))

    a, b = integers((17, 9), 1), np.zeros((17, 9), np.float32)
    found = gradients(window, [a, b], (), {1: np.ones((17, 9), np.float32)})
    expected = np.zeros((17, 9), np.float32)
    expected[1:, 1:] = 1
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1], 1 - expected)


def test_an_overwritten_store_gets_no_gradient() -> None:
    @T.function
    def twice(A: matrix((8, 8)), C: matrix((8, 8)), B: matrix((8, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(8, 8))
        u = T.tile_load(C, shape=(8, 8))
        T.tile_store(B, t * 2.0)
        T.tile_store(B, u * 3.0)

    arrays = [integers((8, 8), k) for k in range(3)]
    seed = integers((8, 8), 9)
    found = gradients(twice, arrays, (), {2: seed})
    np.testing.assert_array_equal(found[0], np.zeros((8, 8)))
    np.testing.assert_array_equal(found[1], 3 * seed)


def test_loops_run_backwards_and_branches_keep_their_condition() -> None:
    """Every trip overwrites one row block; only the last writer's source gets the gradient."""
    @T.function
    def looped(A: matrix((16, 8)), B: matrix((4, 8)), C: matrix((4, 8)), n: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.assume(n <= 4)
        for k in range(n):
            t = T.tile_load(A, shape=(4, 8), offset=(4 * k, 0))
            T.tile_store(B, t)
            if k % 2 == 0:
                T.tile_atomic_add(C, t * 2.0)

    a, b, c = integers((16, 8), 1), np.zeros((4, 8), np.float32), np.zeros((4, 8), np.float32)
    seed, other = integers((4, 8), 2), integers((4, 8), 3)
    for n in (0, 1, 3, 4):
        found = gradients(looped, [a, b, c], (n,), {1: seed, 2: other})
        expected = np.zeros((16, 8), np.float32)
        for k in range(0, n, 2):
            expected[4 * k:4 * k + 4] += 2 * other
        if n:
            expected[4 * n - 4:4 * n] += seed
        np.testing.assert_array_equal(found[0], expected)


def test_a_tile_used_in_every_trip_collects_all_gradients() -> None:
    @T.function
    def spread(A: matrix((4, 8)), B: matrix((16, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(4, 8))
        for k in range(4):
            T.tile_store(B, t, offset=(4 * k, 0))

    seed = integers((16, 8), 2)
    found = gradients(spread, [integers((4, 8), 1), np.zeros((16, 8), np.float32)], (), {1: seed})
    np.testing.assert_array_equal(found[0], seed.reshape(4, 4, 8).sum(0))


def test_gathered_rows() -> None:
    """load_indexed_oob: gradients reach rows 0 and 2 only; atomic_add_indexed passes 1 to every source row."""
    @T.function
    def gather(X: matrix((4, 4)), I: T.Tensor((4,), "int32"), Y: matrix((4, 4))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(Y, T.tile_load_indexed(X, T.tile_load(I, shape=4, storage="shared"), shape=(4, 4)))

    @T.function
    def scatter(X: matrix((4, 4)), I: T.Tensor((4,), "int32"), Y: matrix((4, 4))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_atomic_add_indexed(Y, T.tile_load(I, shape=4, storage="shared"), T.tile_load(X, shape=(4, 4)))

    x, y = integers((4, 4), 1), np.zeros((4, 4), np.float32)
    exe = ptxspec.compile(gather.adjoint(), target="sm_90")
    gx, gy = np.zeros((4, 4), np.float32), np.ones((4, 4), np.float32)
    exe(x, np.array([0, -1, 2, 4], np.int32), y, gx, gy)
    expected = np.zeros((4, 4), np.float32)
    expected[[0, 2]] = 1
    np.testing.assert_array_equal(gx, expected)
    exe = ptxspec.compile(scatter.adjoint(), target="sm_90")
    gx, gy = np.zeros((4, 4), np.float32), integers((4, 4), 5)
    kept = gy.copy()
    exe(x, np.array([1, 1, -1, 3], np.int32), y, gx, gy)
    expected = np.zeros((4, 4), np.float32)
    expected[[0, 1, 3]] = kept[[1, 1, 3]]
    np.testing.assert_array_equal(gx, expected)
    np.testing.assert_array_equal(gy, kept)


def test_gradients_of_conversions() -> None:
    @T.function
    def converted(A: matrix((8, 8), "float16"), B: matrix((8, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(B, T.tile_load(A, shape=(8, 8)).astype("float32") * 2.0)

    seed = integers((8, 8), 2)
    found = gradients(converted, [integers((8, 8), 1, np.float16), np.zeros((8, 8), np.float32)], (), {1: seed})
    np.testing.assert_array_equal(found[0], (2 * seed).astype(np.float16))


def test_fixed_order_is_exact_to_the_bit_with_any_values() -> None:
    """One contribution an element: what arrives is the seed, exactly."""
    @T.function
    def copy(A: matrix((64, 32)), B: matrix((64, 32))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(1, 4), block=64))
        i = T.cuda.block_idx("y") * 16
        T.tile_store(B, T.tile_load(A, shape=(16, 32), offset=(i, 0)), offset=(i, 0))

    seed = np.random.default_rng(3).standard_normal((64, 32)).astype(np.float32)
    found = gradients(copy, [seed, seed.copy()], (), {1: seed})
    np.testing.assert_array_equal(found[0].view(np.uint32), seed.view(np.uint32))
    assert "red.global.add.v4.f32" in ptxspec.compile(copy.adjoint(), target="sm_90").ptx


def _square(A, B, t):
    T.tile_store(B, t * t)


def _reciprocal(A, B, t):
    T.tile_store(B, 1.0 / t)


def _element(A, B, t):
    T.tile_store(B, t * A[0, 0])


def _single(A, B, t):
    B[0, 0] = 1.0


@pytest.mark.parametrize(("code", "body"), [("K241", _square), ("K241", _reciprocal), ("K240", _element),
                                            ("K240", _single)])
def test_what_has_no_gradient_is_refused(code, body) -> None:
    @T.function
    def kernel(A: matrix((8, 8)), B: matrix((8, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        body(A, B, T.tile_load(A, shape=(8, 8)))

    with pytest.raises(ptxspec.PtxspecError) as caught:
        ptxspec.compile(kernel.adjoint(), target="sm_90")
    assert caught.value.code == code


def test_the_adjoint_of_a_kernel_is_made_once_and_named_after_it() -> None:
    assert linear.adjoint() is linear.adjoint()
    assert linear.adjoint().__name__ == "linear_adjoint"
    exe = ptxspec.compile(linear.adjoint(), target="sm_90")
    assert [p.source.name for p in exe.module.params[:7]] == ["A", "C", "B", "s", "A_grad", "C_grad", "B_grad"]
