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


def test_untyped_words_are_neither_added_nor_computed_with() -> None:
    @wp.kernel
    def add(a: wp.array[Mixed], b: wp.array[Mixed]):
        wp.tile_atomic_add(b, wp.tile_load(a, shape=4))

    @wp.kernel
    def scale(a: wp.array[Mixed], b: wp.array[Mixed]):
        wp.tile_store(b, wp.tile_load(a, shape=4) * 2)

    arrays = [wp.array(records(Mixed, 4), dtype=Mixed) for _ in range(2)]
    for kernel in (add, scale):
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
