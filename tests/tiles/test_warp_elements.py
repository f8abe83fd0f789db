"""Warp's own situations beyond whole-tile copies: element assignment, views, functions, indices made in the kernel,
storage, and addresses past 2**31 bytes."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ptxspec
from ptxspec.compat import warp as wp

M, N = 16, 8
KINDS = {1: wp.array1d, 2: wp.array2d, 3: wp.array3d, 4: wp.array4d}


def random(*shape, **more):
    """An array of random floats."""
    return wp.array(np.random.default_rng(42).random(shape, dtype=np.float32), dtype=float, **more)


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_assigned_elements_are_read_back(rank, storage) -> None:
    """tile_assign_1d to 4d: t[i..] = 2 * in, out = t[i..], in a plain launch of blocks of 1024."""
    shape = (4,) * rank
    kind = KINDS[rank][float]

    @wp.kernel
    def one(a: kind, b: kind):
        i = wp.tid()
        t = wp.tile_zeros(shape=shape, dtype=float, storage=storage)
        t[i] = a[i] * 2.0
        b[i] = t[i]

    @wp.kernel
    def many(a: kind, b: kind):
        at = wp.tid()
        t = wp.tile_zeros(shape=shape, dtype=float, storage=storage)
        t[at] = a[at] * 2.0
        b[at] = t[at]

    @wp.kernel
    def two(a: kind, b: kind):
        i, j = wp.tid()
        t = wp.tile_zeros(shape=shape, dtype=float, storage=storage)
        t[i, j] = a[i, j] * 2.0
        b[i, j] = t[i, j]

    @wp.kernel
    def three(a: kind, b: kind):
        i, j, k = wp.tid()
        t = wp.tile_zeros(shape=shape, dtype=float, storage=storage)
        t[i, j, k] = a[i, j, k] * 2.0
        b[i, j, k] = t[i, j, k]

    @wp.kernel
    def four(a: kind, b: kind):
        i, j, k, l = wp.tid()
        t = wp.tile_zeros(shape=shape, dtype=float, storage=storage)
        t[i, j, k, l] = a[i, j, k, l] * 2.0
        b[i, j, k, l] = t[i, j, k, l]

    a, b = random(*shape), wp.zeros(shape)
    wp.launch((one, two, three, four)[rank - 1], dim=shape, inputs=[a, b], block_dim=1024)
    np.testing.assert_array_equal(b.numpy(), 2 * a.numpy())


def test_components_are_assigned_and_the_rest_stays_zero() -> None:
    """component_assign_then_store."""
    @wp.kernel
    def assign(vectors: wp.array[wp.vec3], matrices: wp.array[wp.mat33]):
        i = wp.tid()
        v = wp.tile_zeros(shape=(M,), dtype=wp.vec3)
        m = wp.tile_zeros(shape=(M,), dtype=wp.mat33)
        v[i][1] = 17.0 + float(i)
        m[i][1, 1] = 17.0 + float(i)
        wp.tile_store(vectors, v)
        wp.tile_store(matrices, m)

    vectors, matrices = wp.full(M, -1.0, dtype=wp.vec3), wp.full(M, -1.0, dtype=wp.mat33)
    wp.launch(assign, dim=M, inputs=[], outputs=[vectors, matrices], block_dim=M)
    expected = np.zeros((M, 3), np.float32)
    expected[:, 1] = 17 + np.arange(M)
    np.testing.assert_array_equal(vectors.numpy(), expected)
    square = np.zeros((M, 3, 3), np.float32)
    square[:, 1, 1] = 17 + np.arange(M)
    np.testing.assert_array_equal(matrices.numpy(), square)


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_transpose_reshape_squeeze(storage) -> None:
    @wp.kernel
    def transpose(a: wp.array2d[float], b: wp.array2d[float]):
        wp.tile_store(b, wp.tile_transpose(wp.tile_load(a, shape=(M, N), storage=storage)))

    @wp.kernel
    def reshape(a: wp.array2d[float], b: wp.array2d[float]):
        t = wp.tile_reshape(wp.tile_load(a, shape=(M, N), storage=storage), shape=(wp.static(M * N), 1))
        wp.tile_store(b, wp.tile_reshape(t, shape=(-1, 1)))

    @wp.kernel
    def squeeze(a: wp.array3d[float], b: wp.array[float]):
        t = wp.tile_squeeze(wp.tile_load(a, shape=(1, M, 1), storage=storage), axis=(-1,))
        wp.tile_store(b, wp.tile_squeeze(t), offset=(0,))

    a = random(M, N)
    for kernel, shape, expected in ((transpose, (N, M), a.numpy().T), (reshape, (M * N, 1), a.numpy().reshape(-1, 1))):
        b = wp.zeros(shape)
        wp.launch_tiled(kernel, dim=[1], inputs=[a, b], block_dim=32)
        np.testing.assert_array_equal(b.numpy(), expected)
    a, b = random(1, M, 1), wp.zeros(M)
    wp.launch_tiled(squeeze, dim=1, inputs=[a, b], block_dim=32)
    np.testing.assert_array_equal(b.numpy(), a.numpy().ravel())


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize(("one", "other"), [((10,), (1,)), ((10, 10), (10,)), ((4, 10, 12), (4, 10, 1)),
                                            ((4, 10, 5, 6), (4, 1, 5, 1))])
def test_broadcast_and_add(one, other, storage) -> None:
    """broadcast_add_1d to 4d."""
    kind, small = KINDS[len(one)][float], KINDS[len(other)][float]

    @wp.kernel
    def add(a: kind, b: small, out: kind):
        x, y = wp.tile_load(a, shape=one, storage=storage), wp.tile_load(b, shape=other, storage=storage)
        wp.tile_store(out, x + wp.tile_broadcast(y, shape=one))

    a, b, out = random(*one), random(*other), wp.zeros(one)
    wp.launch_tiled(add, dim=[1], inputs=[a, b, out], block_dim=64)
    np.testing.assert_array_equal(out.numpy(), a.numpy() + b.numpy())


def test_a_window_of_a_shared_tile_is_stored_by_its_own_rows() -> None:
    """view_non_dense_store."""
    @wp.kernel
    def window(a: wp.array2d[float], b: wp.array2d[float], c: wp.array[float]):
        t = wp.tile_load(a, shape=(M, N), storage="shared")
        wp.tile_store(b, wp.tile_view(t, offset=(0, 0), shape=(M, 4)))
        wp.tile_store(c, wp.tile_view(t, offset=(3,)))

    a, b, c = random(M, N), wp.zeros((M, 4)), wp.zeros(N)
    wp.launch_tiled(window, dim=[1], inputs=[a, b, c], block_dim=32)
    np.testing.assert_array_equal(b.numpy(), a.numpy()[:, :4])
    np.testing.assert_array_equal(c.numpy(), a.numpy()[3])


@wp.func
def scale(t: wp.tile[float, M, N]):
    return t * 2.0


@wp.func
def passed(t: wp.tile[float, M, N]):
    return t


@wp.func
def added(a: wp.tile[float, M, N], b: wp.tile[float, M, N]):
    return a + b


def test_tiles_pass_through_functions() -> None:
    """Register and shared tiles as arguments and results, nested calls, mixed storage."""
    @wp.kernel
    def compute(a: wp.array2d[float], b: wp.array2d[float], out: wp.array3d[float]):
        s = wp.tile_load(a, shape=(M, N), storage="shared")
        r = wp.tile_load(b, shape=(M, N))
        for k, t in enumerate([scale(s), scale(r), passed(s), passed(r), passed(scale(s)), added(s, r), added(r, s)]):
            wp.tile_store(out, wp.tile_reshape(t, shape=(1, M, N)), offset=(k, 0, 0))

    a, b, out = random(M, N), wp.ones((M, N)), wp.zeros((7, M, N))
    wp.launch_tiled(compute, dim=[1], inputs=[a, b, out], block_dim=32)
    x, y = a.numpy(), b.numpy()
    np.testing.assert_array_equal(out.numpy(), np.stack([2 * x, 2 * y, x, y, 2 * x, x + y, x + y]))


@pytest.mark.parametrize("select", range(4))
def test_selection_across_storage(select) -> None:
    """A branch on a launch value picks a register or a shared tile."""
    @wp.kernel
    def choose(which: int, x: wp.array[float], y: wp.array[float], z: wp.array[float]):
        a, b = wp.tile_load(x, shape=M), wp.tile_load(y, shape=M)
        c, d = wp.tile_load(x, shape=M, storage="shared"), wp.tile_load(y, shape=M, storage="shared")
        if which == 0:
            wp.tile_store(z, a)
        elif which == 1:
            wp.tile_store(z, b)
        elif which == 2:
            wp.tile_store(z, c)
        else:
            wp.tile_store(z, d)

    z = wp.zeros(M)
    wp.launch_tiled(choose, dim=[1], inputs=[select, wp.full(M, 1.0), wp.full(M, 2.0), z], block_dim=32)
    np.testing.assert_array_equal(z.numpy(), np.full(M, 1 + select % 2, np.float32))


def test_scattered_rows_and_columns_by_computed_indices() -> None:
    """store_indexed: to odd rows and columns; the indices are formulas, so the proof knows that they differ."""
    @wp.kernel
    def scatter(x: wp.array2d[float], y: wp.array2d[float], z: wp.array2d[float]):
        i, j = wp.tid()
        t = wp.tile_load(x, shape=(M, N), offset=(i * M, j * N))
        rows = wp.tile_arange(M, dtype=int, storage="shared") * 2 + 1
        wp.tile_store_indexed(y, indices=rows, t=t, offset=(i * 2 * M, j * N), axis=0)
        columns = wp.tile_arange(N, dtype=int, storage="shared") * 2 + 1
        wp.tile_store_indexed(z, indices=columns, t=t, offset=(i * M, j * 2 * N), axis=1)

    x = wp.array(np.arange(512).reshape(32, 16), dtype=float, requires_grad=True)
    y, z = wp.zeros((64, 16), requires_grad=True), wp.zeros((32, 32), requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(scatter, dim=[2, 2], inputs=[x], outputs=[y, z], block_dim=32)
    tape.backward(grads={y: wp.ones((64, 16)), z: wp.ones((32, 32))})
    for found, taken in ((y.numpy(), np.s_[1::2]), (z.numpy(), np.s_[:, 1::2])):
        expected = np.zeros_like(found)
        expected[taken] = x.numpy()
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(x.grad.numpy(), np.full((32, 16), 2, np.float32))


def test_equal_computed_indices_are_refused() -> None:
    @wp.kernel
    def scatter(x: wp.array2d[float], y: wp.array2d[float]):
        t = wp.tile_load(x, shape=(M, N))
        wp.tile_store_indexed(y, indices=wp.tile_arange(M, dtype=int) // 2, t=t)

    with pytest.raises(ptxspec.ProofError) as caught:
        wp.launch_tiled(scatter, dim=1, inputs=[random(M, N), wp.zeros((M, N))], block_dim=32)
    assert {d.code for d in caught.value.diagnostics} == {"P107"}


def test_gathered_by_indices_under_other_coordinates() -> None:
    """load_indexed_non_owning: the index tile is reshaped first."""
    @wp.kernel
    def gather(a: wp.array[float], b: wp.array[float], c: wp.array[float], listed: wp.array2d[int]):
        even = wp.tile_arange(0, M, 2, dtype=int)
        wp.tile_store(b, wp.tile_load_indexed(a, indices=even, shape=(M // 2,), storage="shared"))
        picked = wp.tile_reshape(wp.tile_load(listed, shape=(2, M // 4), storage="shared"), shape=(M // 2,))
        wp.tile_store(c, wp.tile_load_indexed(a, indices=picked, shape=(M // 2,), axis=0))

    a, b, c = random(M), wp.zeros(M // 2), wp.zeros(M // 2)
    wp.launch_tiled(gather, dim=1, inputs=[a, b, c, wp.array((np.arange(M // 2) * 2).reshape(2, -1), dtype=int)],
                    block_dim=32)
    np.testing.assert_array_equal(b.numpy(), a.numpy()[::2])
    np.testing.assert_array_equal(c.numpy(), a.numpy()[::2])


def test_shared_tiles_of_12_bytes_in_a_loop_do_not_pile_up() -> None:
    """shared_non_aligned: calls of a function with two small shared tiles; three tiles of 12 bytes, 16 each at most."""
    @wp.func
    def foo():
        a = wp.tile_ones(shape=(1, 3), dtype=float, storage="shared") * 2.0
        b = wp.tile_ones(shape=(1, 3), dtype=float, storage="shared") * 3.0
        return a + b

    @wp.kernel
    def compute(out: wp.array2d[float], many: int):
        for _ in range(many):
            foo()
        wp.tile_store(out, wp.tile_ones(shape=(1, 3), dtype=float, storage="shared"))

    out = wp.zeros((1, 3))
    wp.launch_tiled(compute, dim=[1], inputs=[out, 16], block_dim=64)
    np.testing.assert_array_equal(out.numpy(), np.ones((1, 3)))
    assert shared_bytes(next(iter(compute.variants.values())).ptx) <= 48


def shared_bytes(ptx: str) -> int:
    """Bytes of shared memory that a module declares."""
    return sum(int(n) for n in re.findall(r"\.shared [^;]*\[(\d+)\];", ptx))


@pytest.mark.parametrize(("shape", "size"), [((32, 32), 8192), ((64, 128), 65536)])
def test_shared_tiles_take_the_sum_of_their_sizes_at_most(shape, size) -> None:
    """mem_size: two shared tiles of ones; supports_64_kib: sizes past the 48 KiB of static memory are said plainly."""
    @wp.kernel
    def compute(out: wp.array2d[float]):
        a = wp.tile_ones(shape=shape, dtype=float, storage="shared")
        b = wp.tile_ones(shape=shape, dtype=float, storage="shared") * 2.0
        wp.tile_store(out, a + b)

    out = wp.zeros(shape)
    wp.launch_tiled(compute, dim=[1], inputs=[out], block_dim=256)
    np.testing.assert_array_equal(out.numpy(), np.full(shape, 3, np.float32))
    assert shared_bytes(next(iter(compute.variants.values())).ptx) <= size


def test_large_tiles_take_dynamic_shared_memory_up_to_what_the_target_has() -> None:
    """Past 48 KiB by itself: rows are padded too. Past the target's memory: refused with the sizes."""
    @wp.kernel
    def transpose(a: wp.array2d[float], b: wp.array2d[float], c: wp.array2d[float]):
        wp.tile_store(b, wp.tile_transpose(wp.tile_load(a, shape=(128, 128), storage="shared")))

    @wp.kernel
    def too_large(a: wp.array2d[float], b: wp.array2d[float], c: wp.array2d[float]):
        wp.tile_store(c, wp.tile_transpose(wp.tile_load(a, shape=(256, 256), storage="shared")))

    a, b, c = random(256, 256), wp.zeros((128, 128)), wp.zeros((256, 256))
    wp.launch_tiled(transpose, dim=1, inputs=[a, b, c], block_dim=128)
    np.testing.assert_array_equal(b.numpy(), a.numpy()[:128, :128].T)
    with pytest.raises(ptxspec.ProofError) as caught:
        wp.launch_tiled(too_large, dim=1, inputs=[a, b, c], block_dim=128)
    assert {d.code for d in caught.value.diagnostics} == {"P111"}
    assert "262144 bytes of shared memory are more than the 232448" in str(caught.value)


