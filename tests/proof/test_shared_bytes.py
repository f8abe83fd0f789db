"""Shared memory byte by byte: what is left unjudged is named, examples replay, and the look costs little."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from loading import load
from proof_support import brute, pipelines
from proof_support.maker import traced

from ptxspec.lang.function import KernelFunction
from ptxspec.proof import defined_bytes, defined_plan, prove

CORPUS = Path(__file__).resolve().parent.parent / "proofs"

HEAD = """
from ptxspec import T
@T.function
def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "int32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
"""


def module(verdict: str) -> ModuleType:
    """The corpus file of a verdict."""
    return load(CORPUS / verdict / "shared_bytes.py")


def kernels(verdict: str) -> list[KernelFunction]:
    """The kernels of a corpus file."""
    return [k for k in vars(module(verdict)).values() if isinstance(k, KernelFunction)]


@pytest.mark.parametrize("kernel", kernels("proved"), ids=lambda k: k.__name__)
def test_every_byte_is_judged(kernel: KernelFunction) -> None:
    report = prove(kernel, use_cache=False)
    assert report.verdict == "proved"
    assert report.not_judged == ()


@pytest.mark.parametrize("kernel", kernels("refuted"), ids=lambda k: k.__name__)
def test_examples_show_the_same_byte_in_the_simulator(kernel: KernelFunction) -> None:
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    report = prove(kernel, use_cache=False)
    (broken,) = [o for o in report.obligations if o.verdict == "refuted"]
    assert broken.counterexample is not None
    assert broken.counterexample.byte is not None
    found = replay(kernel.kernel(), broken)
    assert (found.status, found.reason) == ("same", "thread and byte"), found.text()


@pytest.mark.parametrize(("body", "reason"), [
    ("s[C[tid] % 64] = 1.0\n    T.cuda.cta_sync()\n    B[tid] = s[tid]", "was not worked out"),
    ("if tid < 63:\n        s[tid] = 1.0\n    T.cuda.cta_sync()\n    B[tid] = s[C[tid] % 32]", "depends on"),
    ("if C[0] > 100:\n        s[tid] = 1.0\n    T.cuda.cta_sync()\n    B[tid] = s[tid]", "only where `C[0] > 100`"),
    ("if C[tid] > 100:\n        s[tid] = 1.0\n    T.cuda.cta_sync()\n    if tid < 60:\n        "
     "B[tid] = s[tid + 2]", "only where `C[tid] > 100`"),
])
def test_what_cannot_be_followed_is_named(body: str, reason: str) -> None:
    report = prove(traced(HEAD + "    " + body + "\n"), use_cache=False)
    left = report.not_judged
    assert len(left) == 1, report.text()
    assert reason in left[0]
    assert left[0].startswith("line ")
    assert report.to_json()["not_judged"] == list(left)
    assert f"not judged: {left[0]}" in report.text()


def test_pages_and_terminals_name_it_too() -> None:
    from ptxspec.cli.report import text
    from ptxspec.report.page import fragment

    body = "    s[C[tid] % 64] = 1.0\n    T.cuda.cta_sync()\n    B[tid] = s[tid]\n"
    report = prove(traced(HEAD + body), use_cache=False)
    (left,) = report.not_judged
    assert text(report).count(f"not judged: {left}") == 1
    assert text(report, table=False).count(f"not judged: {left}") == 1
    assert "not judged: line 10" in fragment(None, report)


def test_any_place_of_an_array_that_is_full_holds_something() -> None:
    body = "for i in T.serial(2):\n        s[tid % 32 + i * 32] = 1.0\n        T.cuda.cta_sync()\n" \
           "    B[tid] = s[C[tid] % 64]"
    report = prove(traced(HEAD + "    " + body + "\n"), use_cache=False)
    assert report.not_judged == ()


def test_a_write_under_a_condition_that_the_read_lacks_is_refuted_with_a_value() -> None:
    body = "if n > 100:\n        s[tid] = 1.0\n    T.cuda.cta_sync()\n    B[tid] = s[tid]"
    report = prove(traced(HEAD + "    " + body + "\n"), use_cache=False)
    (broken,) = [o for o in report.obligations if o.verdict == "refuted"]
    assert "may find nothing: these bytes of s are written only where `n > 100`" in broken.message
    assert broken.counterexample is not None
    assert broken.counterexample.values["n"] <= 100
    assert report.not_judged == ()
    within = prove(traced(HEAD + "    T.assume(n > 200)\n    " + body + "\n"), use_cache=False)
    assert (within.verdict, within.not_judged) == ("proved", ())


def test_a_neighbour_under_its_own_guard_is_followed() -> None:
    body = "if tid < n:\n        s[tid] = 1.0\n    T.cuda.cta_sync()\n    if tid > 0 and tid < n:\n        " \
           "B[tid] = s[tid - 1]"
    report = prove(traced(HEAD + "    " + body + "\n"), use_cache=False)
    assert report.verdict == "proved"
    assert report.not_judged == ()


def test_a_neighbour_under_a_guard_that_does_not_reach_it_is_refuted() -> None:
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    body = "if tid < n:\n        s[tid] = 1.0\n    T.cuda.cta_sync()\n    if tid + 1 < n and n < 60:\n        " \
           "B[tid] = s[tid + 2]"
    kernel = traced(HEAD + "    " + body + "\n")
    report = prove(kernel, use_cache=False)
    (broken,) = [o for o in report.obligations if o.verdict == "refuted"]
    example = broken.counterexample
    assert example is not None and example.thread is not None
    assert example.values["n"] == example.thread[0] + 2
    assert report.not_judged == ()
    assert replay(kernel, broken).status == "same"


def test_an_array_that_all_threads_fill_first_needs_no_numpy(tmp_path: Path) -> None:
    code = """
