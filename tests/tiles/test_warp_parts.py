"""Parts of tiles, rows of arrays, threads' values as tiles, elements scattered by threads."""

from __future__ import annotations

import numpy as np
import pytest
from warp_cases import run

import ptxspec
from ptxspec.compat import warp as wp

N = 24
STORAGE = pytest.mark.parametrize("storage", ["register", "shared"])


def floats(seed: int, *shape: int, **more):
    return wp.array(np.random.default_rng(seed).standard_normal(shape).astype(np.float32), dtype=float, **more)


def refused(kernel, *arguments, block: int = 32) -> str:
    with pytest.raises(ptxspec.PtxspecError) as caught:
        run(kernel, *arguments, block=block)
    return caught.value.diagnostics[0].code


# --- rows and parts

@STORAGE
def test_rows_of_arrays_and_tiles(storage) -> None:
    @wp.kernel
    def k(a: wp.array3d[float], b: wp.array2d[float], c: wp.array[float]):
        i, lane = wp.tid()
        t = wp.tile_load(a[i + 1], shape=(4, N), storage=storage)
        wp.tile_store(b[0], t[2])
        wp.tile_store(b[-1], t[-1])
        wp.tile_store(b[1], t[1:, 3:][0], offset=3)
        if lane < N:
            c[lane] = a[0][1][lane] + t[3][lane]

    a, b, c = floats(1, 2, 4, N), wp.zeros((3, N)), wp.zeros(N)
    run(k, a, b, c)
    x = a.numpy()[1]
    np.testing.assert_array_equal(b.numpy()[[0, 2]], x[[2, 3]])
    np.testing.assert_array_equal(b.numpy()[1], np.r_[np.zeros(3, np.float32), x[1, 3:]])
    np.testing.assert_array_equal(c.numpy(), a.numpy()[0, 1] + x[3])


@STORAGE
@pytest.mark.parametrize("block", [8, 32])
def test_a_tile_is_copied_into_another(storage, block) -> None:
    @wp.kernel
    def k(a: wp.array2d[float], b: wp.array2d[float], at: int):
        _, lane = wp.tid()
        t = wp.tile_full(shape=(6, 8), value=-1.0, dtype=float, storage=storage)
        wp.tile_assign(t, wp.tile_load(a, shape=(2, 3), storage=storage), offset=(1, 2))
        t[4:6, 1:4] = wp.tile_load(a, shape=(2, 3)) * 2.0
        t[0] = wp.tile_arange(8, dtype=float)
        if at >= 0 and at < 4 and lane == 0:
            t[at, 7] = 5.0
        wp.tile_store(b, t)

    a, b = floats(2, 2, 3), wp.zeros((6, 8))
    run(k, a, b, 3, block=block)
    expected = np.full((6, 8), -1, np.float32)
    expected[1:3, 2:5], expected[4:6, 1:4], expected[0], expected[3, 7] = a.numpy(), 2 * a.numpy(), np.arange(8), 5
    np.testing.assert_array_equal(b.numpy(), expected)


def test_overlapping_parts_are_copied_as_if_at_once() -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float]):
        t = wp.tile_load(a, shape=N)
        t[1:] = t[:-1]
        wp.tile_store(b, t)

    a, b = floats(3, N), wp.zeros(N)
    run(k, a, b, block=4)
    np.testing.assert_array_equal(b.numpy(), np.r_[a.numpy()[:1], a.numpy()[:-1]])


def test_elements_are_converted_and_other_types_assigned() -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[int], c: wp.array[float]):
        t = wp.tile_load(a, shape=4)
        u = wp.tile_astype(t, dtype=wp.int32)
        wp.tile_store(b, u)
        wp.tile_assign(t, u)
        wp.tile_store(c, t)

    a, b, c = wp.array([-1.7, -0.5, 0.5, 2.7], dtype=float), wp.zeros(4, dtype=int), wp.zeros(4)
    run(k, a, b, c)
    assert b.numpy().tolist() == [-1, 0, 0, 2] == c.numpy().tolist()


