"""Arrays of many kinds: wide elements, five axes, views, permuted axes, rows of vectors."""

from __future__ import annotations

import numpy as np
import pytest
from test_tiles import values, wide

import ptxspec
from ptxspec import T


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize(("element", "count"), [("bits128", 4), ("bits64", 2), ("float64", 2), ("bits32", 1)])
def test_elements_of_up_to_16_bytes(element, count, storage) -> None:
    """A float32 array read as wider elements."""
    @T.function
    def move(A: T.Tensor((16, 32), "float32", align=16), B: T.Tensor((16, 32), "float32", align=16), q: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A.view(element), shape=(8, 4), offset=(q, -1), storage=storage)
        T.tile_store(B.view(element), t, offset=(q, 1))

    exe = ptxspec.compile(move, target="sm_90")
    for q in (0, -3, 11):
        a, b = values((16, 32), "float32", 1), values((16, 32), "float32", 2)
        wider, target = a.view(np.uint32).reshape(16, -1, count), b.copy().view(np.uint32).reshape(16, -1, count)
        for i, j in np.ndindex(8, 4):
            x, y, p = q + i, j - 1, j + 1
            if 0 <= x < 16 and 0 <= p < 32 // count:
                target[x, p] = wider[x, y] if 0 <= y < 32 // count else 0
        exe(a, b, q)
        np.testing.assert_array_equal(b.view(np.uint32), target.reshape(16, 32))


def test_a_tile_of_wide_elements_can_wait_in_registers() -> None:
    @T.function
    def twice(A: T.Tensor((16, 32), "float32", align=16), B: T.Tensor((16, 32), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A.view("bits128"), shape=(8, 4), offset=(12, 2))
        T.tile_store(B.view("bits128"), t)
        T.tile_store(B.view("bits128"), t, offset=(8, 4))

    exe = ptxspec.compile(twice, target="sm_90")
    a, b = values((16, 32), "float32", 1), values((16, 32), "float32", 2)
    expected = b.copy()
    for corner in ((0, 0), (8, 16)):
        expected[corner[0]:corner[0] + 8, corner[1]:corner[1] + 16] = 0
        expected[corner[0]:corner[0] + 4, corner[1]:corner[1] + 16] = a[12:, 8:24]
    exe(a, b)
    np.testing.assert_array_equal(b.view(np.uint32), expected.view(np.uint32))


def test_five_axes() -> None:
    shape, tile = (2, 3, 4, 5, 8), (1, 2, 2, 3, 4)

    @T.function
    def move(A: T.Tensor(shape, "float32", align=16), B: T.Tensor(shape, "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 3, 2), block=32))
        i, j, k = T.cuda.block_idx("z"), T.cuda.block_idx("y"), T.cuda.block_idx("x")
        at = (i, 2 * (j % 2), 2 * k, 3 * (j // 2), 4)
        t = T.tile_load(A, shape=tile, offset=at)
        T.tile_store(B, t * 1.0, offset=at)

    exe = ptxspec.compile(move, target="sm_90")
    assert wide(exe.ptx)["ld.global.v4.b32"] >= 1
    a = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    b = np.zeros(shape, np.float32)
    expected = b.copy()
    for i, j, k in np.ndindex(2, 3, 2):
        at = (i, 2 * (j % 2), 2 * k, 3 * (j // 2), 4)
        window = tuple(slice(o, o + t) for o, t in zip(at, tile, strict=True))
        expected[window] = a[window]
    exe(a, b)
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_permuted_and_narrowed_views(storage) -> None:
    """Columns as rows: the unit-stride axis is the first, and goes in whole vectors."""
    @T.function
    def move(A: T.Tensor((32, 64), "float32", align=16), B: T.Tensor((32, 64), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 4), block=32))
        i, j = T.cuda.block_idx("y") * 16, T.cuda.block_idx("x") * 16
        t = T.tile_load(A.permute(1, 0), shape=(16, 16), offset=(i, j), storage=storage)
        T.tile_store(B.permute(1, 0), t, offset=(i, j))

    exe = ptxspec.compile(move, target="sm_90")
    assert all("v4" in opcode for opcode in wide(exe.ptx))
    a, b = values((32, 64), "float32", 1), values((32, 64), "float32", 2)
    exe(a, b)
    np.testing.assert_array_equal(b.view(np.uint32), a.view(np.uint32))


def test_owned_elements_are_each_threads_registers() -> None:
    @T.function
    def shifted(A: T.Tensor((16, 32), "float32", align=16), B: T.Tensor((16, 32), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(16, 32))
        for i, j in t.owned():
            B[i, j] = t[i, j] + T.float32(i * 100 + j)

    exe = ptxspec.compile(shifted, target="sm_90")
    assert "shared" not in exe.ptx
    a, b = np.arange(512, dtype=np.float32).reshape(16, 32), np.zeros((16, 32), np.float32)
    exe(a, b)
    i, j = np.indices((16, 32))
    np.testing.assert_array_equal(b, a + i * 100 + j)


def test_the_layout_of_a_tile_tells_who_owns_what() -> None:
    seen = []

    @T.function
    def look(A: T.Tensor((16, 32), "float16", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(16, 32))
        seen.append((t.width, t.layout))

    look.kernel()
    width, layout = seen[0]
    assert width == 8
    for element in range(512):
        found = {str(k): int(v) for k, v in layout.apply(element).items()}
        assert found.get("laneid", 0) == element // 8 % 32
