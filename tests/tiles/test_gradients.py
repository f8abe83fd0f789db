"""Adjoints against numerical gradients: edges, gathers, scatters, tiles under other coordinates; and what is refused.

Values are small whole numbers and kernels are linear, so both sides are exact whatever the order of sums.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_adjoint import gradients, integers, linear, matrix, numerical

import ptxspec
from ptxspec import T
from ptxspec.lang.locate import locate
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import variables
from ptxspec.tiles.banks import accesses


def checked(kernel, arrays: list[np.ndarray], out: int, of: tuple[int, ...] = (0,)) -> None:
    """The gradients of the arrays ``of``, and what is left of the result's."""
    seed = integers(arrays[out].shape, 7)
    found = gradients(kernel, arrays, (), {out: seed})
    floats = [k for k, a in enumerate(arrays) if a.dtype.kind == "f"]
    for k in of:
        np.testing.assert_array_equal(found[floats.index(k)], numerical(kernel, arrays, (), out, seed, k))


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize(("source", "target"), [((-2, 3), (1, -1)), ((4, 6), (-1, 2)), ((-3, -4), (5, 7)),
                                                ((9, 0), (0, 0)), ((0, 0), (9, 9)), ((1, 1), (1, 1))])
def test_tiles_across_edges(source, target, storage) -> None:
    """What lies outside, at either end of either axis, has no gradient; what was overwritten has none either."""
    @T.function
    def kernel(A: matrix((7, 9)), B: matrix((7, 9))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(4, 8), offset=source, storage=storage)
        T.tile_store(B, t * 3.0, offset=target)

    arrays = [integers((7, 9), 1), integers((7, 9), 2)]
    checked(kernel, arrays, 1, (0,))
    seed = integers((7, 9), 7)
    left = gradients(kernel, arrays, (), {1: seed})[1]
    written = np.zeros((7, 9), bool)
    for i, j in np.ndindex(4, 8):
        if 0 <= target[0] + i < 7 and 0 <= target[1] + j < 9:
            written[target[0] + i, target[1] + j] = True
    np.testing.assert_array_equal(left, np.where(written, 0, seed))


