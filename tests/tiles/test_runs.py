"""Tiles of short vectors: neighbours are counted over elements, so that components go 16 bytes at a time, too."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_adjoint import gradients, integers
from test_tiles import wide
from tile_cases import DTYPES

import ptxspec
from ptxspec import T
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const
from ptxspec.tiles.plan import Plan


def vectors(shape, tile, dtype="float32", threads=32, factor=2, part=None, target=None):
    """``factor`` times ``A`` in tiles of whole elements, or of the components from ``part`` on, to ``B``."""
    grid = tuple(-(-n // t) for n, t in zip(shape[:2], tile[:2], strict=True))[::-1]
    inner = (0,) * (len(shape) - 2)

    @T.function
    def kernel(A: T.Tensor(shape, dtype, align=16), B: T.Tensor(target or shape, dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=threads))
        i, j = T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1]
        t = T.tile_load(A, shape=tile, offset=(i, j, *(inner if part is None else (part,))))
        T.tile_store(B, t * factor if factor > 1 else t, offset=(i, j, *inner))

    return kernel


def opcodes(kernel) -> dict[str, int]:
    """Accesses to global memory by opcode."""
    return {k: n for k, n in wide(ptxspec.compile(kernel, target="sm_90").ptx).items() if ".global" in k}


@pytest.mark.parametrize(("shape", "tile", "dtype", "threads"), [
    ((8, 16, 3), (4, 8, 3), "float32", 8), ((8, 16, 3), (4, 8, 3), "float32", 24),
    ((6, 8, 3, 3), (2, 8, 3, 3), "float32", 12), ((4, 32, 3), (4, 16, 3), "float16", 8),
    ((4, 16, 5), (2, 8, 5), "float32", 4), ((4, 32, 3), (2, 32, 3), "uint8", 12), ((4, 8, 3), (2, 4, 3), "float64", 6)])
def test_whole_vectors_of_16_bytes(shape, tile, dtype, threads) -> None:
    """Both ends, interior tiles only: nothing narrower is left."""
    kernel = vectors(shape, tile, dtype, threads)
    found = opcodes(kernel)
    bits = "v2.b64" if dtype == "float64" else "v4.b32"
    assert set(found) == {f"ld.global.{bits}", f"st.global.{bits}"}, found
    a, b = integers(shape, 1, DTYPES[dtype]), np.zeros(shape, DTYPES[dtype])
    ptxspec.compile(kernel, target="sm_90")(a, b)
    np.testing.assert_array_equal(b, a * DTYPES[dtype](2))


def test_every_thread_has_equally_many() -> None:
    """Where vectors of 16 bytes would leave threads without any, shorter ones are taken; elements stay in registers."""
    @T.function
    def kernel(A: T.Tensor((32, 3), "float32", align=16), B: T.Tensor((32, 3), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=48))
        t = T.tile_load(A, shape=(32, 3), offset=(0, 0))
        for i, j in t.owned():
            t[i, j] = t[i, j] + T.float32(i * 3 + j)
        T.tile_store(B, t, offset=(0, 0))

    found = opcodes(kernel)
    assert found == {"ld.global.v2.b32": 1, "st.global.v2.b32": 1}
    a, b = integers((32, 3), 1), np.zeros((32, 3), np.float32)
    exe = ptxspec.compile(kernel, target="sm_90")
    exe(a, b)
    np.testing.assert_array_equal(b, a + np.arange(96, dtype=np.float32).reshape(32, 3))
    assert "bar.sync" not in exe.ptx


def test_a_part_of_each_vector_goes_by_its_own_width() -> None:
    """Two of four components: neighbours end there, in the array that is read and in one that is written."""
    from_four = vectors((4, 8, 4), (4, 8, 3), threads=24, part=1, target=(4, 8, 3))
    assert set(opcodes(from_four)) == {"ld.global.b32", "st.global.v4.b32"}
    to_four = vectors((4, 8, 3), (4, 8, 3), threads=32, target=(4, 8, 4))
    assert set(opcodes(to_four)) == {"ld.global.b32", "st.global.b32"}    # dealt out as the written array takes them
    six_of_eight = vectors((4, 8, 8), (4, 8, 6), threads=16, target=(4, 8, 8))
    assert set(opcodes(six_of_eight)) == {"ld.global.v2.b32", "st.global.v2.b32"}
    for kernel, shapes in ((from_four, ((4, 8, 4), (4, 8, 3))), (to_four, ((4, 8, 3), (4, 8, 4))),
                           (six_of_eight, ((4, 8, 8), (4, 8, 8)))):
        a, b = integers(shapes[0], 1), np.full(shapes[1], 9, np.float32)
        ptxspec.compile(kernel, target="sm_90")(a, b)
        right = np.full(shapes[1], 9, np.float32)
        if kernel is from_four:
            right[...] = a[..., 1:] * 2
        else:
            n = 3 if kernel is to_four else 6
            right[..., :n] = a[..., :n] * 2
        np.testing.assert_array_equal(b, right)


@pytest.mark.parametrize("atomics", [True, False])
def test_adjoints_are_as_wide(atomics) -> None:
    """The gradient of a copy of vec3 tiles: vectors of 16 bytes, also of the atomic additions."""
    ptx = ptxspec.compile(vectors((8, 16, 3), (4, 8, 3), threads=24, factor=1).adjoint(atomics=atomics),
                          target="sm_90").ptx
    found = re.findall(r"(?m)^\s+((?:ld|st|red)\.\S*)", ptx)
    change = "red.global.add.v4.f32" if atomics else "st.global.v4.b32"
    more = [] if atomics else ["ld.global.v4.b32"]
    assert sorted(c for c in found if "param" not in c) == sorted(["ld.global.v4.b32", *more, change,
                                                                   "st.global.v4.b32"])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_groups_take_every_element_once(data) -> None:
    """The coordinates of all words of all groups of all threads are the tile's, each once, in the order of memory."""
    rank = data.draw(st.integers(2, 4))
    shape = tuple(data.draw(st.integers(1, 4)) for _ in range(rank))
    run = data.draw(st.integers(2, rank))
    words = data.draw(st.sampled_from([w for w in (1, 2, 4, 8) if prod(shape[-run:]) % w == 0]))
    plan = Plan(shape, rank - 1, words, data.draw(st.integers(1, 12)), run=run)
    seen = []
    for repeat in range(plan.repeats):
        for thread in range(plan.threads if repeat < plan.full else plan.rest):
            first = plan.at(repeat, typed.literal(thread, "int32"))
            assert first == plan.joined().at(repeat, typed.literal(thread, "int32"))
            for word in range(words):
                at = plan.word(first, word)
                assert all(isinstance(c, Const) for c in at)
                seen.append(tuple(int(c.value) for c in at))
    assert seen == list(np.ndindex(*shape))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_tiles_of_vectors(data) -> None:
    """Values and gradients of partial tiles of short vectors, at offsets of either sign, whatever the array's pitch."""
    inner = data.draw(st.sampled_from([(3,), (5,), (6,), (7,), (2, 3), (3, 3)]))
    shape = (data.draw(st.integers(1, 6)), data.draw(st.integers(1, 9)), *inner)
    tile = (data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5)), *inner)
    threads = data.draw(st.sampled_from([1, 6, 8, 32, 40]))
    shift = data.draw(st.integers(-2, 2))
    storage = data.draw(st.sampled_from(["register", "shared"]))
    grid = tuple(-(-n // t) for n, t in zip(shape[:2], tile[:2], strict=True))[::-1]
    zero = (0,) * len(inner)

    @T.function
    def kernel(A: T.Tensor(shape, "float32", align=16), B: T.Tensor(shape, "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=threads))
        i, j = T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1]
        t = T.tile_load(A, shape=tile, offset=(i, j + shift, *zero), storage=storage)
        T.tile_store(B, t * 2 + T.tile_load(A, shape=tile, offset=(i, j, *zero)), offset=(i, j, *zero))

    a, b = integers(shape, 1), np.zeros(shape, np.float32)
    ptxspec.compile(kernel, target="sm_90")(a, b)
    moved = np.zeros_like(a)
    for j in range(shape[1]):
        if 0 <= j + shift < shape[1]:
            moved[:, j] = a[:, j + shift]
    np.testing.assert_array_equal(b, moved * 2 + a)
    seed = integers(shape, 2)
    back = np.zeros_like(a)
    for j in range(shape[1]):
        if 0 <= j + shift < shape[1]:
            back[:, j + shift] = seed[:, j] * 2
    np.testing.assert_array_equal(gradients(kernel, [a, b], (), {1: seed})[0], back + seed)
