"""Atomic addition of tiles, and tiles picked by indices."""

from __future__ import annotations

import numpy as np
import pytest
from test_tiles import values, wide

import ptxspec
from ptxspec import T

KINDS = {"int32": np.int32, "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64, "float32": np.float32,
         "float64": np.float64, "float16": np.float16}


def opcodes(ptx: str) -> set[str]:
    """The reductions in a module."""
    return {word for line in ptx.splitlines() for word in line.split() if word.startswith("red.")}


def adder(shape, tile, dtype, storage="register", **more):
    @T.function
    def add(A: T.Tensor(tile, dtype), B: T.Tensor(shape, dtype), Where: T.Tensor((len(shape),), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32))
        t = T.tile_load(A, shape=tile, storage=storage)
        T.tile_atomic_add(B, t, offset=tuple([Where[k] for k in range(len(shape))]), **more)

    return add


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("dtype", KINDS)
def test_four_blocks_add_one_tile_and_nothing_outside(dtype, storage) -> None:
    shape, tile = (12, 16), (4, 8)
    exe = ptxspec.compile(adder(shape, tile, dtype, storage), target="sm_90")
    rng = np.random.default_rng(3)
    a = rng.integers(0, 9, tile).astype(KINDS[dtype])
    for offset in ((4, 8), (-2, 3), (10, 12), (20, 0), (-4, -8), (1, -3)):
        b = rng.integers(0, 9, shape).astype(KINDS[dtype])
        expected = b.copy()
        for i, j in np.ndindex(*tile):
            x, y = offset[0] + i, offset[1] + j
            if 0 <= x < shape[0] and 0 <= y < shape[1]:
                expected[x, y] += 4 * a[i, j]
        exe(a, b, np.array(offset, np.int32))
        np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize(("dtype", "vector"), [
    ("float32", "red.global.add.v4.f32"), ("float16", "red.global.add.noftz.v8.f16"),
    ("bfloat16", "red.global.add.noftz.v8.bf16"), ("float64", "red.global.add.f64"), ("int32", "red.global.add.s32")])
def test_whole_vectors_where_the_type_has_them(dtype, vector) -> None:
    @T.function
    def add(A: T.Tensor((16, 16), dtype, align=16), B: T.Tensor((16, 16), dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32))
        T.tile_atomic_add(B, T.tile_load(A, shape=(16, 16)))

    @T.function
    def single(A: T.Tensor((16, 16), dtype, align=16), B: T.Tensor((16, 16), dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32))
        T.tile_atomic_add(B, T.tile_load(A, shape=(16, 16)), vectors=False)

    exe = ptxspec.compile(add, target="sm_90")
    assert opcodes(exe.ptx) == {vector}
    assert exe.cubin
    assert ".v" not in "".join(opcodes(ptxspec.compile(single, target="sm_90").ptx))


