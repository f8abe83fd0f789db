"""Who owns what of a tile: as many neighbours as go together, or as few as the arrays that it is written to take."""

from __future__ import annotations

import numpy as np
import pytest
from test_tiles import wide
from tile_cases import DTYPES

import ptxspec
from ptxspec import T


def doubled(shape, tile, dtype="float32", threads=32, target=None, shift=0, add=False):
    """Twice ``A``, ``shift`` columns on, in tiles, to an array of shape ``target``."""
    rows, columns = -(-shape[0] // tile[0]), -(-shape[1] // tile[1])

    @T.function
    def kernel(A: T.Tensor(shape, dtype, align=16), B: T.Tensor(target or shape, dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(columns, rows), block=threads))
        i, j = T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1]
        t = T.tile_load(A, shape=tile, offset=(i, j + shift)) * 2
        if add:
            T.tile_atomic_add(B, t, offset=(i, j))
        else:
            T.tile_store(B, t, offset=(i, j))

    return kernel


def stores(kernel) -> dict[str, int]:
    """Stores to global memory by opcode."""
    found = wide(ptxspec.compile(kernel, target="sm_90").ptx)
    return {opcode: n for opcode, n in found.items() if opcode.startswith("st.global")}


@pytest.mark.parametrize(("shape", "dtype", "words", "opcode"), [
    ((8, 64), "float32", 4, "st.global.v4.b32"), ((8, 63), "float32", 1, "st.global.b32"),
    ((8, 66), "float32", 2, "st.global.v2.b32"), ((8, 63), "float16", 1, "st.global.b16"),
    ((8, 68), "float16", 4, "st.global.v2.b32"), ((8, 61), "uint8", 1, "st.global.b8")])
def test_tiles_are_dealt_out_as_the_written_array_takes_them(shape, dtype, words, opcode) -> None:
    """Neighbouring threads write neighbouring places, whatever the pitch."""
    told = []
    tile = (4, 32)

    @T.function
    def kernel(A: T.Tensor(shape, dtype, align=16), B: T.Tensor(shape, dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(-(-shape[1] // 32), 2), block=32))
        at = (T.cuda.block_idx("y") * 4, T.cuda.block_idx("x") * 32)
        t = T.tile_load(A, shape=tile, offset=at)
        told.append(t.width)
        T.tile_store(B, t * 2, offset=at)

    exe = ptxspec.compile(kernel, target="sm_90")
    assert told[-1] == words
    assert opcode in stores(kernel)
    a, b = np.random.default_rng(0).integers(1, 60, shape).astype(DTYPES[dtype]), np.zeros(shape, DTYPES[dtype])
    exe(a, b)
    np.testing.assert_array_equal(b, a * DTYPES[dtype](2))


def test_reads_alone_narrow_nothing() -> None:
    """Elements that one thread reads after another are in its cache; a stencil keeps whole vectors for its stores."""
    assert "st.global.v4.b32" in stores(doubled((8, 64), (4, 32), shift=1))
    assert "st.global.v4.b32" in stores(doubled((8, 63), (4, 32), target=(8, 64)))
    assert "st.global.v4.b32" not in stores(doubled((8, 64), (4, 32), target=(8, 63)))


def test_all_tiles_of_a_shape_combine_in_registers() -> None:
    """Made tiles, loaded ones, and tiles of another type: no shared memory, no barrier."""
    @T.function
    def kernel(A: T.Tensor((2, 4, 63), "float32", align=16), H: T.Tensor((4, 64), "float16", align=16),
               B: T.Tensor((4, 63), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32))
        j = T.cuda.block_idx("x") * 32
        first, second = [T.tile_load(A.sub[k, :, :], shape=(4, 32), offset=(0, j)) for k in (0, 1)]
        half = T.tile_load(H, shape=(4, 32), offset=(0, j)).astype("float32")
        T.tile_store(B, T.tile_ones((4, 32)) + first + second + half, offset=(0, j))

    exe = ptxspec.compile(kernel, target="sm_90")
    assert ".shared" not in exe.ptx
    assert "bar." not in exe.ptx
    rng = np.random.default_rng(1)
    a, h = rng.integers(0, 9, (2, 4, 63)).astype(np.float32), rng.integers(0, 9, (4, 64)).astype(np.float16)
    b = np.zeros((4, 63), np.float32)
    exe(a, h, b)
    np.testing.assert_array_equal(b, 1 + a.sum(0) + h[:, :63])


def test_the_note_says_why() -> None:
    notes = doubled((8, 64), (4, 32), target=(8, 63)).kernel().notes
    assert any("`A` goes by ld.global.b32, 4 bytes an access" in n and
               "dealt out element by element, as an array that one is written to takes them" in n for n in notes)


def test_additions_count_as_writes() -> None:
    found = wide(ptxspec.compile(doubled((8, 63), (4, 32), target=(8, 63), add=True), target="sm_90").ptx)
    assert "ld.global.v4.b32" not in found
    b = np.ones((8, 63), np.float32)
    a = np.arange(8 * 63, dtype=np.float32).reshape(8, 63)
    ptxspec.compile(doubled((8, 63), (4, 32), add=True), target="sm_90")(a, b)
    np.testing.assert_array_equal(b, 1 + 2 * a)


def test_a_second_reading_that_is_refused_leaves_the_first() -> None:
    """The first reading is right as it is; only the layout of what it says differs."""
    readings = []

    @T.function
    def kernel(A: T.Tensor((8, 63), "float32", align=16), B: T.Tensor((8, 63), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(4, 32))
        readings.append(t.width)
        if t.width == 1:
            T.tile_load(A, shape=(1,))      # a tile of one dimension of an array of two
        T.tile_store(B, t * 2)

    assert "st.global.b32" in stores(kernel)
    assert readings == [4, 1]
