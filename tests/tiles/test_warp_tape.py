"""Gradients under Warp's names: the backward parts of its own load and store tests."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec.compat import warp as wp


def ramp(shape):
    """1, 2, 3, ... in ``shape``."""
    return np.arange(1, int(np.prod(shape)) + 1, dtype=np.float32).reshape(shape)


@wp.kernel
def copy_2d(a: wp.array2d[float], b: wp.array2d[float]):
    i, j = wp.tid()
    wp.tile_store(b, wp.tile_load(a, shape=(16, 8), offset=(i * 16, j * 8)), offset=(i * 16, j * 8))


def test_a_copy_gives_ones_and_clears_what_it_wrote() -> None:
    a, b = wp.array(ramp((112, 40)), dtype=float, requires_grad=True), wp.zeros((112, 40), requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(copy_2d, dim=(7, 5), inputs=[a], outputs=[b], block_dim=64)
    tape.backward(grads={b: wp.ones((112, 40))})
    assert a.grad is not None
    assert (a.grad.numpy() == 1).all()
    assert not b.grad.numpy().any()
    tape.zero()
    assert not a.grad.numpy().any()


def test_launches_run_backwards_in_turn() -> None:
    @wp.kernel
    def scale(a: wp.array[float], b: wp.array[float], s: float):
        i = wp.tid()
        wp.tile_store(b, wp.tile_load(a, shape=8, offset=i * 8) * s, offset=i * 8)

    @wp.kernel
    def total(a: wp.array[float], out: wp.array[float]):
        for k in range(16):
            wp.tile_atomic_add(out, wp.tile_load(a, shape=1, offset=k), offset=0)

    a = wp.array(ramp(16), dtype=float, requires_grad=True)
    b, out = wp.zeros(16, requires_grad=True), wp.zeros(1, requires_grad=True)
    tape = wp.Tape()
    with tape:
        wp.launch_tiled(scale, dim=2, inputs=[a, b, 3.0], block_dim=32)
        wp.launch_tiled(total, dim=1, inputs=[b, out], block_dim=32)
    assert out.numpy()[0] == 3 * a.numpy().sum()
    tape.backward(loss=out)
    np.testing.assert_array_equal(a.grad.numpy(), np.full(16, 3, np.float32))
    with pytest.raises(ptxspec.PtxspecError) as caught:
        tape.backward(loss=b)
    assert caught.value.code == "R333"


def test_load_indexed_adds_up_both_uses() -> None:
    """load_indexed: 1 + 1 where row and column are even, 0 where both are odd, 1 elsewhere."""
    M, N = 16, 8

    @wp.kernel
    def compute(x: wp.array2d[float], y: wp.array2d[float], z: wp.array2d[float], rows: wp.array[int],
                columns: wp.array[int]):
        picked = wp.tile_load(rows, shape=M, storage="shared")
        wp.tile_store(y, wp.tile_load_indexed(x, indices=picked, shape=(M, N), axis=0))
        across = wp.tile_load(columns, shape=N // 2, storage="shared")
        wp.tile_store(z, wp.tile_load_indexed(x, indices=across, shape=(2 * M, N // 2), axis=1))

    x = wp.array(ramp((2 * M, N)), dtype=float, requires_grad=True)
    y, z = wp.zeros((M, N), requires_grad=True), wp.zeros((2 * M, N // 2), requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(compute, dim=1, inputs=[x, y, z, wp.array(np.arange(M) * 2, dtype=int),
                                                wp.array(np.arange(N // 2) * 2, dtype=int)], block_dim=32)
    tape.backward(grads={y: wp.ones((M, N)), z: wp.ones((2 * M, N // 2))})
    i, j = np.indices((2 * M, N))
    np.testing.assert_array_equal(x.grad.numpy(), (i % 2 == 0).astype(np.float32) + (j % 2 == 0))


def test_vectors_have_gradients_too() -> None:
    @wp.kernel
    def copy(a: wp.array[wp.vec3], b: wp.array[wp.vec3]):
        wp.tile_store(b, wp.tile_load(a, shape=8, offset=1))

    a = wp.array(ramp((8, 3)), dtype=wp.vec3, requires_grad=True)
    b = wp.zeros(8, dtype=wp.vec3, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(copy, dim=1, inputs=[a, b], block_dim=32)
    tape.backward(grads={b: wp.ones(8, dtype=wp.vec3)})
    expected = np.ones((8, 3), np.float32)
    expected[0] = 0
    np.testing.assert_array_equal(a.grad.numpy(), expected)


def test_views_and_broadcasts_have_gradients() -> None:
    """broadcast_grad: 5 for each element; reshape and squeeze: ones."""
    @wp.kernel
    def broadcast(a: wp.array[float], b: wp.array2d[float]):
        y = wp.tile_broadcast(wp.tile_load(a, shape=5), shape=(5, 5))
        wp.tile_store(b, wp.tile_ones(dtype=float, shape=(5, 5)) + y)

    @wp.kernel
    def reshape(a: wp.array2d[float], b: wp.array2d[float]):
        t = wp.tile_reshape(wp.tile_load(a, shape=(16, 8)), shape=(wp.static(16 * 8), 1))
        wp.tile_store(b, wp.tile_reshape(t, shape=(-1, 1)))

    @wp.kernel
    def squeeze(a: wp.array3d[float], b: wp.array[float]):
        wp.tile_store(b, wp.tile_squeeze(wp.tile_squeeze(wp.tile_load(a, shape=(1, 16, 1)), axis=(2,))))

    for kernel, shape, out, each in ((broadcast, (5,), (5, 5), 5), (reshape, (16, 8), (128, 1), 1),
                                     (squeeze, (1, 16, 1), (16,), 1)):
        a = wp.array(ramp(shape), dtype=float, requires_grad=True)
        b = wp.zeros(out, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch_tiled(kernel, dim=[1], inputs=[a, b], block_dim=32)
        tape.backward(grads={b: wp.ones(out)})
        np.testing.assert_array_equal(a.grad.numpy(), np.full(shape, each, np.float32))
        if kernel is broadcast:
            np.testing.assert_array_equal(b.numpy(), np.broadcast_to(a.numpy() + 1, (5, 5)))