def test_formulas_are_stored_added_and_scattered() -> None:
    @wp.kernel
    def k(a: wp.array[int], b: wp.array[int], c: wp.array[float]):
        wp.tile_store(a, wp.tile_arange(9, 0, -3, dtype=int), offset=4)
        wp.tile_atomic_add(b, wp.tile_arange(4, dtype=int))
        wp.tile_store_indexed(b, wp.tile_arange(7, 3, -1, dtype=int), wp.tile_arange(4, dtype=int) * 2)
        wp.tile_store(c, wp.tile_arange(1.0, 5.0, 1.0, dtype=float))

    a, b, c = wp.zeros(7, dtype=int), wp.ones(8, dtype=int), wp.zeros(4)
    run(k, a, b, c)
    assert a.numpy().tolist() == [0, 0, 0, 0, 9, 6, 3]
    assert b.numpy().tolist() == [1, 2, 3, 4, 6, 4, 2, 0]
    assert c.numpy().tolist() == [1, 2, 3, 4]


def test_axpy_and_the_diagonal() -> None:
    @wp.kernel
    def k(a: wp.array2d[float], d: wp.array[float], b: wp.array2d[float]):
        t = wp.tile_load(a, shape=(8, 8))
        wp.tile_axpy(2.0, wp.tile_load(b, shape=(8, 8)), t)
        wp.tile_store(b, wp.tile_diag_add(t, wp.tile_load(d, shape=8)))

    a, d, b = floats(4, 8, 8), floats(5, 8), floats(6, 8, 8)
    expected = a.numpy() + np.float32(2) * b.numpy() + np.diag(d.numpy())
    run(k, a, d, b)
    np.testing.assert_array_equal(b.numpy(), expected)


@STORAGE
def test_single_elements_are_extracted(storage) -> None:
    @wp.kernel
    def k(a: wp.array2d[float], out: wp.array[float]):
        block, lane = wp.tid()
        t = wp.tile_load(a, shape=(4, 5), storage=storage)
        value = wp.tile_extract(t, 1, block + 1)
        if lane == 0:
            out[block] = value

    a, out = floats(7, 4, 5), wp.zeros(4)
    wp.launch_tiled(k, dim=4, inputs=[a], outputs=[out], block_dim=4)
    np.testing.assert_array_equal(out.numpy(), a.numpy()[1, 1:])


@STORAGE
def test_rows_picked_by_indices(storage) -> None:
    """Indices below zero count from the end; those outside give zeros."""
    @wp.kernel
    def k(a: wp.array2d[float], listed: wp.array[int], rows: wp.array2d[float], columns: wp.array2d[float]):
        t = wp.tile_load(a, shape=(4, 8), storage=storage)
        i = wp.tile_load(listed, shape=5)
        wp.tile_store(rows, t[i, :])
        wp.tile_store(columns, wp.tile_slice_indexed(t, (slice(None), wp.tile_arange(1, 8, 2, dtype=int))))

    a, listed = floats(8, 4, 8), wp.array([3, 0, -1, 7, -5], dtype=int)
    rows, columns = wp.zeros((5, 8)), wp.zeros((4, 4))
    run(k, a, listed, rows, columns)
    x = a.numpy()
    np.testing.assert_array_equal(rows.numpy(), np.stack([x[3], x[0], x[3], 0 * x[0], 0 * x[0]]))
    np.testing.assert_array_equal(columns.numpy(), x[:, 1::2])


# --- threads

@STORAGE
@pytest.mark.parametrize("thread", [0, 5, 31])
def test_the_value_of_one_thread(storage, thread) -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float], c: wp.array[int], which: int):
        _, lane = wp.tid()
        wp.tile_store(b, wp.tile_from_thread(shape=N, value=a[lane], thread_idx=thread, storage=storage))
        wp.tile_store(c, wp.tile_from_thread(N, lane * 2, which % 32, storage))

    a, b, c = floats(9, 32), wp.zeros(N), wp.zeros(N, dtype=int)
    run(k, a, b, c, thread)
    assert (b.numpy() == a.numpy()[thread]).all() and (c.numpy() == 2 * thread).all()


