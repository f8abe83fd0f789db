"""Names bound again in branches and loops, tiles changed in place, functions that return early."""

# ruff: noqa: UP018, RUF046 - kernels declare their variables so
from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec.compat import warp as wp

N = 48


@wp.func
def relu(x: float):
    if x > 0.0:
        return x
    return 0.0


@wp.func
def graded(x: float):
    if x < -1.0:
        return -1.0
    elif x < 0.0:
        y = x * 2.0
        return y
    z = x * 3.0
    if z > 1.5:
        return 1.5
    return z


@wp.func
def changed(x: float, n: int):
    for k in range(n):
        x = x + float(k)
    if x > 2.0:
        x *= 0.5
    return x


def floats(seed: int, *shape: int, **more):
    values = np.random.default_rng(seed).standard_normal(shape or N).astype(np.float32)
    return wp.array(values, dtype=float, **more)


def test_numbers_change_in_branches_and_loops() -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float], n: int):
        i = wp.tid()
        total = float(0.0)
        count = int(0)
        big = False
        for j in range(n):
            x = a[j]
            if x > total:
                count += 1
                total = total + x
            else:
                total -= x * 0.5
            big = total > 3.0
        if big:
            total = -total
        b[i] = total + float(count)

    for n in (0, 1, 7):
        a, b = floats(1), wp.zeros(N)
        with pytest.raises(ptxspec.PtxspecError):       # the loop may read past the array
            wp.launch(k, dim=N, inputs=[a, b, n], block_dim=32)

    @wp.kernel
    def guarded(a: wp.array[float], b: wp.array[float], n: int):
        i = wp.tid()
        total = float(0.0)
        count = int(0)
        big = False
        for j in range(wp.min(n, N)):
            x = a[j]
            if x > total:
                count += 1
                total = total + x
            else:
                total -= x * 0.5
            big = total > 3.0
        if big:
            total = -total
        b[i] = total + float(count)

    for n in (0, 1, 7, 30):
        a, b = floats(1), wp.zeros(N)
        wp.launch(guarded, dim=N, inputs=[a, b, n], block_dim=32)
        total, count, big = np.float32(0), 0, False
        for x in a.numpy()[:n]:
            if x > total:
                count, total = count + 1, total + x
            else:
                total -= x * np.float32(0.5)
            big = total > 3
        assert b.numpy()[0] == np.float32(-total if big else total) + np.float32(count)


def test_one_threads_value_for_the_block() -> None:
    """The example of tile_from_thread: thread 0 reads, all others have zero."""
    @wp.kernel
    def scale_block(scales: wp.array[float], out: wp.array[float]):
        block, lane = wp.tid()
        s = float(0.0)
        if lane == 0:
            s = scales[block]
        scale = wp.tile_from_thread(shape=(4,), value=s, thread_idx=0)
        t = wp.tile_arange(4, dtype=float)
        wp.tile_store(out, scale * t, offset=(block * 4,))

    scales, out = wp.array([1.0, 10.0], dtype=float), wp.zeros(8, dtype=float)
    for block in (2, 64):
        wp.launch_tiled(scale_block, dim=[2], inputs=[scales], outputs=[out], block_dim=block)
        np.testing.assert_array_equal(out.numpy(), [0, 1, 2, 3, 0, 10, 20, 30])


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("block", [16, 32, 64])
def test_tiles_add_up_in_a_loop(storage, block) -> None:
    @wp.kernel
    def k(a: wp.array2d[float], b: wp.array[float]):
        i = wp.tid()
        total = wp.tile_zeros(shape=N, dtype=float, storage=storage)
        for row in range(5):
            total += wp.tile_load(a[row], shape=N, storage=storage)
            total *= 2.0
        total -= 1.0
        wp.tile_store(b, total)

    a, b = floats(2, 5, N), wp.zeros(N)
    wp.launch_tiled(k, dim=1, inputs=[a, b], block_dim=block)
    expected = np.zeros(N, np.float32)
    for row in a.numpy():
        expected = (expected + row) * np.float32(2)
    np.testing.assert_array_equal(b.numpy(), expected - np.float32(1))


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_a_tile_is_bound_again_in_a_loop(storage) -> None:
    """What no other name can see is overwritten; a tile with two names is refused."""
    @wp.kernel
    def k(a: wp.array2d[float], b: wp.array[float]):
        t = wp.tile_zeros(shape=N, dtype=float, storage=storage)
        for row in range(4):
            t = t * 2.0 + wp.tile_load(a[row], shape=N)
            if row == 2:
                t = wp.tile_load(a[0], shape=N, storage=storage)
        wp.tile_store(b, t)

    @wp.kernel
    def named_twice(a: wp.array2d[float], b: wp.array[float]):
        t = wp.tile_zeros(shape=N, dtype=float, storage=storage)
        u = t
        for row in range(4):
            t = t * 2.0 + wp.tile_load(a[row], shape=N)
        wp.tile_store(b, u)

    a, b = floats(2, 4, N), wp.zeros(N)
    wp.launch_tiled(k, dim=1, inputs=[a, b], block_dim=32)
    np.testing.assert_array_equal(b.numpy(), a.numpy()[0] * np.float32(2) + a.numpy()[3])
    with pytest.raises(ptxspec.PtxspecError) as caught:
        wp.launch_tiled(named_twice, dim=1, inputs=[a, b], block_dim=32)
    assert caught.value.code == "K201"