@pytest.mark.parametrize("axis", [0, 1])
def test_gathers_add_the_gradients_of_equal_indices(axis) -> None:
    """An element that is taken several times collects all its gradients; indices outside have none."""
    shape = (5, 4) if axis == 0 else (4, 5)

    @T.function
    def kernel(A: matrix((6, 6)), I: T.Tensor((5,), "int32"), B: matrix(shape)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        picked = T.tile_load(I, shape=5, storage="shared")
        T.tile_store(B, T.tile_load_indexed(A, picked, shape=shape, offset=(1, 2), axis=axis))

    arrays = [integers((6, 6), 1), np.array([2, 2, -1, 9, 0], np.int32), np.zeros(shape, np.float32)]
    seed = integers(shape, 7)
    found = gradients(kernel, arrays, (), {2: seed})
    np.testing.assert_array_equal(found[0], numerical(kernel, arrays, (), 2, seed, 0))


def test_scatters_by_addition_pass_every_gradient_on() -> None:
    @T.function
    def kernel(A: matrix((5, 8)), I: T.Tensor((5,), "int32"), B: matrix((6, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(5, 8))
        T.tile_atomic_add_indexed(B, T.tile_load(I, shape=5, storage="shared"), t - 1.0)

    arrays = [integers((5, 8), 1), np.array([2, 2, -1, 9, 0], np.int32), integers((6, 8), 3)]
    seed = integers((6, 8), 7)
    found = gradients(kernel, arrays, (), {2: seed})
    np.testing.assert_array_equal(found[0], numerical(kernel, arrays, (), 2, seed, 0))
    np.testing.assert_array_equal(found[1], seed)


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize(("view", "shape", "out"), [
    (T.tile_transpose, (), (8, 6)), (T.tile_reshape, ((4, 12),), (4, 12)), (T.tile_reshape, (-1,), (48,)),
    (T.tile_broadcast, ((3, 6, 8),), (3, 6, 8))])
def test_tiles_under_other_coordinates(view, shape, out, storage) -> None:
    @T.function
    def kernel(A: matrix((6, 8)), B: matrix(out)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
        t = T.tile_load(A, shape=(6, 8), offset=(1, -2), storage=storage)
        T.tile_store(B, view(t, *shape))

    checked(kernel, [integers((6, 8), 1), np.zeros(out, np.float32)], 1)


def test_broadcasts_sum_over_their_copies() -> None:
    """(4, 1, 5, 1) to (4, 3, 5, 6), beside an addition; the sum is over 18 copies of each element."""
    @T.function
    def kernel(A: matrix((4, 3, 5, 6)), C: matrix((4, 1, 5, 1)), B: matrix((4, 3, 5, 6))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        u = T.tile_broadcast(T.tile_load(C, shape=(4, 1, 5, 1)), (4, 3, 5, 6))
        T.tile_store(B, T.tile_load(A, shape=(4, 3, 5, 6)) + u)

    arrays = [integers((4, 3, 5, 6), 1), integers((4, 1, 5, 1), 2), np.zeros((4, 3, 5, 6), np.float32)]
    seed = integers((4, 3, 5, 6), 7)
    found = gradients(kernel, arrays, (), {2: seed})
    np.testing.assert_array_equal(found[0], seed)
    np.testing.assert_array_equal(found[1], seed.sum((1, 3), keepdims=True))


def test_copies_are_summed_in_a_fixed_order() -> None:
    """Random values: the gradient of a broadcast is the same bits every time, those of a sum from first to last."""
    @T.function
    def kernel(A: matrix((8,)), B: matrix((5, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(B, T.tile_broadcast(T.tile_load(A, shape=8), (5, 8)))

    seed = np.random.default_rng(4).standard_normal((5, 8)).astype(np.float32)
    found = gradients(kernel, [seed[0].copy(), seed.copy()], (), {1: seed})
    expected = np.zeros(8, np.float32)
    for row in seed:
        expected = expected + row
    np.testing.assert_array_equal(found[0].view(np.uint32), expected.view(np.uint32))


def test_constants_and_old_values_have_no_gradient() -> None:
    @T.function
    def kernel(A: matrix((8, 8)), B: matrix((8, 8)), O: matrix((8, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(8, 8))
        old = T.tile_atomic_add(B, t * 2.0 + T.tile_ones((8, 8)))
        T.tile_store(O, old)

    arrays = [integers((8, 8), k) for k in range(3)]
    seeds = {1: integers((8, 8), 7), 2: integers((8, 8), 8)}
    found = gradients(kernel, arrays, (), seeds)
    np.testing.assert_array_equal(found[0], 2 * seeds[1])
    np.testing.assert_array_equal(found[1], seeds[1])
    np.testing.assert_array_equal(found[2], np.zeros((8, 8)))


def _element(A, B, t):
    B[0, 0] = t[0, 0]


def _assigned(A, B, t):
    t[0, 0] = 1.0
    T.tile_store(B, t)


def _owned(A, B, t):
    for i, j in t.owned():
        t[i, j] = t[i, j] * 2.0


def _window(A, B, t):
    T.tile_store(B, T.tile_view(t, (0, 0), (4, 4)))


def _through_shared(A, B, t):
    s = T.alloc_shared((8, 8), "float32")
    T.tile_store(s, t)


def _instruction(A, B, t):
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[0, 0:4])


def _divided(A, B, t):
    T.tile_store(B, 2.0 / t)


def _product(A, B, t):
    T.tile_store(B, t * t)


def _integers(A, B, t):
    t.astype("int32")


def _minimum(A, B, t):
    T.tile_store(B, t % 2.0)


@pytest.mark.parametrize(("code", "body", "said"), [
    ("K240", _element, "read by itself"), ("K240", _assigned, "assigned"), ("K240", _owned, "read by itself"),
    ("K240", _window, "window"), ("K240", _through_shared, "`s` has no gradient"),
    ("K240", _instruction, "moves `A` by itself"), ("K241", _divided, "not linear"), ("K241", _product, "not linear"),
    ("K241", _integers, "int32 has no gradient"), ("K241", _minimum, "not linear")])
def test_each_refusal_says_what_has_no_gradient(code, body, said) -> None:
    @T.function
    def kernel(A: matrix((8, 8)), B: matrix((8, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        body(A, B, T.tile_load(A, shape=(8, 8)))

    with pytest.raises(ptxspec.PtxspecError) as caught:
        ptxspec.compile(kernel.adjoint(), target="sm_90")
    assert caught.value.code == code
    assert said in str(caught.value)


def test_gradients_are_cleared_after_they_were_passed_on() -> None:
    """Memory that is read, added to elsewhere, and then cleared; never cleared where other code still needs it."""
    @T.function
    def chain(A: matrix((16, 8)), B: matrix((16, 8)), C: matrix((16, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(B, T.tile_load(A, shape=(16, 8)) * 2.0)
        T.cuda.cta_sync()
        T.tile_store(C, T.tile_load(B, shape=(16, 8), offset=(1, 0)) * 3.0)

    ptx = ptxspec.compile(chain.adjoint(), target="sm_90").ptx
    words = [w for w in ptx.split() if w.startswith(("ld.global", "st.global", "red.global", "bar."))]
    assert words[:words.index("bar.sync", 1) + 1] == ["bar.sync", "ld.global.v4.b32", "red.global.add.v4.f32",
                                                      "st.global.v4.b32", "bar.sync"]
    seeds = {1: integers((16, 8), 6), 2: integers((16, 8), 7)}
    arrays = [integers((16, 8), k) for k in range(3)]
    found = gradients(chain, arrays, (), seeds)
    through = seeds[1].copy()
    through[1:] += 3 * seeds[2][:-1]
    np.testing.assert_array_equal(found[0], 2 * through)
    np.testing.assert_array_equal(found[1], np.zeros((16, 8)))
    np.testing.assert_array_equal(found[2], np.zeros((16, 8)))


def test_two_stores_to_one_array_clear_in_turn() -> None:
    """The second store's region was cleared before the first one's gradient is read."""
    @T.function
    def twice(A: matrix((8, 8)), C: matrix((8, 8)), B: matrix((8, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(B, T.tile_load(A, shape=(8, 8)))
        T.cuda.cta_sync()
        T.tile_store(B, T.tile_load(C, shape=(4, 8)), offset=(2, 0))

    seed = integers((8, 8), 7)
    found = gradients(twice, [integers((8, 8), k) for k in range(3)], (), {2: seed})
    expected = seed.copy()
    expected[2:6] = 0
    np.testing.assert_array_equal(found[0], expected)
    np.testing.assert_array_equal(found[1][:4], seed[2:6])
    np.testing.assert_array_equal(found[2], np.zeros((8, 8)))


def test_converted_integers_only_clear_what_they_overwrite() -> None:
    @T.function
    def kernel(A: T.Tensor((4, 8), "int32", align=16), B: matrix((8, 8))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(B, T.tile_load(A, shape=(4, 8)).astype("float32"), offset=(2, 0))

    exe = ptxspec.compile(kernel.adjoint(), target="sm_90")
    seed = integers((8, 8), 7)
    grad, expected = seed.copy(), seed.copy()
    expected[2:6] = 0
    exe(np.zeros((4, 8), np.int32), np.zeros((8, 8), np.float32), grad)
    np.testing.assert_array_equal(grad, expected)


@T.function
def mixed(A: matrix((9, 15)), C: matrix((8, 8)), B: matrix((8, 8))):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
    t = T.tile_load(A, shape=(8, 8), offset=(1, 3))
    u = T.tile_load(C, shape=(8, 8))
    T.tile_store(B, t * 2.0 + u + T.tile_ones((8, 8)) - t)


def test_tiles_of_narrow_and_wide_arrays_combine() -> None:
    """Rows of 60 bytes are added to one element a lane, neighbours by neighbours; rows of 32 bytes as vectors."""
    arrays = [integers((9, 15), 1), integers((8, 8), 2), np.zeros((8, 8), np.float32)]
    checked(mixed, arrays, 2, (0, 1))
    ptx = ptxspec.compile(mixed.adjoint(), target="sm_90").ptx
    words = {w for w in ptx.split() if w.startswith("red.")}
    assert words == {"red.global.add.f32", "red.global.add.v4.f32"}


def test_narrow_additions_go_to_neighbouring_places() -> None:
    """Lane after lane adds to the next element: four bytes from thread to thread, not sixteen."""
    @T.function
    def copy(A: matrix((64, 33)), B: matrix((64, 33))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(B, T.tile_load(A, shape=(4, 32), offset=(2, 1)), offset=(2, 1))

    kernel = copy.adjoint().kernel()
    tid = next(v for v in kernel.hardware if v.role == "tid.x")
    for statement, view, index, _, what in accesses(kernel.body):
        if what.startswith("red.") and view.buffer.scope == "global":
            byte = locate(view, index).byte
            others = {v: 0 for v in variables(byte) if v is not tid}
            assert evaluate(byte, {**others, tid: 1}) - evaluate(byte, {**others, tid: 0}) == 4, statement


def test_two_stores_by_differently_shared_out_tiles_meet_at_a_barrier() -> None:
    """The second store's gradients are cleared by other threads than those that read the first one's."""
    arrays = [integers((6, 8), k) for k in range(3)]
    seed = integers((6, 8), 7)
    found = gradients(linear, arrays, (2.0,), {2: seed})
    for k in (0, 1):
        np.testing.assert_array_equal(found[k], numerical(linear, arrays, (2.0,), 2, seed, k))
    np.testing.assert_array_equal(found[2], np.zeros((6, 8)))
    standing = [n for n in linear.adjoint().kernel().notes if ": a barrier" in n]
    assert len(standing) == 1
    assert "after gradients are cleared, before other threads read them again" in standing[0]
