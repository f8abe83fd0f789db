"""Which neighbouring element accesses become one, which must not, and what the report says of both."""

from __future__ import annotations

import re

import numpy as np
import pytest
from ptxspec.backend.emit import emit
from ptxspec.backend.executable import Executable
from ptxspec.backend.merging import merged
from ptxspec.backend.merging.widths import widths
from ptxspec.backend.simulate import PointerArgument, simulate

import ptxspec
from ptxspec import T
from ptxspec.diagnostics import LaunchError
from ptxspec.forms.select import select_widest
from ptxspec.lang import ir
from ptxspec.layout import S, TileLayout

N, P = T.dim("N"), T.dim("P")




def opcodes(k: ir.Kernel, sm: str = "sm_90") -> list[str]:
    """Loads and stores of the merged kernel's text, by name."""
    text = emit(merged(k, sm).kernel, sm).ptx
    words = [line.split()[0] for line in text.splitlines() if line.startswith(("    ld.", "    st."))]
    return sorted(w for w in words if ".param" not in w)


@T.function
def scale(A: T.Tensor((N, 64), "float32"), B: T.Tensor((N, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=N, block=16))
    row, i = T.cuda.block_idx("x"), T.cuda.thread_idx("x")
    for j in T.unroll(4):
        B[row, 4 * i + j] = A[row, 4 * i + j] * 2.0


@T.function
def four_names(A: T.Tensor((256,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    x0 = A[i * 4]
    x1 = A[i * 4 + 1]
    x2 = A[i * 4 + 2]
    x3 = A[i * 4 + 3]
    B[i] = x0 + x1 + x2 + x3


@T.function
def wide(A: T.Tensor((64, 8), "float32"), B: T.Tensor((64, 8), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    for j in T.unroll(8):
        B[i, j] = A[i, j] + 1.0


@T.function
def halves(A: T.Tensor((64, 8), "float16"), B: T.Tensor((64, 8), "float16")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    for j in T.unroll(8):
        B[i, j] = A[i, j] + T.float16(1.0)


@T.function
def columns(A: T.Tensor((4, 64), "float32", layout=TileLayout(S[(4, 64) : (1, 4)])), B: T.Tensor((64, 4), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    for j in T.unroll(4):
        B[i, j] = A[j, i]


@pytest.mark.parametrize(("function", "expected"), [
    (scale, ["ld.global.v4.b32", "st.global.v4.b32"]),
    (four_names, ["ld.global.v4.b32", "st.global.b32"]),
    (wide, ["ld.global.v4.b32", "ld.global.v4.b32", "st.global.v4.b32", "st.global.v4.b32"]),
    (halves, ["ld.global.v4.b32", "st.global.v4.b32"]),
    (columns, ["ld.global.v4.b32", "st.global.v4.b32"]),
], ids=lambda x: getattr(x, "__name__", ""))
def test_merged(function: object, expected: list[str]) -> None:
    assert opcodes(function.kernel()) == sorted(expected)  # type: ignore[attr-defined]


def test_widest_of_the_target() -> None:
    assert opcodes(wide.kernel(), "sm_100") == ["ld.global.v8.b32", "st.global.v8.b32"]


@pytest.mark.parametrize("sm", ["sm_70", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("verb", ["ld", "st"])
def test_widths_are_those_of_the_database(verb: str, space: str, sm: str) -> None:
    for element in (1, 2, 4, 8, 16):
        found = {w.bytes: w.opcode for w in widths(verb, space, element, sm, None)}
        for size in (2, 4, 8, 16, 32):
            best = [f.opcode for f in select_widest(verb, space, size, sm=sm).forms if f.bytes == size]
            if size >= 2 * element:
                assert (size in found) == bool(best)
                assert found.get(size, "") in ["", *best]
            else:
                assert size not in found


def test_the_merged_kernel_is_proved_whole() -> None:
    for function in (scale, four_names, wide, halves, columns):
        assert ptxspec.prove(merged(function.kernel()).kernel).verdict == "proved"


def test_report_says_what_was_merged_and_why() -> None:
    report = ptxspec.compile(scale, "sm_90").report
    assert report is not None
    assert report.verdict == "proved"
    lines = [n for n in report.notes if "go by" in n]
    assert len(lines) == 2
    assert "4 reads of `A` go by ld.global.v4.b32, 16 bytes an access: all start at a multiple of 16 bytes (proved); " \
        "the widest there is on sm_90" in lines[0]
    proofs = [o for o in report.obligations if o.subject.startswith("merged access")]
    assert [(o.code, o.verdict) for o in proofs] == [("aligned", "proved")] * 2
    assert proofs[0].rule is not None
    assert report.to_json()["notes"] == list(report.notes)


# -- what must stay single --------------------------------------------------------------------------------------


@T.function
def odd_pitch(A: T.Tensor((N, P), "float32"), B: T.Tensor((N, 4), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=N, block=1))
    T.assume(P >= 4)
    row = T.cuda.block_idx("x")
    for j in T.unroll(4):
        B[row, j] = A[row, j]


@T.function
def even_pitch(A: T.Tensor((N, P), "float32"), B: T.Tensor((N, 4), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=N, block=1))
    T.assume(P >= 4)
    T.assume(P % 4 == 0)
    row = T.cuda.block_idx("x")
    for j in T.unroll(4):
        B[row, j] = A[row, j]


def test_symbolic_pitch_needs_an_assumption() -> None:
    assert opcodes(odd_pitch.kernel()) == ["ld.global.b32"] * 4 + ["st.global.v4.b32"]
    note, = (n for n in merged(odd_pitch.kernel()).notes if "one by one" in n)
    assert "4 neighbouring reads of `A` go one by one" in note
    assert "T.assume(P % 2 == 0)" in note
    assert opcodes(even_pitch.kernel()) == ["ld.global.v4.b32", "st.global.v4.b32"]


@T.function
def small_base(A: T.Tensor((64, 4), "float32", align=8), B: T.Tensor((64, 4), "float32", align=4)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    for j in T.unroll(4):
        B[i, j] = A[i, j]


def test_declared_base_alignment_limits_the_width() -> None:
    assert opcodes(small_base.kernel()) == ["ld.global.v2.b32"] * 2 + ["st.global.b32"] * 4
    notes = merged(small_base.kernel()).notes
    assert any("wider needs the base of `A` at a multiple of 16 bytes: align=16" in n for n in notes)
    assert any("4 neighbouring writes of `B` go one by one" in n and "align=8" in n for n in notes)


@T.function
def misaligned_start(A: T.Tensor((64, 8), "float32"), B: T.Tensor((64, 4), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    for j in T.unroll(4):
        B[i, j] = A[i, j + 1]


def test_start_between_words_splits() -> None:
    assert opcodes(misaligned_start.kernel()) == [
        "ld.global.b32", "ld.global.b32", "ld.global.v2.b32", "st.global.v4.b32"]


@T.function
def shift(A: T.Tensor((64, 8), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    for j in T.unroll(7):
        A[i, j + 1] = A[i, j]


def test_in_place_shift_keeps_its_order() -> None:
    """Each read sees what the write before it left: no read may move up, and the writes end the groups."""
    exe = ptxspec.compile(shift, "sim")
    a = np.arange(512, dtype=np.int32).reshape(64, 8)
    exe(a)
    np.testing.assert_array_equal(a, np.repeat(np.arange(0, 512, 8), 8).reshape(64, 8))
    assert all(".v" not in op for op in opcodes(shift.kernel()) if op.startswith("ld"))


@T.function
def in_place(A: T.Tensor((64, 8), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    for j in T.unroll(8):
        A[i, j] = A[i, j] + 1


def test_in_place_update_merges() -> None:
    assert opcodes(in_place.kernel()) == ["ld.global.v4.b32"] * 2 + ["st.global.v4.b32"] * 2


@T.function
def moving_index(A: T.Tensor((64, 8), "int32"), I: T.Tensor((64,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    A[i, 0] = 1
    k = I[i] % 8
    A[i, k] = 2
    A[i, 1] = 3
    x = A[i, 0]
    A[i, k] = 4
    y = A[i, 1]
    A[i, 2] = x + y


def test_unknown_distance_is_a_fence() -> None:
    exe = ptxspec.compile(moving_index, "sim")
    rng = np.random.default_rng(0)
    a, index = np.zeros((64, 8), np.int32), rng.integers(0, 8, 64).astype(np.int32)
    want = a.copy()
    for i, k in enumerate(index):
        want[i, 0] = 1
        want[i, k] = 2
        want[i, 1] = 3
        x = want[i, 0]
        want[i, k] = 4
        want[i, 2] = x + want[i, 1]
    exe(a, index)
    np.testing.assert_array_equal(a, want)
    assert not [op for op in opcodes(moving_index.kernel()) if ".v" in op]


@T.function
def guarded(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 2), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    x = A[i, 0]
    B[i, 0] = x
    if n > 1:
        B[i, 1] = A[i, 1]


@T.function
def fenced(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 2), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    B[i, 0] = A[i, 0]
    T.cuda.cta_sync()
    B[i, 1] = A[i, 1]


@T.function
def ordered(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 2), "float32"), F: T.Tensor((64, 1), "int32", align=4)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    r = T.alloc_local((1,), "int32")
    B[i, 0] = A[i, 0]
    T.cuda.tile.apply(T.ptx["ld.acquire.gpu.global.b32"], r, F.sub[i])
    B[i, 1] = A[i, 1]


@pytest.mark.parametrize("function", [guarded, fenced, ordered], ids=["guarded", "fenced", "ordered"])
def test_nothing_moves_across(function: object) -> None:
    """A guard, a barrier, an access that orders others."""
    assert not [op for op in opcodes(function.kernel()) if ".v" in op]  # type: ignore[attr-defined]


def test_weak_instruction_between_does_not_matter() -> None:
    @T.function
    def beside(A: T.Tensor((64, 2), "float32"), B: T.Tensor((64, 2), "float32"), F: T.Tensor((64, 1), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        r = T.alloc_local((1,), "int32")
        x = A[i, 0]
        T.cuda.tile.apply(T.ptx["ld.global.b32"], r, F.sub[i])
        B[i, 0] = x
        B[i, 1] = A[i, 1] + T.float32(r[0])
    assert opcodes(beside.kernel()) == ["ld.global.b32", "ld.global.v2.b32", "st.global.v2.b32"]


# -- launching ----------------------------------------------------------------------------------------------------


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
