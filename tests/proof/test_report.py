"""Reports: shape, premises, facts, JSON, cache, determinism and what is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ptxspec.lang.t as T
from ptxspec.diagnostics import PtxspecError
from ptxspec.proof import ProofError, prove
from ptxspec.proof.codes import BY_CODE
from ptxspec.scalar.evaluate import evaluate

M = T.dim("M")


@T.function
def scaled(A: T.Tensor((M,), "float32", align=16), B: T.Tensor((M,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 127) // 128, block=128))
    i = T.cuda.block_idx("x") * 128 + T.cuda.thread_idx("x")
    T.assume(n >= 1)
    T.assume(n <= 7)
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A[4 * n : 4 * n + 4], pred=4 * n + 4 <= M)
    if i < M:
        B[i] = A[i]


@T.function
def wrong(A: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid + 1, :])


def test_a_proved_report() -> None:
    report = prove(scaled, use_cache=False)
    assert report.verdict == "proved", report.text()
    assert report.raise_if_bad() is report
    assert report.premises.alignments == {"A": 16, "B": 4}
    assert [text for text, _, _ in report.premises.assumptions] == ["n >= 1", "n <= 7"]
    assert len(report.premises.launch) == 1
    assert {o.explain for o in report.obligations} <= set(BY_CODE)
    assert all(o.ms >= 0 and o.where.line > 0 for o in report.obligations)


def test_facts_used_and_unused() -> None:
    report = prove(scaled, use_cache=False)
    write = next(o for o in report.obligations if o.code == "in-bounds" and o.subject == "write to B")
    assert any(name.startswith("`if i < M`") or "< M" in name for name in write.facts_used)
    assert any("n <= 7" in name for name in write.facts_unused)


def test_a_refuted_report_raises_with_everything_in_it() -> None:
    report = prove(wrong, use_cache=False)
    with pytest.raises(ProofError) as caught:
        report.raise_if_bad()
    assert isinstance(caught.value, PtxspecError)
    assert caught.value.report is report
    assert caught.value.code == "P103"
    failure = report.failures()[0]
    found = failure.counterexample
    assert found is not None
    assert found.thread == (63, 0, 0)
    assert found.block == (0, 0, 0)
    assert found.array == "A"
    assert found.byte == 1024


def test_counterexamples_replay() -> None:
    """The values handed out satisfy the kernel's own expressions."""
    found = prove(wrong, use_cache=False).failures()[0].counterexample
    assert found is not None
    kernel = wrong.kernel()
    row = kernel.body[0].operands[1].steps[0].axes[0].start
    assert evaluate(row, found.env, machine=True) == 64


def test_json_is_plain_and_complete() -> None:
    for kernel in (scaled, wrong):
        out = json.loads(json.dumps(prove(kernel, use_cache=False).to_json()))
        assert {"kernel", "verdict", "ms", "obligations"} <= set(out)
        for obligation in out["obligations"]:
            assert {"code", "verdict", "where", "ms", "message", "counterexample"} <= set(obligation)


def test_runs_are_deterministic() -> None:
    def text() -> list[str]:
        return [d.render() for d in prove(wrong, use_cache=False).diagnostics]

    assert text() == text()


def test_proving_simple_kernels_loads_no_solver() -> None:
    code = (
        "import sys; sys.path.insert(0, 'examples'); import cta_copy; from ptxspec import prove; "
        "assert prove(cta_copy.cta_copy).verdict == 'proved'; assert 'z3' not in sys.modules"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


def test_the_prover_never_raises_for_a_kernel_it_dislikes() -> None:
    assert prove(wrong, rlimit=1, use_cache=False).verdict in ("refuted", "unknown")


def test_a_kernel_of_many_hard_questions_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many queries without an answer, further ones get a small part of the effort; the reason says so."""
    from ptxspec.proof import solver
    from ptxspec.proof.facts import Context
    from ptxspec.scalar.expr import INDEX, Const, Op, Var

    monkeypatch.setattr(solver, "HARD_QUERIES", 3)
    x, y, z = (Var(n, INDEX, "param") for n in "xyz")

    def cube(v: Var) -> Op:
        return Op("mul", (Op("mul", (v, v), INDEX), v), INDEX)

    session = solver.Session(rlimit=400_000)
    reasons = []
    for k in range(6):  # sums of three cubes: nobody decides these by the way
        total = Op("add", (Op("add", (cube(x), cube(y)), INDEX), cube(z)), INDEX)
        answer = session.decide(Op("ne", (total, Const(33 + 1000 * k, INDEX)), "bool"), Context())
        reasons.append(answer.reason)
    assert all("Z3 gave up" in r for r in reasons)
    assert ["allowed less" in r for r in reasons] == [False] * 3 + [True] * 3