def test_a_changed_tile_is_changed_for_its_views_and_elements() -> None:
    @wp.kernel
    def k(a: wp.array2d[float], b: wp.array2d[float], c: wp.array[float]):
        _, lane = wp.tid()
        t = wp.tile_load(a, shape=(8, 8))
        v = wp.tile_transpose(t)
        t += 1.0
        wp.tile_store(b, v)
        c[lane] = t[lane // 8, lane % 8]
        t += t
        c[lane + 64] = t[lane // 8, lane % 8]

    a, b, c = floats(3, 8, 8), wp.zeros((8, 8)), wp.zeros(128)
    wp.launch_tiled(k, dim=1, inputs=[a, b, c], block_dim=64)
    np.testing.assert_array_equal(b.numpy(), a.numpy().T + 1)
    np.testing.assert_array_equal(c.numpy(), np.concatenate([(a.numpy() + 1).ravel(), (a.numpy() + 1).ravel() * 2]))


def test_functions_return_early() -> None:
    @wp.kernel
    def k(a: wp.array[float], b: wp.array2d[float]):
        t = wp.tile_load(a, shape=N)
        wp.tile_store(b[0], wp.tile_map(relu, t))
        wp.tile_store(b[1], wp.tile_map(graded, t))
        wp.tile_store(b[2], wp.tile_map(changed, t, 3))

    a, b = floats(4), wp.zeros((3, N))
    wp.launch_tiled(k, dim=1, inputs=[a, b], block_dim=32)
    x = a.numpy()
    f = np.float32
    np.testing.assert_array_equal(b.numpy()[0], np.maximum(x, 0))
    np.testing.assert_array_equal(b.numpy()[1], np.where(x < -1, f(-1), np.where(
        x < 0, x * f(2), np.minimum(x * f(3), f(1.5)))))
    y = x + f(0) + f(1) + f(2)
    np.testing.assert_array_equal(b.numpy()[2], np.where(y > 2, y * f(0.5), y))


def test_gradients_of_tiles_changed_in_place() -> None:
    @wp.kernel
    def k(a: wp.array2d[float], b: wp.array[float], c: wp.array[float]):
        total = wp.tile_zeros(shape=N, dtype=float)
        for row in range(3):
            total *= 2.0
            total += wp.tile_load(a[row], shape=N)
        wp.tile_store(c, total)
        total -= wp.tile_load(b, shape=N)
        total /= 4.0
        wp.tile_axpy(3.0, wp.tile_load(b, shape=N), total)
        wp.tile_atomic_add(c, total)

    @wp.kernel
    def unused(a: wp.array2d[float], b: wp.array[float], c: wp.array[float]):
        total = wp.tile_load(a[1], shape=N)
        wp.tile_store(c, total)
        total += wp.tile_load(b, shape=N)

    a, b, c = floats(5, 3, N, requires_grad=True), floats(6, requires_grad=True), wp.zeros(N, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(k, dim=1, inputs=[a, b, c], block_dim=32)
    x = a.numpy()
    total = (x[0] * 2 + x[1]) * 2 + x[2]
    np.testing.assert_allclose(c.numpy(), total + (total - b.numpy()) / 4 + 3 * b.numpy(), rtol=1e-5)
    g = np.arange(N, dtype=np.float32)
    tape.backward(grads={c: wp.array(g)})
    np.testing.assert_array_equal(a.grad.numpy(), np.array([4, 2, 1], np.float32)[:, None] * (g + g / 4))
    np.testing.assert_array_equal(b.grad.numpy(), -g / 4 + 3 * g)

    a, b, c = floats(5, 3, N, requires_grad=True), floats(6, requires_grad=True), wp.zeros(N, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(unused, dim=1, inputs=[a, b, c], block_dim=32)
    tape.backward(grads={c: wp.array(g)})
    np.testing.assert_array_equal(a.grad.numpy()[1], g)
    assert not b.grad.numpy().any()


def test_a_tile_with_views_is_not_changed_in_an_adjoint() -> None:
    """Forwards the view shows the change; backwards its gradient would come too late for what was added."""
    @wp.kernel
    def k(a: wp.array2d[float], b: wp.array2d[float]):
        t = wp.tile_load(a, shape=(4, 8))
        v = wp.tile_transpose(t)
        t += 1.0
        wp.tile_store(b, v)

    @wp.kernel
    def through_the_view(a: wp.array2d[float], b: wp.array2d[float]):
        t = wp.tile_load(a, shape=(4, 8))
        v = wp.tile_transpose(t)
        wp.tile_axpy(2.0, wp.tile_load(a, shape=(8, 4)), v)
        wp.tile_store(b, wp.tile_transpose(t))

    for kernel in (k, through_the_view):
        a, b = floats(10, 8, 8, requires_grad=True), wp.zeros((8, 4), requires_grad=True)
        with wp.Tape() as tape:
            wp.launch_tiled(kernel, dim=1, inputs=[a, b], block_dim=32)
        x = a.numpy()
        more = np.float32(1) if kernel is k else np.float32(2) * x[:, :4]
        np.testing.assert_array_equal(b.numpy(), x[:4].T + more)
        with pytest.raises(ptxspec.PtxspecError) as caught:
            tape.backward(grads={b: wp.ones((8, 4))})
        assert caught.value.code == "K240"


def test_registers_used_in_a_loop_inside_are_not_left_behind() -> None:
    """The tile is in use in shared memory, and its registers are read in an inner loop: K242 rather than old values."""
    @wp.kernel
    def k(a: wp.array[float], b: wp.array[float]):
        t, u = wp.tile_load(a, shape=N), wp.tile_zeros(shape=N, dtype=float, storage="shared")
        for _ in range(3):
            for _ in range(3):
                u += t * 3.0
                u[5:21] = t[8:24]
            t = u * 2.0
        wp.tile_store(b, t)

    with pytest.raises(ptxspec.PtxspecError) as caught:
        wp.launch_tiled(k, dim=1, inputs=[floats(11), wp.zeros(N)], block_dim=16)
    assert caught.value.code == "K242"


def test_what_one_side_of_a_branch_changes_is_seen_behind_it() -> None:
    """The other side shows the tile in shared memory, or moves it there."""
    @wp.kernel
    def shown(a: wp.array[float], b: wp.array[float], n: int):
        _, lane = wp.tid()
        t = wp.tile_load(a, shape=32)
        x = float(0.0)
        if n > 0:
            t += 1.0
        else:
            x = t[3]
        b[lane] = t[31 - lane] + x

    @wp.kernel
    def moved(a: wp.array[float], b: wp.array[float], n: int):
        t = wp.tile_load(a, shape=32)
        if n > 0:
            t += 1.0
        else:
            t[1:3] = t[4:6]
        wp.tile_store(b, t)

    a = floats(12, 32)
    for n, expected in ((1, a.numpy()[::-1] + 1), (0, a.numpy()[::-1] + a.numpy()[3])):
        b = wp.zeros(32)
        wp.launch_tiled(shown, dim=1, inputs=[a, b, n], block_dim=32)
        np.testing.assert_array_equal(b.numpy(), expected)
    with pytest.raises(ptxspec.PtxspecError) as caught:
        wp.launch_tiled(moved, dim=1, inputs=[a, wp.zeros(32), 1], block_dim=32)
    assert caught.value.code == "K242"


def test_what_is_refused() -> None:
    @wp.kernel
    def other_type(a: wp.array[float]):
        i = wp.tid()
        x = 0
        if i > 3:
            x = a[i]
        a[i] = float(x)

    @wp.kernel
    def tile_name(a: wp.array[float]):
        _, j = wp.tid()
        t = 1.0
        if j > 3:
            t = wp.tile_load(a, shape=N)
        wp.tile_store(a, t)

    @wp.kernel
    def shapes(a: wp.array[float]):
        t = wp.tile_load(a, shape=N)
        t += wp.tile_load(a, shape=8)

    @wp.kernel
    def counted(a: wp.array[float], b: wp.array[float]):
        at = int(0)
        for _ in range(3):
            wp.tile_atomic_add(b, wp.tile_load(a, shape=16, offset=at), offset=at)
            at += 16

    @wp.kernel
    def some_threads(a: wp.array[float]):
        _, j = wp.tid()
        t = wp.tile_load(a, shape=N)
        if j > 3:
            t *= 2.0
        wp.tile_store(a, t)

    @wp.kernel
    def bound_by_some(a: wp.array[float]):
        _, j = wp.tid()
        t = wp.tile_load(a, shape=N)
        if j > 3:
            t = t * 2.0
        wp.tile_store(a, t)

    for kernel, code in ((some_threads, "K246"), (bound_by_some, "K246"), (other_type, "K156"),
                         (tile_name, "K222"), (shapes, "K234")):
        with pytest.raises(ptxspec.PtxspecError) as caught:
            wp.launch_tiled(kernel, dim=1, inputs=[floats(7)], block_dim=32) if kernel is not other_type else \
                wp.launch(kernel, dim=N, inputs=[floats(7)], block_dim=N)
        assert caught.value.code == code, str(caught.value)

    a, b = floats(8, requires_grad=True), wp.zeros(N, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(counted, dim=1, inputs=[a, b], block_dim=32)
    np.testing.assert_array_equal(b.numpy(), a.numpy())
    with pytest.raises(ptxspec.PtxspecError) as caught:
        tape.backward(grads={b: floats(9)})
    assert caught.value.code == "K240"