def test_no_thread_of_the_block() -> None:
    def kernel(index):
        @wp.kernel
        def k(a: wp.array[float]):
            _, lane = wp.tid()
            wp.tile_store(a, wp.tile_from_thread(shape=N, value=float(lane), thread_idx=index))
        return k

    @wp.kernel
    def anything(a: wp.array[float], index: int):
        _, lane = wp.tid()
        wp.tile_store(a, wp.tile_from_thread(shape=N, value=float(lane), thread_idx=index))

    for index in (-1, 32, 1.5, True):
        assert refused(kernel(index), wp.zeros(N)) == "K231"
    assert refused(anything, wp.zeros(N), 3).startswith("P")     # a thread of which nothing is known


@pytest.mark.parametrize("block", [8, 64])
def test_all_threads_values_make_a_tile(block) -> None:
    @wp.kernel
    def k(out: wp.array[int], back: wp.array[int]):
        i = wp.tid()
        t = wp.tile(i * 2)
        wp.tile_store(out, t)
        u = t * 3 + wp.tile_arange(wp.static(block), dtype=int)
        back[i] = wp.untile(u)

    out, back = wp.zeros(block, dtype=int), wp.zeros(block, dtype=int)
    wp.launch(k, dim=block, outputs=[out, back], block_dim=block)
    np.testing.assert_array_equal(out.numpy(), 2 * np.arange(block))
    np.testing.assert_array_equal(back.numpy(), 7 * np.arange(block))