@pytest.mark.parametrize(("sm", "word"), [("sm_80", "f32"), ("sm_90", "v4.f32"), ("sm_100", "v4.f32")])
def test_the_target_decides_between_vectors_and_single_additions(sm, word) -> None:
    """One kernel, nothing said in it: vectors where the database has them for the target."""
    @T.function
    def add(A: T.Tensor((16, 16), "float32", align=16), B: T.Tensor((20, 16), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_atomic_add(B, T.tile_load(A, shape=(16, 16)), offset=(2, 0))

    exe = ptxspec.compile(add, target=sm)
    assert opcodes(exe.ptx) == {f"red.global.add.{word}"}
    report = ptxspec.prove(add, sm=sm)
    assert report.verdict == "proved"
    assert any(f"no wider atomic addition of float32 in global memory on {sm}" in n for n in report.notes)
    a, b = values((16, 16), "int32", 1).astype(np.float32) % 50, np.ones((20, 16), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b[2:18], a + 1)


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("sm", ["sm_80", "sm_90"])
def test_old_values_come_back_as_a_tile(sm, dtype, storage) -> None:
    """Zero outside the array; where nobody asks for them, the cheaper instruction is emitted."""
    @T.function
    def fetch(A: T.Tensor((16, 16), dtype, align=16), B: T.Tensor((20, 16), dtype, align=16),
              O: T.Tensor((16, 16), dtype, align=16), first: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        old = T.tile_atomic_add(B, T.tile_load(A, shape=(16, 16), storage=storage), offset=(first, 0))
        T.tile_atomic_add(B, old, offset=(first, 0))
        T.tile_store(O, old)

    exe = ptxspec.compile(fetch, target=sm)
    rng = np.random.default_rng(11)
    for first in (0, 7, -3, 30):
        a, b = (rng.integers(0, 9, (n, 16)).astype(KINDS[dtype]) for n in (16, 20))
        before, old, after = b.copy(), np.ones((16, 16), KINDS[dtype]), b.copy()
        expected = np.zeros((16, 16), KINDS[dtype])
        for i in range(16):
            if 0 <= first + i < 20:
                expected[i] = before[first + i]
                after[first + i] = 2 * before[first + i] + a[i]
        exe(a, b, old, first)
        np.testing.assert_array_equal(old, expected)
        np.testing.assert_array_equal(b, after)
    assert "atom.global.add" in exe.ptx
    assert len(opcodes(exe.ptx)) == 1       # the second addition


def test_old_values_of_a_scatter() -> None:
    @T.function
    def scatter(A: T.Tensor((8, 8), "float32", align=16), I: T.Tensor((8,), "int32"),
                B: T.Tensor((8, 8), "float32", align=16), O: T.Tensor((8, 8), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
        old = T.tile_atomic_add_indexed(B, T.tile_load(I, shape=8, storage="shared"), T.tile_load(A, shape=(8, 8)))
        T.tile_store(O, old * 2.0)

    a, b, old = (np.arange(64, dtype=np.float32).reshape(8, 8) + k for k in range(3))
    before = b.copy()
    ptxspec.compile(scatter, target="sm_90")(a, np.array([3, -1, 0, 9, 1, 2, 7, 6], np.int32), b, old)
    expected = np.zeros_like(old)
    expected[[0, 2, 4, 5, 6, 7]] = 2 * before[[3, 0, 1, 2, 7, 6]]
    np.testing.assert_array_equal(old, expected)


def test_atomic_addition_into_shared_memory() -> None:
    @T.function
    def twice(A: T.Tensor((8, 16), "float32", align=16), B: T.Tensor((8, 16), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        s = T.tile_load(A, shape=(8, 16), storage="shared")
        T.tile_atomic_add(s, T.tile_load(A, shape=(8, 16)))
        T.cuda.cta_sync()
        T.tile_store(B, s)

    exe = ptxspec.compile(twice, target="sm_90")
    assert opcodes(exe.ptx) == {"red.shared.add.f32"}
    a = np.random.default_rng(1).standard_normal((8, 16)).astype(np.float32)
    b = np.zeros_like(a)
    exe(a, b)
    np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("listed", ["register", "shared"])
@pytest.mark.parametrize("axis", [0, 1])
def test_gathered_rows_and_columns(axis, listed, storage) -> None:
    """Indices outside, -1 among them, give zeros; the row before the array is never read."""
    shape, tile = (8, 12), (4, 4)

    @T.function
    def gather(A: T.Tensor(shape, "float32"), I: T.Tensor((4,), "int32"), B: T.Tensor(tile, "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
        picked = T.tile_load(I, shape=4, storage=listed)
        t = T.tile_load_indexed(A, picked, shape=tile, offset=(1, 2), axis=axis, storage=storage)
        T.tile_store(B, t)

    exe = ptxspec.compile(gather, target="sm_90")
    a = values(shape, "float32", 1)
    for picks in ([0, -2, 2, 6], [-1, -(2**31), 2**31 - 1, 3]):
        expected = np.zeros(tile, np.float32)
        for i, j in np.ndindex(*tile):
            at = (1 + picks[i], 2 + j) if axis == 0 else (1 + i, 2 + picks[j])
            if 0 <= at[0] < shape[0] and 0 <= at[1] < shape[1]:
                expected[i, j] = a[at]
        b = np.full(tile, 7, np.float32)
        exe(a, np.array(picks, np.int32), b)
        np.testing.assert_array_equal(b.view(np.uint32), expected.view(np.uint32))


def test_gathered_rows_are_whole_vectors_where_the_pitch_allows() -> None:
    @T.function
    def gather(A: T.Tensor((64, 32), "float32", align=16), I: T.Tensor((16,), "int32"),
               B: T.Tensor((16, 32), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(B, T.tile_load_indexed(A, T.tile_load(I, shape=16, storage="shared"), shape=(16, 32)))

    exe = ptxspec.compile(gather, target="sm_90")
    found = wide(exe.ptx)
    assert found["ld.global.v4.b32"] == 5      # the indices, and four repeats
    assert found["st.global.v4.b32"] == 4
    assert "ld.global.b32" not in found
    a, b = values((64, 32), "float32", 1), values((16, 32), "float32", 2)
    picks = np.random.default_rng(4).integers(0, 64, 16).astype(np.int32)
    exe(a, picks, b)
    np.testing.assert_array_equal(b.view(np.uint32), a[picks].view(np.uint32))


def test_equal_indices_add_up() -> None:
    @T.function
    def scatter(A: T.Tensor((16, 8), "float32", align=16), I: T.Tensor((16,), "int32"),
                B: T.Tensor((4, 8), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32))
        t = T.tile_load(A, shape=(16, 8))
        T.tile_atomic_add_indexed(B, T.tile_load(I, shape=16, storage="shared"), t)

    exe = ptxspec.compile(scatter, target="sm_90")
    rng = np.random.default_rng(8)
    a = rng.integers(-8, 9, (16, 8)).astype(np.float32)
    picks = rng.integers(-2, 6, 16).astype(np.int32)
    b = np.zeros((4, 8), np.float32)
    expected = b.copy()
    for i, row in enumerate(picks):
        if 0 <= row < 4:
            expected[row] += 2 * a[i]
    exe(a, picks, b)
    np.testing.assert_array_equal(b, expected)


def test_a_scatter_by_unknown_indices_races() -> None:
    @T.function
    def scatter(A: T.Tensor((16, 8), "float32", align=16), I: T.Tensor((16,), "int32"),
                B: T.Tensor((32, 8), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store_indexed(B, T.tile_load(I, shape=16, storage="shared"), T.tile_load(A, shape=(16, 8)))

    with pytest.raises(ptxspec.ProofError) as caught:
        ptxspec.compile(scatter, target="sm_90")
    assert {d.code for d in caught.value.diagnostics} == {"P107"}
    assert "the least that would do is that no two of the 16 are equal" in str(caught.value)


def test_a_scatter_that_keeps_each_column_with_one_thread_is_no_race() -> None:
    """Eight threads of four columns each: equal indices only overwrite what the same thread wrote."""
    @T.function
    def scatter(A: T.Tensor((4, 32), "float32", align=16), I: T.Tensor((4,), "int32"),
                B: T.Tensor((9, 32), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
        t = T.tile_load(A, shape=(4, 32))
        T.tile_store_indexed(B, T.tile_load(I, shape=4, storage="shared"), t)

    exe = ptxspec.compile(scatter, target="sm_90")
    a, b = values((4, 32), "float32", 1), values((9, 32), "float32", 2)
    expected = b.copy()
    expected[[7, 0]] = a[[0, 2]]
    exe(a, np.array([7, -1, 0, 9], np.int32), b)
    np.testing.assert_array_equal(b.view(np.uint32), expected.view(np.uint32))
