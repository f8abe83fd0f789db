"""``scripts/soundness``: it judges, resumes, kills what is stuck, and its own judges can tell right from wrong."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def campaign_path(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("tests/proof", "scripts"):
        monkeypatch.syspath_prepend(str(ROOT / folder))


def command(out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PTXSPEC_PYTHON": sys.executable}
    return subprocess.run(
        [str(ROOT / "scripts" / "soundness"), "--jobs", "1", "--out", str(out), "--seconds", "200", *more],
        capture_output=True, text=True, env=environment, timeout=400, check=False,
    )


def test_a_small_campaign_judges_writes_and_resumes(tmp_path: Path) -> None:
    done = command(tmp_path, "--kernels", "12")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "soundness.json").read_text())
    assert result["kernels"]["judged"] >= 12
    assert result["wrong"] == []
    first = (tmp_path / "kernels.jsonl").read_text()
    again = command(tmp_path, "--kernels", "16")
    assert again.returncode == 0, again.stdout + again.stderr
    assert (tmp_path / "kernels.jsonl").read_text().startswith(first)
    seeds = [json.loads(line)["seed"] for line in (tmp_path / "kernels.jsonl").read_text().splitlines()]
    assert len(seeds) == len(set(seeds)) >= 16
    assert "proved, but wrong" in (tmp_path / "soundness.md").read_text()


def test_results_of_other_sources_are_not_added_to(tmp_path: Path) -> None:
    old = json.dumps({"seed": 1_000_000, "outcome": "proved right", "verdict": "proved", "broken": []}) + "\n"
    (tmp_path / "kernels.jsonl").write_text(old)
    (tmp_path / "sources").write_text("79e55654b41f\n")
    refused = command(tmp_path, "--kernels", "2")
    assert refused.returncode == 2
    assert "has results of sources 79e55654b41f; this is sources " in refused.stderr
    assert "--out FRESH" in refused.stderr and "--restart" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert (tmp_path / "kernels.jsonl").read_text() == old, "nothing is touched"
    assert (tmp_path / "sources").read_text() == "79e55654b41f\n"
    (tmp_path / "notes.txt").write_text("mine")
    done = command(tmp_path, "--kernels", "2", "--restart", "--family", "late")
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(line) for line in (tmp_path / "kernels.jsonl").read_text().splitlines()]
    assert {r["family"] for r in records} == {"late"}
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert len(json.loads((tmp_path / "soundness.json").read_text())["sources"]) == 1
    other = command(tmp_path, "--kernels", "4")
    assert other.returncode == 2 and "(family late alone)" in other.stderr, "nor are kernels of one family and of all"


def test_a_folder_without_a_digest_is_not_trusted(campaign_path: None, tmp_path: Path) -> None:
    folder = importlib.import_module("soundness_campaign.folder")
    folder.claim(tmp_path / "new" / "deep", "0123")
    folder.claim(tmp_path / "new" / "deep", "4567")  # nothing was judged there yet
    (tmp_path / "mutants.jsonl").write_text("{}\n")
    with pytest.raises(folder.Mixed, match="left no digest"):
        folder.claim(tmp_path, "0123")
    (tmp_path / "sources").write_text("0123\n4567\n")
    with pytest.raises(folder.Mixed, match="sources 0123, 4567"):
        folder.claim(tmp_path, "0123")
    folder.restart(tmp_path)
    folder.claim(tmp_path, "0123", "late")
    assert (tmp_path / "sources").read_text() == "0123 family=late\n"


def test_a_stuck_task_is_killed_and_the_rest_goes_on(campaign_path: None) -> None:
    pool = importlib.import_module("soundness_campaign.pool")

    def handle(task: tuple[str, dict[str, object]]) -> dict[str, object]:
        if task[1]["seed"] == 3:
            time.sleep(60)
        if task[1]["seed"] == 4:
            os._exit(1)
        if task[1]["seed"] == 5:
            raise RuntimeError("five")
        return {**task[1], "outcome": "fine"}

    tasks = iter([("kernel", {"seed": n}) for n in range(9)])
    records = [r for _, r in pool.Pool(handle, 1, 1.0).run(tasks, time.monotonic() + 30, lambda: False)]
    assert {r["seed"]: r["outcome"] for r in records} == {
        **dict.fromkeys(range(9), "fine"), 3: "time", 4: "died", 5: "error",
    }


BASE = '''import ptxspec.lang.t as T

@T.function
def kernel(A: T.Tensor((8, 4), "float32", align=16), B: T.Tensor((8, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((8,), "float32")
    s[tid] = A[tid, 0]
    T.cuda.cta_sync()
    B[tid, 1] = s[7 - tid]
'''


def test_mutants_hold_the_changes_that_matter_and_the_prover_kills_them(campaign_path: None) -> None:
    mutants = importlib.import_module("soundness_campaign.mutants")
    judge = importlib.import_module("soundness_campaign.judge")
    found = dict(mutants.mutants(BASE))
    assert {"dropped: T.cuda.cta_sync()", "7 becomes 8", "indices swapped", "tid shifted"} <= set(found)
    for what in ("dropped: T.cuda.cta_sync()", "7 becomes 8", "statements swapped"):
        record, _, _ = judge.judged(found[what], {})
        assert record["broken"], what
        assert record["outcome"] == "refuted right", what
    assert judge.judged(BASE, {})[0]["outcome"] == "proved right"


def test_a_wrong_verdict_would_be_noticed(campaign_path: None, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = importlib.import_module("soundness_campaign.judge")
    right = judge.prove(judge.traced(BASE), use_cache=False)
    wrong = judge.prove(judge.traced(BASE.replace("    T.cuda.cta_sync()\n", "")), use_cache=False)
    monkeypatch.setattr(judge, "prove", lambda *_, **__: right)
    assert judge.judged(BASE.replace("    T.cuda.cta_sync()\n", ""), {})[0]["outcome"] == "proved wrong"
    monkeypatch.setattr(judge, "prove", lambda *_, **__: wrong)
    assert judge.judged(BASE, {})[0]["outcome"] == "refuted wrong"


def test_every_family_makes_kernels_that_brute_force_can_judge(campaign_path: None) -> None:
    families = importlib.import_module("soundness_campaign.families")
    judge = importlib.import_module("soundness_campaign.judge")
    seen: dict[str, set[object]] = {}
    for seed in [*range(40), 60, 100, 140]:
        family, made = families.make(seed)
        outcome = judge.judged(made.text, made.values)[0]["outcome"]
        assert outcome not in judge.WRONG, f"seed {seed}\n{made.text}"
        seen.setdefault(family, set()).add(outcome)
    assert set(seen) == {"scopes", "copies", "tiles", "exchanges", "late", "dealt"}
    assert all("proved right" in outcomes for outcomes in seen.values())


@pytest.mark.parametrize("family", ["late", "dealt"])
def test_a_family_has_right_and_wrong_kernels(campaign_path: None, family: str) -> None:
    families = importlib.import_module("soundness_campaign.families")
    judge = importlib.import_module("soundness_campaign.judge")
    seen: dict[object, int] = {}
    for seed in range(60):
        made = families.alone(family, seed)
        record = judge.judged(made.text, made.values)[0]
        assert record["outcome"] not in judge.WRONG, f"seed {seed}\n{made.text}"
        seen[record["outcome"]] = seen.get(record["outcome"], 0) + 1
    assert seen["proved right"] > 15 and seen["refuted right"] > 15, seen


def test_a_kernel_that_emission_refuses_is_counted_as_such(
    campaign_path: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    simulation = importlib.import_module("soundness_campaign.simulation")
    page = importlib.import_module("soundness_campaign.page")
    maker = importlib.import_module("proof_support.maker")
    from ptxspec.diagnostics import Diagnostic, PtxspecError
    from ptxspec.proof import prove

    def refuse(kernel: object, sm: str) -> None:
        raise PtxspecError(Diagnostic("E101", "no such text"))

    kernel = maker.traced(BASE)
    report = prove(kernel)
    assert simulation.opinion(kernel, {}, report) == {"agrees": True, "about": "proved"}
    monkeypatch.setattr(simulation, "emit", refuse)
    opinion = simulation.opinion(kernel, {}, report)
    assert opinion == {"agrees": True, "about": "not emitted", "code": "E101"}
    record = {"seed": 1, "family": "programs", "outcome": "proved right", "verdict": "proved", "broken": [], "has": [],
              "obligations": 3, "prove_ms": 1.0, "simulator": opinion}
    figures = page.random_figures([record])
    assert figures["simulator"]["kernels"] == 0
    assert figures["simulator"]["not emitted"] == {"E101": 1}


def test_both_solvers_are_asked(campaign_path: None) -> None:
    pytest.importorskip("cvc5")
    solvers = importlib.import_module("soundness_campaign.solvers")
    maker = importlib.import_module("proof_support.maker")
    result = solvers.compare(maker.traced(BASE))
    assert result["outcome"] == "compared"
    assert result["count"]["prover and cvc5 agree"] >= 3
    assert solvers.cvc5_says("(declare-const x Int)(assert (> x x))(check-sat)") == "unsat"
    assert solvers.z3_says("(declare-const x Int)(assert (= x 2))(check-sat)") == "sat"
