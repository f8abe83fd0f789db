"""The benchmarks' kernels are proved and right: small ones, in the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.kernels import moves, tiles

import ptxspec
from ptxspec import T
from ptxspec.layout import S, TileLayout


def run(kernel: object, a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Output of the proved kernel in the simulator; the bits of it that are not written stay a pattern."""
    out = np.full(int(np.prod(shape)) * a.itemsize, 0xA5, np.uint8).view(a.dtype).reshape(shape)
    ptxspec.compile(kernel, target="sim")(a, out)
    return out


def given(*shape: int) -> np.ndarray:
    """Random floats."""
    return np.random.default_rng().standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("dtype", "factor"), [("float32", None), ("float32", 2.0), ("uint8", None)])
def test_elements_one_by_one(dtype, factor):
    lanes = 16 // np.dtype(dtype).itemsize
    a = np.random.default_rng(0).integers(0, 100, (512, lanes)).astype(dtype)
    kernel = moves.scaled(T, 512, lanes, dtype, factor)
    assert (run(kernel, a, a.shape) == (a if factor is None else a * a.dtype.type(factor))).all()


@pytest.mark.parametrize("each", [1, 4])
@pytest.mark.parametrize("threads", [128, 512])
def test_dense_copy(threads, each):
    a = given(4 * threads * each, 4)
    shaped = a if each == 1 else a.reshape(4, each, threads, 4)
    np.testing.assert_array_equal(run(moves.dense(T, len(a), threads, each), shaped, shaped.shape), shaped)


@pytest.mark.parametrize("dtype,bits", [("uint8", 8), ("float16", 16), ("float32", 32), ("float64", 64)])
def test_element_copies(dtype, bits):
    raw = np.random.default_rng().integers(0, 256, 1024 * bits // 8, dtype=np.uint8)
    single = raw.view(dtype).reshape(1024, 1)
    out = run(moves.elements(T, 1024, 256, dtype, bits), single, single.shape)
    assert out.tobytes() == single.tobytes()
    if bits < 32:
        wide = raw.view(dtype).reshape(-1, 128 // bits)
        threads = 64
        out = run(moves.widened(T, 1024, threads, dtype, bits), wide, wide.shape)
        assert out.tobytes() == wide.tobytes()


@pytest.mark.parametrize("rows,width,pitch", [(128, 4, 16), (32, 64, 80), (64, 256, 320)])
def test_rows(rows, width, pitch):
    a = given(rows, pitch)
    out = run(moves.rows_of(T, rows, width, pitch, 128), a.reshape(rows, -1, 4), (rows, width // 4, 4))
    np.testing.assert_array_equal(out.reshape(rows, width), a[:, :width])


@pytest.mark.parametrize("blocks,threads", [(1, 64), (3, 64), (2, 256)])
def test_exchange(blocks, threads):
    a = given(blocks * threads, 4)
    expected = np.roll(a.reshape(blocks, threads, 4), -1, axis=1).reshape(a.shape)
    np.testing.assert_array_equal(run(moves.exchange(T, blocks, threads), a, a.shape), expected)


def test_transpose():
    a = given(128, 192)
    out = run(moves.transpose(T, 128, 192), a.reshape(128, 48, 4), (192, 32, 4))
    np.testing.assert_array_equal(out.reshape(192, 128), a.T)


@pytest.mark.parametrize("size", [15, 22])
def test_strided_load(size):
    x = given(28 * size)
    out = run(moves.strided(T, S, TileLayout, size), as_kernel_layout(x, size), (28 * size,))
    np.testing.assert_array_equal(out, x)


def as_kernel_layout(x: np.ndarray, n: int) -> np.ndarray:
    """``x`` seen as the kernel's tensor ``(n, 2, 7, 2)`` with strides ``(4, 1, 4n, 2)`` elements."""
    return np.lib.stride_tricks.as_strided(x, (n, 2, 7, 2), tuple(4 * s for s in (4, 1, 4 * n, 2)))


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("shape", [(16, 32), (15, 30)])
def test_tiles_of_vectors(shape, storage):
    a = given(*shape, 3)
    kernel = tiles.copy_vectors(*shape, 3, "float32", (8, 16), 32, storage, True)
    np.testing.assert_array_equal(run(kernel, a, a.shape), a)


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_tiles_of_any_size(storage):
    a = given(70, 72)
    np.testing.assert_array_equal(run(tiles.copy_any(storage, 128), a, a.shape), a)


def test_gradients_of_an_accumulation():
    kernel = tiles.accumulate(12, 20, "float32", (8, 16), 32)
    a, b, seed = given(12, 20), given(12, 20), given(12, 20)
    summed, start = b.copy(), np.full_like(a, 3)
    ptxspec.compile(kernel, target="sim")(a, summed)
    np.testing.assert_array_equal(summed, a + b)
    kept = seed.copy()
    ptxspec.compile(kernel.adjoint(), target="sim")(a, b, start, kept)
    np.testing.assert_array_equal(start, seed + 3)
    np.testing.assert_array_equal(kept, seed)
