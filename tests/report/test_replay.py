"""--replay: the simulator shows the counterexample's own fault, or says why none can show."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ptxspec.cli import run
from ptxspec.cli.kernels import kernels
from ptxspec.diagnostics import KernelError
from ptxspec.proof import prove
from ptxspec.report import replay, replay_all

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "proof"))

#: What each refuted example shows: status and kind of fault.
BROKEN = {
    "aligned": ("same", "misaligned"), "aligned_dtype_view": ("same", "misaligned"), "consecutive": ("terms", ""),
    "convergent": ("same", "divergent-barrier"), "defined": ("same", "undefined"), "disjoint": ("terms", ""),
    "fits": ("terms", ""), "in_space": ("same", "out-of-bounds"), "no_wrap": ("terms", ""), "owned": ("terms", ""),
    "race_between_blocks": ("same", "race"), "race_free": ("same", "race"), "register_view_too_large": ("terms", ""),
    "row_past_the_end": ("same", "out-of-bounds"),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_examples(name: str) -> None:
    kernel, = kernels(str(ROOT / "examples" / "broken" / f"{name}.py"))
    report = prove(kernel)
    found = replay_all(kernel, report)
    assert found
    status, kind = BROKEN[name]
    for one in found:
        assert one.status == status, one.text()
        assert one.ok
        assert (one.fault.kind if one.fault is not None else "") == kind
    if status == "same":
        first = report.failures()[0].counterexample
        assert first is not None
        fault = found[0].fault
        assert fault is not None
        places = {(fault.thread, fault.block), (fault.other_thread, fault.other_block)}
        assert (first.thread, first.block) in places


@pytest.mark.parametrize("file", ["addresses.py", "threads.py"])
def test_refuted_corpus(file: str) -> None:
    for kernel in kernels(str(ROOT / "tests" / "proofs" / "refuted" / file)):
        for one in replay_all(kernel, prove(kernel)):
            assert one.status in ("same", "terms"), f"{kernel.__name__}: {one.text()}"


#: Kernel, obligation, what shows, byte: blocks at the end of a large grid, a GiB of memory, floats, clusters.
FAR = [
    ("cluster_race", "race-free", "same", 0), ("far", "no-wrap", "terms", None), ("far", "in-bounds", "same", 32032),
    ("big", "in-bounds", "same", 1 << 30), ("big", "race-free", "hidden", None),
    ("float_guard", "in-bounds", "same", -4),
]


@pytest.mark.parametrize(("name", "obligation", "status", "byte"), FAR)
def test_far_counterexamples(name: str, obligation: str, status: str, byte: int | None) -> None:
    kernel, = kernels(f"{Path(__file__).parent / 'far_kernels.py'}:{name}")
    one, = [r for r in replay_all(kernel, prove(kernel)) if r.name == obligation]
    assert one.status == status, one.text()
    if byte is not None:
        assert one.fault is not None
        assert one.fault.offset == byte


def _random(first: int, last: int) -> Iterator[tuple[int, Counter[tuple[str, str]], str]]:
    from proof_support import generator
    for seed in range(first, last):
        made = generator.make(seed)
        try:
            kernel = made.trace()
        except KernelError:
            continue
        counts: Counter[tuple[str, str]] = Counter()
        text = ""
        for obligation in prove(kernel, use_cache=False).obligations:
            if obligation.verdict == "refuted":
                one = replay(kernel, obligation)
                counts[obligation.code, one.status] += 1
                if not one.ok:
                    text += f"\n{one.text()}\n{made.text}"
        yield seed, counts, text


@pytest.mark.parametrize("first", [0, 40])
def test_random_kernels_agree(first: int) -> None:
    total: Counter[tuple[str, str]] = Counter()
    for seed, counts, text in _random(first, first + 40):
        assert not text, f"seed {seed}{text}"
        total += counts
    assert total["aligned", "same"] > 3
    assert total["race-free", "same"] > 3


@pytest.mark.slow
def test_many_random_kernels_agree() -> None:
    for seed, _, text in _random(1000, 1400):
        assert not text, f"seed {seed}{text}"


def test_a_disagreement_is_loud(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import ptxspec.proof
    file = str(ROOT / "examples" / "broken" / "row_past_the_end.py")
    kernel, = kernels(file)
    report = prove(kernel)
    bad = report.failures()[0]
    assert bad.counterexample is not None
    # A prover that names the wrong thread: that thread has no fault.
    wrong = replace(bad.counterexample, thread=(5, 0, 0), env={
        v: (5 if getattr(v, "role", "") == "tid.x" else n) for v, n in bad.counterexample.env.items()})
    one = replay(kernel, replace(bad, counterexample=wrong))
    assert one.status == "differs"
    assert not one.ok
    assert "DIFFERS" in one.text()
    lying = replace(report, obligations=tuple(replace(o, counterexample=wrong) if o is bad else o
                                              for o in report.obligations))
    monkeypatch.setattr(ptxspec.proof, "prove", lambda kernel, sm: lying, raising=False)
    assert run(["prove", file, "--replay"]) == 3
    assert "DIFFERS" in capsys.readouterr().out


def test_wrong_byte_differs() -> None:
    kernel, = kernels(str(ROOT / "examples" / "broken" / "aligned.py"))
    bad = prove(kernel).failures()[0]
    assert bad.counterexample is not None
    one = replay(kernel, replace(bad, counterexample=replace(bad.counterexample, byte=8)))
    assert one.status == "differs"
    assert "byte 4, not 8" in one.reason


def test_status_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(ROOT / "examples" / "broken" / "race_free.py")
    assert run(["prove", file, "--replay", "--json"]) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    shown, = [r["replay"] for r in rows if "replay" in r]
    assert shown["status"] == "same"
    assert shown["fault"]["kind"] == "race"


def test_proved_obligation_has_nothing_to_replay() -> None:
    kernel, = kernels(str(ROOT / "examples" / "cta_copy.py"))
    one = replay(kernel, prove(kernel).obligations[0])
    assert one.status == "not run"
    assert "proved" in one.reason


def test_wrapped_value_is_shown() -> None:
    kernel, = kernels(str(ROOT / "examples" / "broken" / "no_wrap.py"))
    one, = replay_all(kernel, prove(kernel))
    assert any("goes on with -" in t for t in one.terms)
