"""What some iterations do alone: counterexamples shown by the simulator, and how often barriers are met."""

from __future__ import annotations

from pathlib import Path

import pytest
from loading import load
from proof_support.maker import traced

from ptxspec.lang.function import KernelFunction
from ptxspec.proof import prove

CORPUS = Path(__file__).resolve().parent.parent / "proofs"
LATE = [v for v in vars(load(CORPUS / "refuted" / "late.py")).values() if isinstance(v, KernelFunction)]
MODEL = [v for v in vars(load(CORPUS / "refuted" / "memory_model.py")).values() if isinstance(v, KernelFunction)]


@pytest.mark.parametrize("function", LATE, ids=[f.__name__ for f in LATE])
def test_the_simulator_shows_what_is_wrong_in_a_later_iteration(function: KernelFunction) -> None:
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    kernel = function.kernel()
    found = [replay(kernel, o) for o in prove(kernel, use_cache=False).obligations if o.verdict == "refuted"]
    assert found
    for one in found:
        # Where a predicate was false, the machine's register keeps what the kernel says is lost.
        assert one.status == ("terms" if function.__name__.startswith("lost") else "same"), one.text()


@pytest.mark.parametrize("function", MODEL, ids=[f.__name__ for f in MODEL])
def test_what_the_memory_model_forbids_is_said_to_show_no_fault(function: KernelFunction) -> None:
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    kernel = function.kernel()
    for obligation in prove(kernel, use_cache=False).obligations:
        if obligation.verdict == "refuted":
            assert obligation.counterexample is not None
            found = replay(kernel, obligation)
            assert found.status == "terms"
            assert found.reason == obligation.counterexample.unseen


KEPT = '''\
from ptxspec import T


@T.function
def kernel(A: T.Tensor((4, 1), "float32"), B: T.Tensor((4, 1), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((1,), "float32")
    for i in T.serial(3):
        if i == 2:
            T.cuda.tile.apply(T.ptx["st.global.b32"], B.sub[tid, :], q)
        T.cuda.tile.apply(T.ptx["ld.global.b32"], q, A.sub[tid, :], pred=i == 0)
'''


def test_a_register_that_one_load_of_a_loop_wrote_and_lost_is_no_disagreement() -> None:
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    kernel = traced(KEPT)
    (broken,) = [o for o in prove(kernel, use_cache=False).obligations if o.verdict == "refuted"]
    found = replay(kernel, broken)
    assert found.status == "terms", found.text()
    assert "older value" in found.reason


NESTED = '''\
from ptxspec import T


@T.function
def kernel(A: T.Tensor((4, 4), "float32", align=16), B: T.Tensor((4,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    tid = T.cuda.thread_idx("x")
    T.assume(n >= 2)
    T.assume(n <= 6)
    q = T.alloc_local((4,), "float32")
    for i in T.serial(6):
        for k in T.serial(1, n):
            if i > 0 or k > 0:
                B[tid] = q[0] + q[1] + q[2] + q[3]
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q, A.sub[tid, :], pred=n > 1, preserve_dst=True)
'''


def test_nested_loops_whose_trips_are_few_but_not_known_are_quick() -> None:
    """Conditions used to double with each iteration: this took minutes."""
    report = prove(traced(NESTED), use_cache=False)
    assert report.verdict == "refuted"
    assert report.ms < 20_000
