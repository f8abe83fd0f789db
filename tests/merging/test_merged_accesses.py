"""Which neighbouring element accesses become one, which must not, and what the report says of both."""

from __future__ import annotations

import numpy as np
import pytest
from merged_text import opcodes
from ptxspec.backend.merging import merged
from ptxspec.backend.merging.widths import widths

import ptxspec
from ptxspec import T
from ptxspec.forms.select import select_widest
from ptxspec.layout import S, TileLayout

N, P = T.dim("N"), T.dim("P")




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