import sys
from ptxspec.proof import prove
from ptxspec import T

@T.function
def swap(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    s[0, tid] = A[tid]
    s[1, 63 - tid] = A[tid]
    T.cuda.cta_sync()
    if tid < n:
        B[tid] = s[1, 63 - tid]

report = prove(swap, use_cache=False)
print(report.verdict, report.not_judged, "numpy" in sys.modules)
"""
    path = tmp_path / "filled_first.py"
    path.write_text(code)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "proved () False", done.stderr


#: How many iterations are gone through from the first, and in a row from anywhere: as it is, and so few that most loops
#: of the random kernels are looked at in the second way.
@pytest.mark.parametrize(("first", "row"), [(64, 3), (2, 3), (1, 2)])
def test_random_pipelines_agree_with_brute_force(first: int, row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    monkeypatch.setattr(defined_bytes, "EXACT_TRIPS", first)
    monkeypatch.setattr(defined_bytes, "WINDOW", row)
    if first < 64:  # otherwise each value of n is tried
        monkeypatch.setattr(defined_plan, "_values", lambda var, accesses: None)
    count = {"proved": 0, "refuted": 0, "not judged": 0, "same": 0}
    for seed in range(first * 1000, first * 1000 + 60):
        made = pipelines.make(seed)
        kernel = made.trace()
        truth = brute.Truth(kernel, made.values)
        report = prove(kernel, use_cache=False)
        bad = truth.broken(report)
        refuted = {o.code for o in report.obligations if o.verdict == "refuted"}
        loose = {"race-free"} if "convergent" in bad else set()
        assert refuted <= bad | truth.soft | loose, f"{first} {seed}: {refuted}\n{made.text}"
        assert report.verdict != "proved" or not bad, f"{first} {seed}: {bad}\n{made.text}"
        count[report.verdict] += 1
        count["not judged"] += bool(report.not_judged)
        for broken in report.obligations if seed % 4 == 0 else ():
            if broken.verdict == "refuted" and broken.code == "defined":
                found = replay(kernel, broken)
                assert found.status != "differs", f"{first} {seed}: {found.text()}\n{made.text}"
                count["same"] += found.status == "same"
    assert count["proved"] > 10
    assert count["refuted"] > 20
    assert count["same"] > 2
    assert count["not judged"] == 0 or first < 64


def test_thousands_of_iterations_are_not_gone_through() -> None:
    body = "for i in T.serial(1000000):\n        s[(tid + i) % 64] = 1.0\n        T.cuda.cta_sync()\n        " \
           "B[tid] = s[tid]\n        T.cuda.cta_sync()"
    report = prove(traced(HEAD + "    " + body + "\n"), use_cache=False)
    assert report.verdict == "proved"
    assert report.ms < 2000
