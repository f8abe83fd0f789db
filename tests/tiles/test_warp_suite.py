"""The situations of Warp's own tile load and store tests, with their stated results."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ptxspec.compat import warp as wp

M, N, O, P = 16, 8, 8, 6
OFFSET = 5
KINDS = {1: wp.array1d, 2: wp.array2d, 3: wp.array3d, 4: wp.array4d}


def ramp(shape, dtype=np.float32):
    """1, 2, 3, ... in ``shape``."""
    return np.arange(1, int(np.prod(shape)) + 1).astype(dtype).reshape(shape)


def test_the_documents_example_prints_its_matrix(tmp_path) -> None:
    """Only the import line differs from the document."""
    program = tmp_path / "copy_tiles.py"
    program.write_text('''import numpy as np
from ptxspec.compat import warp as wp
TILE_M, TILE_N = 4, 4
TILE_THREADS = 8

@wp.kernel
def copy_tiles(a: wp.array2d[float], b: wp.array2d[float]):
    i, j = wp.tid()
    # The rightmost tiles extend past the array bounds; those elements read as zero
    t = wp.tile_load(a, shape=(TILE_M, TILE_N), offset=(i * TILE_M, j * TILE_N))
    wp.tile_store(b, t, offset=(i * TILE_M, j * TILE_N))

a = wp.array(np.arange(1, 21, dtype=np.float32).reshape(4, 5), dtype=float)
b = wp.zeros((4, 8), dtype=float)
wp.launch_tiled(copy_tiles, dim=(1, 2), inputs=[a], outputs=[b], block_dim=TILE_THREADS)
print(b.numpy())
''')
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.stdout == ("[[ 1.  2.  3.  4.  5.  0.  0.  0.]\n [ 6.  7.  8.  9. 10.  0.  0.  0.]\n"
                           " [11. 12. 13. 14. 15.  0.  0.  0.]\n [16. 17. 18. 19. 20.  0.  0.  0.]]\n"), done.stderr


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_load_full_padded_and_sliced(rank) -> None:
    """load_1d to load_4d."""
    shape = (M, N, O, P)[:rank]
    zero = (0,) * (rank - 1)
    kind = KINDS[rank][float]

    @wp.kernel
    def load(a: kind, out_full: kind, out_padded: kind, sliced: kind, out_sliced: kind, out_offset: kind):
        full0 = wp.tile_load(a, shape)
        full1 = wp.tile_load(a, shape=shape, offset=(0, *zero))
        padded0 = wp.tile_load(a, shape, (OFFSET, *zero))
        padded1 = wp.tile_load(a, shape=shape, offset=(OFFSET, *zero))
        sliced0 = wp.tile_load(sliced, shape)
        wp.tile_store(out_full, full0)
        wp.tile_store(out_full, full1, offset=(0, *zero))
        wp.tile_store(out_padded, padded0, (0, *zero))
        wp.tile_store(out_padded, padded1)
        wp.tile_store(out_sliced, sliced0)
        wp.tile_store(out_offset, full0, offset=(OFFSET, *zero))

    a = wp.array(ramp(shape), dtype=float)
    outs = [wp.zeros(shape) for _ in range(4)]
    wp.launch_tiled(load, dim=1, inputs=[a, outs[0], outs[1], a[::2], outs[2], outs[3]], block_dim=64)
    values, (full, padded, sliced, offset) = a.numpy(), [o.numpy() for o in outs]
    np.testing.assert_array_equal(full, values)
    np.testing.assert_array_equal(padded[:M - OFFSET], values[OFFSET:])
    assert not padded[M - OFFSET:].any()
    np.testing.assert_array_equal(sliced[:M // 2], values[::2])
    assert not sliced[M // 2:].any()
    np.testing.assert_array_equal(offset[OFFSET:], values[:M - OFFSET])
    assert not offset[:OFFSET].any()


def test_scalar_shape_and_offset_in_one_dimension() -> None:
    @wp.kernel
    def load(a: wp.array[float], b: wp.array[float]):
        wp.tile_store(b, wp.tile_load(a, shape=M, offset=OFFSET), offset=0)

    a, b = wp.array(ramp(M), dtype=float), wp.zeros(M)
    wp.launch_tiled(load, dim=[1], inputs=[a, b], block_dim=64)
    np.testing.assert_array_equal(b.numpy(), [*a.numpy()[OFFSET:], *[0] * OFFSET])


@pytest.mark.parametrize("shape", [(17,), (17, 17), (17, 7, 5)])
@pytest.mark.parametrize("storage", ["shared", "register"])
def test_odd_sizes_full_and_sliced(shape, storage) -> None:
    """load_*_sliced_scalar and store_*_sliced_scalar."""
    kind = KINDS[len(shape)][float]

    @wp.kernel
    def both(a: kind, b: kind):
        wp.tile_store(b, wp.tile_load(a, shape=shape, storage=storage))

    a = wp.array(ramp(shape), dtype=float)
    b = wp.zeros(shape)
    wp.launch_tiled(both, dim=1, inputs=[a, b], block_dim=64)
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    b = wp.zeros(shape)
    wp.launch_tiled(both, dim=1, inputs=[a[::2], b], block_dim=64)
    np.testing.assert_array_equal(b.numpy()[:9], a.numpy()[::2])
    assert not b.numpy()[9:].any()
    wide = wp.zeros((2 * shape[0], *shape[1:]))
    wp.launch_tiled(both, dim=1, inputs=[a, wide[::2]], block_dim=64)
    np.testing.assert_array_equal(wide.numpy()[::2], a.numpy())
    assert not wide.numpy()[1::2].any()


@pytest.mark.parametrize(("array", "tile", "offset"), [
    ((17, 9), (16, 8), (1, 1)),       # load_unaligned
    ((16, 8), (3, 3), (0, 0)),        # load_aligned_small: 12-byte rows
    ((8, 16), (5, 5), (0, 8)),        # load_aligned_offset_unaligned_size
    ((5, 5), (4, 4), (0, 0)),         # load_stride_unaligned: 20-byte rows
])
@pytest.mark.parametrize("storage", ["shared", "register"])
def test_windows(array, tile, offset, storage) -> None:
    @wp.kernel
    def window(a: wp.array2d[float], b: wp.array2d[float]):
        t = wp.tile_load(a, shape=tile, offset=offset, storage=storage)
        wp.tile_store(b, t, offset=offset)

    a, b = wp.array(ramp(array), dtype=float), wp.zeros(array)
    wp.launch_tiled(window, dim=1, inputs=[a, b], block_dim=64)
    expected = np.zeros(array, np.float32)
    inside = tuple(slice(o, o + t) for o, t in zip(offset, tile, strict=True))
    expected[inside] = a.numpy()[inside]
    np.testing.assert_array_equal(b.numpy(), expected)


@wp.kernel
def copy_2d(a: wp.array2d[float], b: wp.array2d[float]):
    i, j = wp.tid()
    wp.tile_store(b, wp.tile_load(a, shape=(16, 8), offset=(i * 16, j * 8)), offset=(i * 16, j * 8))


def test_copies_of_row_major_and_column_major_arrays() -> None:
    """copy_2d and load_fortran: 7 x 5 tiles."""
    a, b = wp.array(ramp((112, 40)), dtype=float), wp.zeros((112, 40))
    wp.launch_tiled(copy_2d, dim=(7, 5), inputs=[a, b], block_dim=64)
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    fortran, out = wp.array(ramp((40, 112)), dtype=float).transpose(), wp.zeros((40, 112)).transpose()
    wp.launch_tiled(copy_2d, dim=(7, 5), inputs=[fortran, out], block_dim=64)
    np.testing.assert_array_equal(out.numpy(), fortran.numpy())
    newest = list(copy_2d.variants.values())[-1]
    assert "ld.global.v4.b32" in newest.ptx, "unit stride on the first axis is as good as on the last"


def test_a_transpose_through_differently_ordered_arrays() -> None:
    a, b = wp.array(ramp((112, 40)), dtype=float), wp.zeros((40, 112))
    wp.launch_tiled(copy_2d, dim=(7, 5), inputs=[a, b.transpose()], block_dim=64)
    np.testing.assert_array_equal(b.numpy(), a.numpy().T)


def test_loads_inside_functions() -> None:
    """load_scoped: a shared tile in a function, then another."""
    @wp.func
    def first(a: wp.array2d[float], b: wp.array2d[float]):
        t = wp.tile_load(a, shape=(32, 32), storage="shared")
        wp.tile_store(b, t)

    @wp.kernel
    def scoped(a: wp.array2d[float], b: wp.array2d[float], c: wp.array2d[float]):
        first(a, b)
        t = wp.tile_load(a, shape=(32, 32), storage="shared")
        wp.tile_store(c, t)

    a, b, c = wp.array(ramp((32, 32)), dtype=float), wp.zeros((32, 32)), wp.zeros((32, 32))
    wp.launch_tiled(scoped, dim=1, inputs=[a, b, c], block_dim=64)
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    np.testing.assert_array_equal(c.numpy(), a.numpy())


def test_aligned_tiles() -> None:
    """aligned_param_2d: the claim is proved and costs nothing."""
    @wp.kernel
    def copy(a: wp.array2d[float], b: wp.array2d[float]):
        i, j = wp.tid()
        t = wp.tile_load(a, shape=(32, 32), offset=(i * 32, j * 32), storage="shared", aligned=True)
        wp.tile_store(b, t, offset=(i * 32, j * 32), aligned=True)

    a, b = wp.array(ramp((128, 128)), dtype=float), wp.zeros((128, 128))
    wp.launch_tiled(copy, dim=(4, 4), inputs=[a, b], block_dim=128)
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    assert "bra" not in next(iter(copy.variants.values())).ptx


def test_a_partial_outer_dimension_reads_as_zero() -> None:
    """partial_outer_dim."""
    @wp.kernel
    def copy(a: wp.array2d[float], b: wp.array2d[float]):
        i = wp.tid()
        t = wp.tile_load(a, shape=(32, 32), offset=(i * 32, 0), storage="shared")
        wp.tile_store(b, t, offset=(i * 32, 0))

    a, b = wp.array(ramp((50, 32)), dtype=float), wp.full((64, 32), 7.0)
    wp.launch_tiled(copy, dim=2, inputs=[a, b], block_dim=128)
    np.testing.assert_array_equal(b.numpy()[:50], a.numpy())
    assert not b.numpy()[50:].any()


@pytest.mark.parametrize(("dtype", "inner", "array", "tile"), [
    (wp.vec3, (3,), (16, 16), (4, 8)), (wp.mat33, (3, 3), (64,), (16,)), (float, (), (8, 8, 16), (4, 4, 8)),
    (wp.mat44, (4, 4), (64,), (16,))])
@pytest.mark.parametrize("storage", ["shared", "register"])
def test_vectors_matrices_and_three_dimensions_go_in_whole_vectors(dtype, inner, array, tile, storage) -> None:
    """vec3_vectorized, 3d_shared_vectorized, coalesced_mat33 and mat44."""
    kind = KINDS[len(array)][dtype]
    blocks = tuple(n // t for n, t in zip(array, tile, strict=True))

    @wp.kernel
    def one(a: kind, b: kind):
        i = wp.tid()
        wp.tile_store(b, wp.tile_load(a, shape=tile, offset=(i * tile[0],), storage=storage), offset=(i * tile[0],))

    @wp.kernel
    def two(a: kind, b: kind):
        i, j = wp.tid()
        at = (i * tile[0], j * tile[1])
        wp.tile_store(b, wp.tile_load(a, shape=tile, offset=at, storage=storage), offset=at)

    @wp.kernel
    def three(a: kind, b: kind):
        i, j, k = wp.tid()
        at = (i * tile[0], j * tile[1], k * tile[2])
        wp.tile_store(b, wp.tile_load(a, shape=tile, offset=at, storage=storage), offset=at)

    copy = (one, two, three)[len(array) - 1]
    a, b = wp.array(ramp((*array, *inner)), dtype=dtype), wp.zeros(array, dtype=dtype)
    wp.launch_tiled(copy, dim=blocks, inputs=[a, b], block_dim=128)
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    ptx = next(iter(copy.variants.values())).ptx
    assert "ld.global.v4.b32" in ptx
    assert "st.global.v4.b32" in ptx


@pytest.mark.parametrize("storage", ["shared", "register"])
def test_load_indexed_rows_and_columns(storage) -> None:
    """load_indexed: even rows, even columns."""
    @wp.kernel
    def compute(x: wp.array2d[float], y: wp.array2d[float], z: wp.array2d[float], rows: wp.array[int],
                columns: wp.array[int]):
        picked = wp.tile_load(rows, shape=M)
        wp.tile_store(y, wp.tile_load_indexed(x, indices=picked, shape=(M, N), axis=0, storage=storage))
        across = wp.tile_load(columns, shape=N // 2)
        wp.tile_store(z, wp.tile_load_indexed(x, indices=across, shape=(M, N // 2), axis=1, storage=storage))

    x = wp.array(ramp((2 * M, N)), dtype=float)
    y, z = wp.zeros((M, N)), wp.zeros((M, N // 2))
    wp.launch_tiled(compute, dim=1, inputs=[x, y, z, wp.array(np.arange(M) * 2, dtype=int),
                                            wp.array(np.arange(N // 2) * 2, dtype=int)], block_dim=32)
    np.testing.assert_array_equal(y.numpy(), x.numpy()[::2])
    np.testing.assert_array_equal(z.numpy(), x.numpy()[:M, ::2])


@pytest.mark.parametrize("storage", ["shared", "register"])
def test_load_indexed_outside_reads_zero(storage) -> None:
    """load_indexed_oob: the row before the view holds 999 and is never seen."""
    @wp.kernel
    def compute(x: wp.array2d[float], indices: wp.array[int], y: wp.array2d[float]):
        picked = wp.tile_load(indices, shape=4)
        wp.tile_store(y, wp.tile_load_indexed(x, indices=picked, shape=(4, 4), axis=0, storage=storage))

    memory = np.vstack([np.full((1, 4), 999, np.float32), ramp((4, 4))])
    y = wp.zeros((4, 4))
    wp.launch_tiled(compute, dim=1, inputs=[wp.array(memory, dtype=float)[1:], wp.array([0, -1, 2, 4], dtype=int), y],
                    block_dim=32)
    expected = np.zeros((4, 4), np.float32)
    expected[[0, 2]] = memory[[1, 3]]
    np.testing.assert_array_equal(y.numpy(), expected)


def test_atomic_add_indexed_accumulates() -> None:
    """atomic_add_indexed: all rows of each tile to index 1 of it."""
    @wp.kernel
    def compute(x: wp.array2d[float], ones: wp.array[int], y: wp.array2d[float]):
        i = wp.tid()
        t = wp.tile_load(x, shape=(M, N), offset=(i * M, 0))
        wp.tile_atomic_add_indexed(y, indices=wp.tile_load(ones, shape=M), t=t, offset=(i * M, 0), axis=0)

    x, y = wp.array(ramp((2 * M, N)), dtype=float), wp.zeros((2 * M, N))
    wp.launch_tiled(compute, dim=2, inputs=[x, wp.ones(M, dtype=int), y], block_dim=32)
    expected = np.zeros((2 * M, N), np.float32)
    expected[1], expected[M + 1] = x.numpy()[:M].sum(0), x.numpy()[M:].sum(0)
    np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("shape", [(512,), (16, 32), (4, 8, 16), (4, 4, 4, 8)])
@pytest.mark.parametrize("storage", ["shared", "register"])
def test_extract(shape, storage) -> None:
    """test_tile_load_extract: every thread writes one element of the tile."""
    kind = KINDS[len(shape)][float]

    @wp.kernel
    def extract(a: kind, b: kind):
        _, thread = wp.tid()
        t = wp.tile_load(a, shape=shape, storage=storage)
        at = []
        rest = thread
        for extent in reversed(shape):
            at = [rest % extent, *at]
            rest = rest // extent
        b[tuple(at)] = t[tuple(at)]

    a, b = wp.array(ramp(shape), dtype=float), wp.zeros(shape)
    wp.launch_tiled(extract, dim=1, inputs=[a, b], block_dim=512)
    np.testing.assert_array_equal(b.numpy(), a.numpy())


def test_atomic_addition_of_overlapping_tiles() -> None:
    @wp.kernel
    def add(a: wp.array2d[float], b: wp.array2d[float]):
        i, j = wp.tid()
        wp.tile_atomic_add(b, wp.tile_load(a, shape=(8, 8), offset=(i * 4, j * 4)), offset=(i * 4, j * 4))

    a, b = wp.array(ramp((16, 16)), dtype=float), wp.zeros((16, 16))
    wp.launch_tiled(add, dim=(4, 4), inputs=[a, b], block_dim=32)
    expected = np.zeros((16, 16), np.float32)
    for i, j in np.ndindex(4, 4):
        window = np.s_[4 * i:4 * i + 8, 4 * j:4 * j + 8]
        expected[window] += a.numpy()[window]
    np.testing.assert_array_equal(b.numpy(), expected)
