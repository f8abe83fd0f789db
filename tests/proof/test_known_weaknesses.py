"""What provers of such kernels are known to get wrong: each case has the right verdict, and a message to act on.

The cases are those that were measured on an existing implementation; most kernels are in the corpus (``tests/proofs``).
"""

from __future__ import annotations

import pytest
from test_corpus import CASES

import ptxspec
from ptxspec import T
from ptxspec.diagnostics import PtxspecError
from ptxspec.lang.function import KernelFunction
from ptxspec.lang.locate import storage_elements
from ptxspec.layout import S, TileLayout, laneid
from ptxspec.proof import ProofReport, prove

CORPUS = {name: (verdict, kernel) for verdict, name, kernel, _ in CASES}


def report(kernel: KernelFunction, sm: str = "sm_90") -> ProofReport:
    """A proof without the cache."""
    return prove(kernel, sm=sm, use_cache=False)


#: Case, a kernel of the corpus, its code, and what the message must say.
WRONG = [
    ("bounds lost in views", "next_row", "P103", ("thread 63", "guard it with `if tid + 1 < 64:`")),
    ("views larger than their storage", "view_larger_than_storage", "P103",
     ("storage of `A`", "tid = 64 fails, tid = 63 passes")),
    ("overflow of 32 bits: grids", "grid_wraps", "P109", ("blockIdx.x", "T.int64")),
    ("overflow of 32 bits: squares", "square_wraps", "P109", ("n = 46341", "T.int64")),
    ("reinterpretation at odd offsets", "odd_wide_view", "P101", ("n = 1", "T.assume(n % 2 == 0)")),
    ("declared alignment believed", "shared_pool", "P101", ("leaves", "modulo")),
    ("only copy 0 of replicas", "copies_that_stay_in_one_warp", "P105", ("warpid",)),
    ("shared memory without end", "too_much_shared", "P111", ("16777216",)),
    ("missing barriers", "no_barrier", "P107", ("thread 0", "thread 63", "`T.cuda.cta_sync()` before line")),
    ("barrier missing in a loop", "single_buffer", "P107", ("i = 1", "`T.cuda.cta_sync()` before line")),
    ("registers never written", "never_written", "P108", ("without having been written",)),
    ("values after a false predicate", "after_false_predicate", "P108", ("is written only where",)),
    ("shared memory never written", "one_row_short", "P108", ("nobody has written byte 252 of s",)),
]


@pytest.mark.parametrize(("case", "name", "code", "words"), WRONG, ids=[c[0] for c in WRONG])
def test_what_is_wrong_is_refuted_with_an_example(case: str, name: str, code: str, words: tuple[str, ...]) -> None:
    found = report(CORPUS[name][1])
    assert found.verdict == "refuted"
    broken = next(o for o in found.obligations if o.explain == code and o.verdict == "refuted")
    assert broken.diagnostic is not None
    text = broken.diagnostic.render()
    assert all(word in text for word in words), text
    if broken.counterexample is not None and code != "P111":
        assert broken.counterexample.thread is not None
        assert f":{broken.where.line}:" in text


RIGHT = [
    "xor_index", "guard_by_if", "guard_by_predicate", "assumed_multiple", "interleaved_registers",
    "negative_register_stride", "one_part_of_an_overlapping_layout", "one_register_a_lane", "swizzled_rows",
    "symbolic_grid",
]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_proved(name: str) -> None:
    assert report(CORPUS[name][1]).verdict == "proved"


@T.function
def backwards(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32", layout=TileLayout(S[(4,) : (-1,)]))
    for i in T.unroll(4):
        r[i] = A[tid]
    B[tid] = r[3]


def test_a_negative_stride_spans_all_its_elements() -> None:
    kernel = backwards.kernel()
    registers = next(b for b in kernel.buffers if b.scope == "local")
    assert storage_elements(registers).const == 4
    assert report(backwards).verdict == "proved"


def test_a_guard_that_cuts_a_group_is_refused() -> None:
    @T.function
    def half_a_warp(A: T.Tensor((32, 4), "float32", align=16), B: T.Tensor((32, 4), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        q = T.alloc_local((32, 4), "float32", layout=TileLayout(S[(32, 4) : (1 @ laneid, 1)]))
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q, A, scope="warp")
        if T.cuda.lane_id() < 16:
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B, q, scope="warp")

    with pytest.raises(PtxspecError) as refused:
        half_a_warp.kernel()
    assert "needs all its threads, but `threadIdx.x < 16` may differ among them" in str(refused.value)
    assert "move the call out of the branch" in str(refused.value)


def test_a_barrier_that_half_of_the_threads_meet_is_refuted_with_two_threads() -> None:
    found = report(CORPUS["barrier_in_half"][1])
    broken = next(o for o in found.obligations if o.explain == "P110" and o.verdict == "refuted")
    assert broken.counterexample is not None
    assert broken.counterexample.second is not None
    assert broken.counterexample.thread != broken.counterexample.second.thread
    assert "is not reached by all threads" in broken.message


def test_forms_that_a_chip_lacks_are_refused_for_it() -> None:
    def wide() -> KernelFunction:
        @T.function
        def copy(A: T.Tensor((64, 8), "float32", align=32), B: T.Tensor((64, 8), "float32", align=32)):
            T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
            tid = T.cuda.thread_idx("x")
            r = T.alloc_local((8,), "float32")
            T.cuda.tile.apply(T.ptx["ld.global.v8.b32"], r, A.sub[tid])
            T.cuda.tile.apply(T.ptx["st.global.v8.b32"], B.sub[tid], r)

        return copy

    with pytest.raises(PtxspecError) as refused:
        ptxspec.compile(wide(), target="sm_90")
    assert "sm_100" in str(refused.value)


def test_an_assumption_is_checked_before_the_launch_and_named() -> None:
    np = pytest.importorskip("numpy")

    @T.function
    def shifted(A: T.Tensor((64,), "float32"), n: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.assume(n >= 0)
        T.assume(n <= 32)
        A[T.cuda.thread_idx("x") + n] = 1.0

    exe = ptxspec.compile(shifted, target="sim")
    exe(np.zeros(64, "float32"), 32)
    with pytest.raises(PtxspecError) as refused:
        exe(np.zeros(64, "float32"), 33)
    assert "n <= 32" in str(refused.value)


def test_a_proof_costs_the_same_for_one_thread_and_for_all() -> None:
    def of(grid: int, block: int) -> int:
        @T.function
        def fill(A: T.Tensor((grid, block), "float32")):
            T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=block))
            A[T.cuda.block_idx("x"), T.cuda.thread_idx("x")] = 1.0

        found = report(fill)
        assert found.verdict == "proved"
        return sum(o.goals for o in found.obligations)

    assert of(2, 2) == of((1 << 31) - 1, 1024)