def test_an_array_past_two_to_the_31_bytes() -> None:
    """large_offsets: loads and stores at and beyond byte 2**31; the sentinel at byte 0 stays."""
    memory = np.zeros((1 << 31) + (64 << 20), np.uint8)      # never touched as a whole
    memory[0] = 11
    step, rows = 4096, (1 << 31) // 4096
    column = memory[:(rows + 3) * step].reshape(-1, step)[:, 0]
    column[rows:rows + 3] = [22, 33, 99]

    @wp.kernel
    def load(src: wp.array[wp.uint8], dst: wp.array[wp.uint8], offset: int):
        wp.tile_store(dst, wp.tile_load(src, shape=3, offset=offset, storage="shared"))

    @wp.kernel
    def store(src: wp.array[wp.uint8], dst: wp.array[wp.uint8], offset: int):
        wp.tile_store(dst, wp.tile_load(src, shape=3), offset=offset)

    @wp.kernel
    def wide(src: wp.array2d[float], dst: wp.array2d[float], row: int, to: int):
        wp.tile_store(dst, wp.tile_load(src, shape=(1, 4), offset=(row, 0)), offset=(to, 0))

    far, out = wp.array(column, dtype=wp.uint8, copy=False), wp.zeros(3, dtype=wp.uint8)
    wp.launch_tiled(load, dim=1, inputs=[far, out, rows], block_dim=32)
    np.testing.assert_array_equal(out.numpy(), [22, 33, 99])
    wp.launch_tiled(store, dim=1, inputs=[wp.array([1, 2, 3], dtype=wp.uint8), far, rows], block_dim=32)
    np.testing.assert_array_equal(column[rows:rows + 3], [1, 2, 3])
    floats = memory.view(np.float32).reshape(-1, 4)
    row = ((1 << 31) + (32 << 20)) // 16
    floats[row] = [1.25, 2.5, 3.75, 5.0]
    far = wp.array(floats, dtype=float, copy=False)
    near = wp.zeros((1, 4))
    wp.launch_tiled(wide, dim=1, inputs=[far, near, row, 0], block_dim=32)
    wp.launch_tiled(wide, dim=1, inputs=[near, far, 0, row + 1], block_dim=32)
    np.testing.assert_array_equal(near.numpy()[0], [1.25, 2.5, 3.75, 5.0])
    np.testing.assert_array_equal(floats[row + 1], [1.25, 2.5, 3.75, 5.0])
    assert memory[0] == 11
    assert not memory[1:64].any()
