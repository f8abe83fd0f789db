"""Structures as element types: moved whole, to the bit; added and differentiated where all fields are of one type."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec.compat import warp as wp


@wp.struct
class Sample:
    x: wp.float32
    y: wp.vec3


@wp.struct
class Nested:
    payload: Sample
    weight: wp.float32


@wp.struct
class Mixed:
    flag: wp.uint8
    small: wp.int8
    value: wp.float32


@wp.struct
class Half:
    s: wp.float16
    v: wp.vec3h
    m: wp.mat22h


@wp.struct
class Wide:
    s: wp.float64
    v: wp.vec3d
    m: wp.mat22d


@wp.struct
class Placed:
    q: wp.quat
    xform: wp.transform
    v: wp.vec3
    s: wp.float32


def records(kind, count: int, seed: int = 1) -> np.ndarray:
    """Random bytes in every field, padding included."""
    raw = np.random.default_rng(seed).integers(0, 256, count * kind.record().itemsize, dtype=np.uint8)
    return raw.view(kind.record())


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("kind", [Sample, Nested, Mixed, Half, Wide, Placed], ids=lambda kind: kind.name)
def test_structures_move_to_the_bit(kind, storage) -> None:
    """A partial tile at a runtime offset: zero bytes from outside, nothing written there."""
    @wp.kernel
    def move(a: wp.array[kind], b: wp.array[kind], source: int, target: int):
        wp.tile_store(b, wp.tile_load(a, shape=8, offset=source, storage=storage), offset=target)

    a = wp.array(records(kind, 12), dtype=kind)
    assert a.shape == (12,)
    for source, target in ((0, 0), (7, 2), (-3, 5), (20, 0)):
        b = wp.array(records(kind, 10, 2), dtype=kind)
        given, expected = (np.array(x.scalars).view(np.uint8).reshape(len(x), -1) for x in (a, b))
        for k in range(8):
            if 0 <= target + k < 10:
                expected[target + k] = given[source + k] if 0 <= source + k < 12 else 0
        wp.launch_tiled(move, dim=1, inputs=[a, b, source, target], block_dim=32)
        assert b.scalars.tobytes() == expected.tobytes()
        assert b.numpy().dtype.names == kind.record().names


def test_structures_of_one_type_are_added_and_have_gradients() -> None:
    """atomic_add on struct fields; store and load of structures carry gradients field by field."""
    @wp.kernel
    def add(a: wp.array[Sample], b: wp.array[Sample]):
        i = wp.tid()
        wp.tile_atomic_add(b, wp.tile_load(a, shape=4, offset=i * 4), offset=0)

    a = wp.array([(k, (1, 2, k)) for k in range(8)], dtype=Sample, requires_grad=True)
    b = wp.zeros(4, dtype=Sample, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch_tiled(add, dim=2, inputs=[a, b], block_dim=32)
    np.testing.assert_array_equal(b.numpy()["x"], a.numpy()["x"][:4] + a.numpy()["x"][4:])
    np.testing.assert_array_equal(b.numpy()["y"], a.numpy()["y"][:4] + a.numpy()["y"][4:])
    tape.backward(grads={b: wp.array([(k, (k, 5, 7)) for k in range(4)], dtype=Sample)})
    np.testing.assert_array_equal(a.grad.numpy()["x"], [0, 1, 2, 3] * 2)
    np.testing.assert_array_equal(a.grad.numpy()["y"][:, 1:], np.tile([5, 7], (8, 1)))


def numbers(seed: int, count: int = 4) -> np.ndarray:
    """Small numbers in every field, random bytes between them."""
    found, rng = records(Mixed, count, seed), np.random.default_rng(seed)
    found["flag"], found["small"] = rng.integers(0, 60, count), rng.integers(-30, 30, count)
    found["value"] = rng.standard_normal(count)
    return found


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_fields_of_several_types_are_computed_with_each_in_its_own(storage) -> None:
    @wp.kernel
    def k(a: wp.array[Mixed], b: wp.array[Mixed], c: wp.array2d[Mixed]):
        t, u = wp.tile_load(a, shape=4, storage=storage), wp.tile_load(b, shape=4)
        wp.tile_store(c[0], t + u)
        wp.tile_store(c[1], t * 2)
        wp.tile_store(c[2], -(2 * t - u))
        for _ in range(2):
            t -= u
        wp.tile_store(c[3], t)

    a, b, c = (wp.array(numbers(seed), dtype=Mixed) for seed in (1, 2, 3))
    c = wp.zeros((4, 4), dtype=Mixed)
    wp.launch_tiled(k, dim=1, inputs=[a, b, c], block_dim=32)
    for name in Mixed.record().names:
        x, y, z = a.numpy()[name], b.numpy()[name], c.numpy()[name]
        two = x.dtype.type(2)
        np.testing.assert_array_equal(z, np.stack([x + y, x * two, -(two * x - y), x - y - y]))


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_tiles_of_structures_are_bound_again_and_assigned_to(storage) -> None:
    @wp.kernel
    def k(a: wp.array[Mixed], b: wp.array[Mixed]):
        t = wp.tile_load(a, shape=4, storage=storage)
        for row in range(3):
            t = wp.tile_load(a, shape=4, offset=row)
        t[0:2] = wp.tile_load(a, shape=2)
        wp.tile_store(b, t)

    a, b = wp.array(records(Mixed, 8), dtype=Mixed), wp.zeros(4, dtype=Mixed)
    wp.launch_tiled(k, dim=1, inputs=[a, b], block_dim=32)
    assert b.numpy().tobytes() == a.numpy()[[0, 1, 4, 5]].tobytes()


@pytest.mark.parametrize("storage", ["register", "shared"])
def test_tiles_of_structures_begin_with_zeros(storage) -> None:
    @wp.kernel
    def k(a: wp.array[Mixed], b: wp.array[Mixed]):
        t = wp.tile_zeros(shape=5, dtype=Mixed, storage=storage)
        t[1:] = wp.tile_load(a, shape=4)
        wp.tile_store(b, t)

    @wp.kernel
    def ones(b: wp.array[Mixed]):
        wp.tile_store(b, wp.tile_ones(shape=4, dtype=Mixed))

    @wp.kernel
    def full(b: wp.array[Mixed]):
        wp.tile_store(b, wp.tile_full(shape=4, value=2, dtype=Mixed))

    a, b = wp.array(records(Mixed, 4), dtype=Mixed), wp.array(records(Mixed, 5, 7), dtype=Mixed)
    wp.launch_tiled(k, dim=1, inputs=[a, b], block_dim=32)
    assert b.numpy().tobytes() == bytes(Mixed.record().itemsize) + a.numpy().tobytes()
    for kernel in (ones, full):
        with pytest.raises(ptxspec.PtxspecError) as caught:
            wp.launch_tiled(kernel, dim=1, inputs=[b], block_dim=32)
        assert caught.value.code == "K233"


def test_ones_of_quaternions_are_their_first_component() -> None:
    @wp.kernel
    def k(b: wp.array[wp.quat]):
        wp.tile_store(b, wp.tile_ones(shape=4, dtype=wp.quat))

    b = wp.zeros(4, dtype=wp.quat)
    wp.launch_tiled(k, dim=1, inputs=[b], block_dim=32)
    assert b.numpy().tolist() == [[1, 0, 0, 0]] * 4


def test_fields_that_memory_adds_to_are_added_atomically() -> None:
    """The others stay as they are; bytes between fields too."""
    @wp.kernel
    def add(a: wp.array[Mixed], b: wp.array[Mixed]):
        i = wp.tid()
        wp.tile_atomic_add(b, wp.tile_load(a, shape=4, offset=i * 4), offset=1)

    @wp.kernel
    def indexed(a: wp.array[Mixed], b: wp.array[Mixed], listed: wp.array[int]):
        wp.tile_atomic_add_indexed(b, wp.tile_load(listed, shape=4), wp.tile_load(a, shape=4))

    a = wp.array(numbers(4, 8), dtype=Mixed)
    for kernel, dim, more in ((add, 2, []), (indexed, 1, [wp.array([3, 0, -1, 3], dtype=int)])):
        b = wp.array(numbers(5), dtype=Mixed)
        expected = b.numpy().copy()
        if more:
            np.add.at(expected["value"], [3, 0, 3], a.numpy()["value"][[0, 1, 3]])
        else:
            expected["value"][1:] += a.numpy()["value"][:3] + a.numpy()["value"][4:7]
        wp.launch_tiled(kernel, dim=dim, inputs=[a, b, *more], block_dim=32)
        np.testing.assert_allclose(b.numpy()["value"], expected["value"], rtol=1e-6)
        b.numpy()["value"] = expected["value"]
        assert b.numpy().tobytes() == expected.tobytes()


def test_untyped_words_are_not_computed_with_as_such() -> None:
    @wp.kernel
    def fraction(a: wp.array[Mixed], b: wp.array[Mixed]):
        wp.tile_store(b, wp.tile_load(a, shape=4) * 2.5)

    @wp.kernel
    def shapes(a: wp.array[Mixed], b: wp.array[Mixed]):
        wp.tile_store(b, wp.tile_load(a, shape=4) + wp.tile_load(b, shape=3))

    @wp.kernel
    def aligned(a: wp.array[Mixed], b: wp.array[Mixed]):
        wp.tile_atomic_add(b, wp.tile_load(a, shape=4), aligned=True)

    @wp.kernel
    def other(a: wp.array[Mixed], b: wp.array[Mixed]):
        wp.tile_store(b, wp.tile_load(a, shape=4) + wp.tile_zeros(shape=4, dtype=float))

    arrays = [wp.array(records(Mixed, 4), dtype=Mixed) for _ in range(2)]
    for kernel in (fraction, shapes, aligned, other):
        with pytest.raises(ptxspec.PtxspecError) as caught:
            wp.launch_tiled(kernel, dim=1, inputs=arrays, block_dim=32)
        assert caught.value.code.startswith("K")


def test_arrays_of_structures_are_told_apart() -> None:
    @wp.kernel
    def copy(a: wp.array[Sample], b: wp.array[Sample]):
        wp.tile_store(b, wp.tile_load(a, shape=4))

    with pytest.raises(ptxspec.PtxspecError) as caught:
        wp.launch_tiled(copy, dim=1, inputs=[wp.zeros(4, dtype=wp.vec4), wp.zeros(4, dtype=Sample)], block_dim=32)
    assert caught.value.code == "R331"
    b = wp.zeros(4, dtype=Sample)
    b.assign(wp.array([(k, (k, k, k)) for k in range(4)], dtype=Sample))
    np.testing.assert_array_equal(wp.clone(b).numpy()["y"][:, 2], [0, 1, 2, 3])
