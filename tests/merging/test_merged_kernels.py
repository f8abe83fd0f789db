"""Merged accesses in use: launching, types, loops, guards, values passed on."""

from __future__ import annotations

import re

import numpy as np
import pytest
from merged_text import opcodes
from ptxspec.backend.emit import emit
from ptxspec.backend.executable import Executable
from ptxspec.backend.merging import merged
from ptxspec.backend.simulate import PointerArgument, simulate

import ptxspec
from ptxspec import T
from ptxspec.diagnostics import LaunchError
from ptxspec.layout import S, TileLayout

N = T.dim("N")


@T.function
def wide(A: T.Tensor((64, 8), "float32"), B: T.Tensor((64, 8), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    for j in T.unroll(8):
        B[i, j] = A[i, j] + 1.0


def test_array_aligned_for_elements_only_is_served() -> None:
    """The merged accesses ask for 16 bytes; a slice that starts at 4 still works, by single accesses."""
    exe = ptxspec.compile(wide, "sim")
    memory = np.arange(64 * 8 + 1, dtype=np.float32)
    a, b = memory[1:].reshape(64, 8), np.zeros((64, 8), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a + 1)
    assert exe.last_run is not None
    aligned = memory[:512].reshape(64, 8)
    exe(aligned, b)
    np.testing.assert_array_equal(b, aligned + 1)


def test_overlap_is_still_refused() -> None:
    exe = ptxspec.compile(wide, "sim")
    memory = np.zeros(64 * 8 + 8, np.float32)
    with pytest.raises(LaunchError) as caught:
        exe(memory[:512].reshape(64, 8), memory[8:].reshape(64, 8))
    assert {d.code for d in caught.value.diagnostics} == {"R308"}


@pytest.mark.parametrize("unrolled", [True, False])
def test_long_loops_take_several_iterations_at_a_time(unrolled: bool) -> None:
    count = T.unroll if unrolled else T.serial

    @T.function
    def rows(A: T.Tensor((64, 512), "float32"), B: T.Tensor((64, 512), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        for j in count(512):
            B[i, j] = A[i, j] * 2.0 + A[i, j]
    exe = ptxspec.compile(rows, "sim")
    assert exe.ptx.count("ld.global") == exe.ptx.count("ld.global.v4.b32") == (128 if unrolled else 1)
    assert exe.ptx.count("st.global") == exe.ptx.count("st.global.v4.b32") == (128 if unrolled else 1)
    a, b = np.random.default_rng(0).random((64, 512), np.float32), np.zeros((64, 512), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a * np.float32(2) + a)


def test_an_element_read_again_is_read_once() -> None:
    @T.function
    def twice(A: T.Tensor((64, 2), "int32"), B: T.Tensor((64, 2), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        B[i, 0] = A[i, 0] * A[i, 0] + A[i, 1]
        A[i, 1] = 5
        B[i, 1] = A[i, 1] + A[i, 0]
    # The second read of A[i, 1] sees the write between.
    assert opcodes(twice.kernel()).count("ld.global.v2.b32") >= 1
    exe = ptxspec.compile(twice, "sim")
    a, b = np.arange(128, dtype=np.int32).reshape(64, 2), np.zeros((64, 2), np.int32)
    want = np.stack([a[:, 0] * a[:, 0] + a[:, 1], 5 + a[:, 0]], 1)
    exe(a, b)
    np.testing.assert_array_equal(b, want)


def test_one_guard_for_all_iterations_does_not_part_them() -> None:
    """A condition that the loop does not change is asked once, outside; one that it changes keeps them apart."""
    @T.function
    def inside(A: T.Tensor((N, 2, 4), "float32"), B: T.Tensor((N, 2, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(N + 63) // 64, block=64))
        i = T.cuda.block_idx("x") * 64 + T.cuda.thread_idx("x")
        for k, j in T.grid(2, 4):
            if i < N:
                B[i, k, j] = A[i, k, j] * 2.0

    @T.function
    def changing(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32"), n: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        for j in T.unroll(4):
            if j < n:
                B[i, j] = A[i, j]
    assert opcodes(inside.kernel()) == ["ld.global.v4.b32"] * 2 + ["st.global.v4.b32"] * 2
    exe = ptxspec.compile(inside, "sim")
    a, b = np.random.default_rng(0).random((70, 2, 4), np.float32), np.zeros((70, 2, 4), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a * np.float32(2))
    before = changing.kernel()
    assert merged(before).kernel is before


def test_loop_with_an_assumption_stays() -> None:
    """Written out it would speak of constants, and be checked at launch, where only a thread was spoken of."""
    @T.function
    def promised(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32"), n: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        for j in T.unroll(4):
            T.assume(n > j)
            B[i, j] = A[i, j]
    before = promised.kernel()
    assert merged(before).kernel is before


def test_loops_without_gain_stand_as_they_were() -> None:
    @T.function
    def strided(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        for j in T.unroll(4):
            B[2 * j, i] = A[2 * j, i]
    before = strided.kernel()
    merging = merged(before)
    assert merging.kernel is before
    assert not merging.notes


def test_kernel_without_elements_is_left_alone() -> None:
    @T.function
    def copy(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        r = T.alloc_local((4,), "float32")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i], r)
    before = copy.kernel()
    assert merged(before).kernel is before


def test_shared_memory_and_barrier() -> None:
    @T.function
    def through(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        tile = T.alloc_shared((64, 4), "float32", align=16)
        for j in T.unroll(4):
            tile[i, j] = A[i, j]
        T.cuda.cta_sync()
        for j in T.unroll(4):
            B[i, j] = tile[63 - i, j]
    assert opcodes(through.kernel()) == [
        "ld.global.v4.b32", "ld.shared.v4.b32", "st.global.v4.b32", "st.shared.v4.b32"]
    exe = Executable(emit(merged(through.kernel()).kernel), None)
    a, b = np.random.default_rng(0).random((64, 4), np.float32), np.zeros((64, 4), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a[::-1])


def copying(kind: str) -> object:
    @T.function
    def move(A: T.Tensor((32, 8), kind), B: T.Tensor((32, 8), kind)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        i = T.cuda.thread_idx("x")
        for j in T.unroll(8):
            B[i, j] = A[i, j]
    return move


WIDTHS = {"bool": 8, "bfloat16": 16, "float8_e4m3": 8, "float8_e5m2": 8, "bits8": 8, "bits16": 16, "bits32": 32,
          "bits64": 64, "bits128": 128}


@pytest.mark.parametrize("kind", WIDTHS)
def test_types_without_arithmetic(kind: str) -> None:
    """Each type that can be moved, by bytes: what a single access leaves, the merged one leaves."""
    before = copying(kind).kernel()  # type: ignore[attr-defined]
    merging = merged(before)
    assert bool(merging.obligations) == (WIDTHS[kind] < 128)
    size = 32 * 8 * WIDTHS[kind] // 8
    first = np.random.default_rng(0).integers(0, 2 if kind == "bool" else 256, size).astype(np.uint8)
    results = []
    for kernel in (before, merging.kernel):
        module = emit(kernel)
        out = np.zeros_like(first)
        arguments = [PointerArgument(first.copy(), "A"), PointerArgument(out, "B")]
        simulate(module.ptx, module.entry, (1, 1, 1), (32, 1, 1), arguments)
        results.append(out)
    np.testing.assert_array_equal(results[0], first)
    np.testing.assert_array_equal(results[1], first)


@T.function
def reversed_order(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    x3 = A[i, 3]
    x1 = A[i, 1]
    B[i, 2] = x3
    x0 = A[i, 0]
    B[i, 0] = x1
    x2 = A[i, 2]
    B[i, 3] = x0
    B[i, 1] = x2


def test_order_in_the_text_does_not_matter() -> None:
    assert opcodes(reversed_order.kernel()) == ["ld.global.v4.b32", "st.global.v4.b32"]
    exe = ptxspec.compile(reversed_order, "sim")
    a, b = np.random.default_rng(0).random((64, 4), np.float32), np.zeros((64, 4), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a[:, [1, 2, 3, 0]])


@T.function
def mutable(A: T.Tensor((64, 4), "int32"), B: T.Tensor((64, 4), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    r = T.alloc_local((1,), "int32")
    for j in T.unroll(4):
        r[0] = A[i, j]
        B[i, j] = r[0]


def test_register_that_changes_between_the_writes() -> None:
    """All four words pass through one register; the vector must hold each as it was."""
    exe = ptxspec.compile(mutable, "sim")
    assert "st.global.v4.b32" in exe.ptx
    a, b = np.arange(256, dtype=np.int32).reshape(64, 4), np.zeros((64, 4), np.int32)
    exe(a, b)
    np.testing.assert_array_equal(b, a)


@T.function
def guarded_start(A: T.Tensor((N,), "float32"), B: T.Tensor((64, 2), "float32"), s: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    if s >= 0 and s % 2 == 0 and s + 128 <= N and s < 1000:
        B[i, 0] = A[s + 2 * i]
        B[i, 1] = A[s + 2 * i + 1]


def test_a_guard_is_a_fact() -> None:
    assert opcodes(guarded_start.kernel()) == ["ld.global.v2.b32", "st.global.v2.b32"]


def test_elements_passed_on_are_not_taken_apart() -> None:
    """A copy by elements is the two vector instructions; where an element is used elsewhere it has its register."""
    text = emit(merged(copying("uint8").kernel()).kernel).ptx  # type: ignore[attr-defined]
    loaded, = re.findall(r"ld\.global\.v2\.b32 (\{.*?\})", text)
    stored, = re.findall(r"st\.global\.v2\.b32 \[.*\], (\{.*?\})", text)
    assert loaded == stored
    assert "b16" not in text

    @T.function
    def also(A: T.Tensor((64, 4), "uint8"), B: T.Tensor((64, 4), "uint8"), C: T.Tensor((64,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        x = A[i, 2]
        C[i] = T.int32(x) * 3
        B[i, 2] = x
        for j in T.unroll(2):
            B[i, j] = A[i, 1 - j]
        B[i, 3] = A[i, 3]
    exe = ptxspec.compile(also, "sim")
    a, b = np.random.default_rng(0).integers(0, 256, (64, 4)).astype(np.uint8), np.zeros((64, 4), np.uint8)
    c = np.zeros(64, np.int32)
    exe(a, b, c)
    np.testing.assert_array_equal(b, a[:, [1, 0, 2, 3]])
    np.testing.assert_array_equal(c, a[:, 2].astype(np.int32) * 3)


reverse = TileLayout(S[(64, 4) : (4, -1)])


@T.function
def backwards(A: T.Tensor((64, 4), "float32", layout=reverse), B: T.Tensor((64, 4), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    for j in T.unroll(4):
        B[i, j] = A[i, j]


def test_rows_that_run_backwards() -> None:
    """The array's base is its highest word of the first row: a multiple of 16 bytes plus 12, which no base can promise
    to be a multiple of 16; the words themselves are neighbours."""
    before = backwards.kernel()
    assert opcodes(before)[0] == "ld.global.b32"
    assert opcodes(before)[-1] == "st.global.v4.b32"
    exe = ptxspec.compile(backwards, "sim")
    a, b = np.random.default_rng(0).random((64, 4), np.float32), np.zeros((64, 4), np.float32)
    exe(a[:, ::-1], b)
    np.testing.assert_array_equal(b, a[:, ::-1])