def test_threads_write_and_add_to_elements() -> None:
    @wp.kernel
    def reverse(src: wp.array[int], dst: wp.array[int]):
        _, i = wp.tid()
        t = wp.tile_zeros(shape=8, dtype=int)
        wp.tile_scatter_masked(t, 7 - i, src[i], i != 3)
        wp.tile_store(dst, t)

    @wp.kernel
    def histogram(data: wp.array[float], bins_out: wp.array[float], squares: wp.array2d[int]):
        _, i = wp.tid()
        bins = wp.tile_zeros(shape=4, dtype=float, storage="shared")
        b = int(data[i] / 2.0)
        wp.tile_scatter_add(bins, b, 1.0, b >= 0 and b < 4)
        wp.tile_store(bins_out, bins)
        t = wp.tile_ones(shape=(2, 4), dtype=int)
        wp.tile_scatter_add(t, i // 4, i % 4, i * i, True, atomic=False)
        wp.tile_store(squares, t)

    src, dst = wp.array(np.arange(1, 9), dtype=int), wp.zeros(8, dtype=int)
    run(reverse, src, dst, block=8)
    assert dst.numpy().tolist() == [8, 7, 6, 5, 0, 3, 2, 1]
    data, bins, squares = wp.array([0.5, 2, 3, 4, 4.5, 5.5, 6, 17]), wp.zeros(4), wp.zeros((2, 4), dtype=int)
    run(histogram, data, bins, squares, block=8)
    assert bins.numpy().tolist() == [1, 2, 3, 1]
    np.testing.assert_array_equal(squares.numpy().ravel(), 1 + np.arange(8) ** 2)


def test_races_and_places_outside_are_refused() -> None:
    @wp.kernel
    def same(dst: wp.array[int]):
        _, i = wp.tid()
        t = wp.tile_zeros(shape=8, dtype=int)
        wp.tile_scatter_masked(t, i // 2, i, True)
        wp.tile_store(dst, t)

    @wp.kernel
    def unatomic(dst: wp.array[int]):
        _, i = wp.tid()
        t = wp.tile_zeros(shape=8, dtype=int)
        wp.tile_scatter_add(t, i // 2, i, True, atomic=False)
        wp.tile_store(dst, t)

    @wp.kernel
    def atomic(dst: wp.array[int]):
        _, i = wp.tid()
        t = wp.tile_zeros(shape=8, dtype=int)
        wp.tile_scatter_add(t, i // 2, i, True)
        wp.tile_store(dst, t)

    @wp.kernel
    def outside(dst: wp.array[int]):
        _, i = wp.tid()
        t = wp.tile_zeros(shape=8, dtype=int)
        wp.tile_scatter_masked(t, i + 1, i, True)
        wp.tile_store(dst, t)

    dst = wp.zeros(8, dtype=int)
    assert refused(same, dst, block=8) == "P107"
    assert refused(unatomic, dst, block=8) == "P107"
    assert refused(outside, dst, block=8) == "P103"
    run(atomic, dst, block=8)
    assert dst.numpy().tolist() == [1, 5, 9, 13, 0, 0, 0, 0]


# --- bad input and gradients

def test_what_does_not_fit_is_refused() -> None:
    def kernel(body):
        @wp.kernel
        def k(a: wp.array2d[float]):
            _, i = wp.tid()
            body(wp.tile_load(a, shape=(4, 8)), i)
        return k

    def assign_shape(t, i):
        t[0:2] = t[1:4]

    def assign_number(t, i):
        t[0:2] = 1.0

    def too_far(t, i):
        wp.tile_assign(t, t[0:2], offset=(3, 0))

    def offsets(t, i):
        wp.tile_assign(t, t[0:2], offset=(1,))

    def no_tile(t, i):
        wp.tile_assign(t, 3.0)

    def kind(t, i):
        wp.tile_astype(t, wp.vec3)

    def axpy(t, i):
        wp.tile_axpy(t, t, t)

    def square(t, i):
        wp.tile_diag_add(t, t[0])

    def thread_count(t, i):
        wp.untile(t[0])

    def indices(t, i):
        wp.tile_slice_indexed(t, (wp.tile_arange(3, dtype=float),))

    def both_indices(t, i):
        wp.tile_slice_indexed(t, (wp.tile_arange(3, dtype=int), wp.tile_arange(3, dtype=int)))

    def scatter_count(t, i):
        wp.tile_scatter_masked(t, i, 1.0, True)

    def scatter_index(t, i):
        wp.tile_scatter_masked(t, 1.0, 2, 1.0, True)

    def scatter_flag(t, i):
        wp.tile_scatter_add(t, 0, i % 8, 1.0, True, atomic=3)

    def scatter_text(t, i):
        wp.tile_scatter_add(t, 0, i % 8, "x", True)

    def thread_text(t, i):
        wp.tile_from_thread(8, "x", 0)

    def tile_text(t, i):
        wp.tile("x")

    def extract(t, i):
        wp.tile_extract(t, i % 4, 0, 0)

    for body, code in ((assign_shape, "K234"), (assign_number, "K230"), (too_far, "P103"), (offsets, "K231"),
                       (no_tile, "K230"), (kind, "K230"), (axpy, "K230"), (square, "K234"), (thread_count, "K231"),
                       (indices, "K236"), (both_indices, "K236"), (scatter_count, "K207"), (scatter_index, "K141"),
                       (scatter_flag, "K232"), (scatter_text, "K243"),
                       (thread_text, "K243"), (tile_text, "K243"), (extract, "K140")):
        assert refused(kernel(body), floats(10, 4, 8)) == code, body.__name__


def test_parts_and_single_elements_have_no_gradient() -> None:
    def kernel(body):
        @wp.kernel
        def k(a: wp.array[float], b: wp.array[float]):
            _, i = wp.tid()
            t = wp.tile_load(a, shape=32)
            body(t, i)
            wp.tile_store(b, t)
        return k

    def part(t, i):
        t[1:3] = t[4:6]

    def assigned(t, i):
        wp.tile_assign(t, wp.tile_zeros(shape=3, dtype=float))

    def scattered(t, i):
        wp.tile_scatter_masked(t, i, 1.0, True)

    def own(t, i):
        wp.untile(t)

    for body in (part, assigned, scattered, own):
        a, b = floats(11, 32, requires_grad=True), wp.zeros(32, requires_grad=True)
        with wp.Tape() as tape:
            run(kernel(body), a, b)
        with pytest.raises(ptxspec.PtxspecError) as caught:
            tape.backward(grads={b: floats(12, 32)})
        assert caught.value.code == "K240", body.__name__


def test_constants_of_threads_leave_gradients_alone() -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float]):
        _, i = wp.tid()
        t = wp.tile_load(a, shape=32)
        wp.tile_store(b, wp.tile_astype(t, wp.float32) * 2.0 + wp.tile_from_thread(32, float(i), 3) + wp.tile(float(i)))

    a, b = floats(13, 32, requires_grad=True), wp.zeros(32, requires_grad=True)
    with wp.Tape() as tape:
        run(k, a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy() * 2 + 3 + np.arange(32, dtype=np.float32))
    tape.backward(grads={b: wp.ones(32)})
    assert (a.grad.numpy() == 2).all()
