"""What Warp's own tests leave out: both ends of each axis, odd strides, odd blocks, false claims, exact bits."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ptxspec
from ptxspec.compat import warp as wp


def window(rank: int = 1, tile=(8,), storage: str = "register", dtype: object = float, **claims: bool):
    """A kernel that loads at one offset and stores at another."""
    kind = (wp.array1d, wp.array2d)[rank - 1][dtype]

    @wp.kernel
    def one(a: kind, b: kind, source: int, target: int):
        t = wp.tile_load(a, shape=tile, offset=(source,), storage=storage, **claims)
        wp.tile_store(b, t, offset=(target,))

    @wp.kernel
    def two(a: kind, b: kind, row: int, column: int, to_row: int, to_column: int):
        t = wp.tile_load(a, shape=tile, offset=(row, column), storage=storage, **claims)
        wp.tile_store(b, t, offset=(to_row, to_column))

    return (one, two)[rank - 1]


def accesses(kernel: wp.Kernel) -> set[str]:
    """Memory instructions of the newest variant."""
    return set(re.findall(r"\b(?:ld|st)\.(?:global|shared)\.\S+", list(kernel.variants.values())[-1].ptx))


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize(("offset", "expected"), [
    (-3, [0, 0, 0, 108, 109, 110, 111, 112]), (5, [113, 114, 115, 0, 0, 0, 0, 0]), (8, [0] * 8), (20, [0] * 8),
    (-8, [0] * 8), (-2**31, [0] * 8), (2**31 - 1, [0] * 8)])
def test_loads_read_zero_at_both_ends(offset, expected, storage) -> None:
    """An 8-element view in the middle of a buffer: nothing of the buffer around it is seen."""
    memory = np.arange(100, 132, dtype=np.float32)
    b = wp.full(8, -1.0)
    wp.launch_tiled(window(storage=storage), dim=1, block_dim=32,
                    inputs=[wp.array(memory, dtype=float, copy=False)[8:16], b, offset, 0])
    np.testing.assert_array_equal(b.numpy(), np.array(expected, np.float32))


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("offset", [-3, 5, 8, -8, 2**31 - 1, -2**31])
def test_stores_write_nothing_outside(offset, storage) -> None:
    memory = np.full(32, 7, np.float32)
    a = wp.array(np.arange(1, 9), dtype=float)
    wp.launch_tiled(window(storage=storage), dim=1, block_dim=32,
                    inputs=[a, wp.array(memory, dtype=float, copy=False)[8:16], 0, offset])
    expected = np.full(32, 7, np.float32)
    for k in range(8):
        if 0 <= offset + k < 8:
            expected[8 + offset + k] = k + 1
    np.testing.assert_array_equal(memory, expected)


def test_a_negative_column_does_not_wrap_to_the_row_before() -> None:
    a, b = wp.array(np.arange(30).reshape(5, 6), dtype=float), wp.full((4, 4), -1.0)
    wp.launch_tiled(window(2, (4, 4)), dim=1, block_dim=32, inputs=[a, b, 1, -1, 0, 0])
    expected = np.zeros((4, 4), np.float32)
    expected[:, 1:] = a.numpy()[1:5, :3]
    np.testing.assert_array_equal(b.numpy(), expected)


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_vec3_with_a_stride_of_20_bytes(storage) -> None:
    """Rows start at 0, 5, 10, 15."""
    memory = np.arange(20, dtype=np.float32)
    strided = np.lib.stride_tricks.as_strided(memory, (4, 3), (20, 4))
    a, b = wp.array(strided, dtype=wp.vec3, copy=False), wp.zeros(4, dtype=wp.vec3)
    wp.launch_tiled(window(tile=(4,), storage=storage, dtype=wp.vec3), dim=1, block_dim=32, inputs=[a, b, 0, 0])
    np.testing.assert_array_equal(b.numpy(), strided)


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_a_padded_pitch_of_16_byte_multiples_stays_wide(storage) -> None:
    memory = np.arange(16 * 20, dtype=np.float32).reshape(16, 20)
    a, b = wp.array(memory, dtype=float, copy=False)[:, :16], wp.zeros((16, 16))
    copy = window(2, (16, 16), storage)
    wp.launch_tiled(copy, dim=1, block_dim=64, inputs=[a, b, 0, 0, 0, 0])
    np.testing.assert_array_equal(b.numpy(), memory[:, :16])
    fixed = wp.kernel(_fixed)
    wp.launch_tiled(fixed, dim=1, block_dim=64, inputs=[a, wp.zeros((16, 16))])
    assert accesses(fixed) == {"ld.global.v4.b32", "st.global.v4.b32"}


def _fixed(a: wp.array2d[float], b: wp.array2d[float]):
    wp.tile_store(b, wp.tile_load(a, shape=(16, 16)))


def test_a_pitch_of_20_bytes_is_not_taken_for_aligned() -> None:
    memory = np.arange(16 * 5, dtype=np.float32).reshape(16, 5)
    a, b = wp.array(memory, dtype=float, copy=False)[:, :4], wp.zeros((16, 16))
    copy = wp.kernel(_corner)
    wp.launch_tiled(copy, dim=1, block_dim=64, inputs=[a, b])
    np.testing.assert_array_equal(b.numpy()[:, :4], memory[:, :4])
    assert "ld.global.v4.b32" not in accesses(copy)


def _corner(a: wp.array2d[float], b: wp.array2d[float]):
    wp.tile_store(b, wp.tile_load(a, shape=(16, 4)))


@pytest.mark.parametrize("dtype", [wp.uint8, wp.float16, wp.bfloat16, wp.float32, wp.float64, wp.int16, wp.int64])
@pytest.mark.parametrize("block", [32, 96, 7, 256])
@pytest.mark.parametrize("storage", ["register", "shared"])
def test_every_type_and_block_size_to_the_bit(dtype, block, storage) -> None:
    """NaN payloads and -0.0 pass unchanged; blocks that exceed the tile or do not divide it are fine."""
    empty = wp.zeros((9, 16), dtype=dtype).numpy()
    a = empty.copy()
    a.view(np.uint8)[...] = np.random.default_rng(7).integers(0, 256, a.view(np.uint8).shape)
    b = empty.copy()
    copy, expected = window(2, (4, 16), storage, dtype), empty.copy()
    for at in ((3, 0, 2, 0), (7, -4, -1, 9)):
        wp.launch_tiled(copy, dim=1, block_dim=block,
                        inputs=[wp.array(a, dtype=dtype, copy=False), wp.array(b, dtype=dtype, copy=False), *at])
        for i, j in np.ndindex(4, 16):
            x, y, p, q = at[0] + i, at[1] + j, at[2] + i, at[3] + j
            if 0 <= p < 9 and 0 <= q < 16:
                expected[p, q] = a[x, y] if 0 <= x < 9 and 0 <= y < 16 else 0
        np.testing.assert_array_equal(b.view(np.uint8), expected.view(np.uint8))


@pytest.mark.parametrize(("claims", "code"), [({"aligned": True}, "P101"), ({"bounds_check": False}, "P103")])
def test_false_claims_are_refused(claims, code) -> None:
    """A runtime offset may be anything, so neither claim can be proved."""
    with pytest.raises(ptxspec.ProofError) as caught:
        wp.launch_tiled(window(2, (4, 4), **claims), dim=1, block_dim=32,
                        inputs=[wp.zeros((8, 8)), wp.zeros((8, 8)), 0, 0, 0, 0])
    assert code in {d.code for d in caught.value.diagnostics}


def test_a_misaligned_base_under_aligned_is_refused() -> None:
    """Warp traps on the GPU, and on the CPU ignores the flag."""
    @wp.kernel
    def copy(a: wp.array2d[float], b: wp.array2d[float]):
        wp.tile_store(b, wp.tile_load(a, shape=(4, 4), storage="shared", aligned=True))

    memory = np.zeros(80, np.float32)
    start = -(memory.ctypes.data // 4) % 4          # the first 16-byte boundary
    good = wp.array(memory[start:start + 64].reshape(16, 4), dtype=float, copy=False)
    wp.launch_tiled(copy, dim=1, block_dim=32, inputs=[good, wp.zeros((4, 4))])
    bad = wp.array(memory[start + 1:start + 65].reshape(16, 4), dtype=float, copy=False)
    with pytest.raises(ptxspec.ProofError) as caught:
        wp.launch_tiled(copy, dim=1, block_dim=32, inputs=[bad, wp.zeros((4, 4))])
    assert "P101" in {d.code for d in caught.value.diagnostics}


def test_overlapping_tiles_may_be_read_and_not_written() -> None:
    @wp.kernel
    def read(a: wp.array[float], b: wp.array[float]):
        i = wp.tid()
        wp.tile_store(b, wp.tile_load(a, shape=8, offset=i * 4), offset=i * 8)

    @wp.kernel
    def write(a: wp.array[float], b: wp.array[float]):
        i = wp.tid()
        wp.tile_store(b, wp.tile_load(a, shape=8, offset=i * 8), offset=i * 4)

    a, b = wp.array(np.arange(32), dtype=float), wp.zeros(32)
    wp.launch_tiled(read, dim=4, block_dim=32, inputs=[a, b])
    np.testing.assert_array_equal(b.numpy(), np.concatenate([np.arange(4 * i, 4 * i + 8) for i in range(4)]))
    with pytest.raises(ptxspec.ProofError) as caught:
        wp.launch_tiled(write, dim=4, block_dim=32, inputs=[a, b])
    assert {d.code for d in caught.value.diagnostics} == {"P107"}


def test_arrays_without_elements() -> None:
    b = wp.full((8, 8), 3.0)
    wp.launch_tiled(window(2, (4, 8)), dim=1, block_dim=32, inputs=[wp.zeros((0, 8)), b, 0, 0, 2, 0])
    expected = np.full((8, 8), 3, np.float32)
    expected[2:6] = 0
    np.testing.assert_array_equal(b.numpy(), expected)
    wp.launch_tiled(window(2, (4, 8)), dim=1, block_dim=32, inputs=[b, wp.zeros((8, 0)), 0, 0, 0, 0])
    wp.launch_tiled(window(2, (4, 8)), dim=0, block_dim=32, inputs=[b, b, 0, 0, 0, 0])


def test_store_then_load_needs_a_barrier() -> None:
    """Warp leaves this to the user, silently; here it is refused, unless each thread reads what it wrote itself."""
    @wp.kernel
    def shifted(a: wp.array[float], b: wp.array[float], c: wp.array[float]):
        wp.tile_store(b, wp.tile_load(a, shape=256))
        wp.tile_store(c, wp.tile_load(b, shape=128, offset=4))

    @wp.kernel
    def same(a: wp.array[float], b: wp.array[float], c: wp.array[float]):
        wp.tile_store(b, wp.tile_load(a, shape=256))
        wp.tile_store(c, wp.tile_load(b, shape=256))

    arrays = [wp.array(np.arange(256), dtype=float), wp.zeros(256), wp.zeros(256)]
    with pytest.raises(ptxspec.ProofError) as caught:
        wp.launch_tiled(shifted, dim=1, block_dim=32, inputs=arrays)
    assert {d.code for d in caught.value.diagnostics} == {"P107"}
    wp.launch_tiled(same, dim=1, block_dim=32, inputs=arrays)
    np.testing.assert_array_equal(arrays[2].numpy(), arrays[0].numpy())


def test_broadcast_and_reversed_arrays() -> None:
    row = np.arange(16, dtype=np.float32)
    spread = np.broadcast_to(row, (8, 16))
    b = wp.zeros((8, 16))
    wp.launch_tiled(wp.kernel(_rows), dim=1, block_dim=32, inputs=[wp.array(spread, dtype=float, copy=False), b])
    np.testing.assert_array_equal(b.numpy(), spread)
    a = wp.array(np.arange(128).reshape(8, 16), dtype=float)
    wp.launch_tiled(wp.kernel(_rows), dim=1, block_dim=32, inputs=[a[::-1], b])
    np.testing.assert_array_equal(b.numpy(), a.numpy()[::-1])
    wp.launch_tiled(wp.kernel(_rows), dim=1, block_dim=32, inputs=[a[:, ::-1], b])
    np.testing.assert_array_equal(b.numpy(), a.numpy()[:, ::-1])


def _rows(a: wp.array2d[float], b: wp.array2d[float]):
    wp.tile_store(b, wp.tile_load(a, shape=(8, 16)))


def test_launch_arguments_are_checked() -> None:
    copy = wp.kernel(_rows)
    for arguments in ([wp.zeros((8, 16))], [wp.zeros(8), wp.zeros((8, 16))], [3, wp.zeros((8, 16))],
                      [wp.zeros((8, 16), dtype=wp.float64), wp.zeros((8, 16))]):
        with pytest.raises(ptxspec.PtxspecError) as caught:
            wp.launch_tiled(copy, dim=1, block_dim=32, inputs=arguments)
        assert caught.value.code == "R331"
    with pytest.raises(ptxspec.PtxspecError) as caught:
        wp.launch_tiled(window(), dim=(1, 1), block_dim=32, inputs=[wp.zeros(8), wp.zeros(8), 0, 0], outputs=[3])
    assert caught.value.code == "R331"
