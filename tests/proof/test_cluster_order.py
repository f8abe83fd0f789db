"""Barriers of clusters order the blocks of one cluster: random kernels against brute force, and replays."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
from proof_support.brute import Truth

from ptxspec.proof import prove

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def families() -> ModuleType:
    """The further random kernels of the campaign."""
    sys.path.append(str(ROOT / "scripts"))
    try:
        return importlib.import_module("soundness_campaign.families")
    finally:
        sys.path.remove(str(ROOT / "scripts"))


def test_random_exchanges_agree_with_brute_force(families: ModuleType) -> None:
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    count = {"proved": 0, "refuted": 0, "same": 0}
    for seed in range(20, 20 + 40 * 60, 40):
        family, made = families.make(seed)
        assert family == "exchanges"
        kernel = made.trace()
        truth = Truth(kernel, made.values)
        report = prove(kernel, use_cache=False)
        bad = truth.broken(report)
        refuted = {o.code for o in report.obligations if o.verdict == "refuted"}
        assert report.verdict == ("refuted" if bad else "proved"), f"seed {seed}: {bad}\n{made.text}"
        loose = {"race-free"} if "convergent" in bad else set()
        assert refuted - loose == bad - loose, f"seed {seed}\n{made.text}"
        count[report.verdict] += 1
        for obligation in report.obligations:
            if obligation.verdict == "refuted" and seed % 3 == 0:
                found = replay(kernel, obligation)
                assert found.status != "differs", f"seed {seed}: {found.text()}\n{made.text}"
                count["same"] += found.status == "same"
    assert count["proved"] > 20
    assert count["refuted"] > 10
    assert count["same"] > 2


def test_a_cooperative_instruction_that_some_blocks_skip_is_no_fault_behind_others(families: ModuleType) -> None:
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    for seed in (1001248, 1003104):  # other mistakes of these kernels come first, and are told by themselves
        kernel = families.make(seed)[1].trace()
        (broken,) = [o for o in prove(kernel, use_cache=False).obligations
                     if o.code == "convergent" and o.verdict == "refuted"]
        found = replay(kernel, broken)
        assert found.status == "terms"
        assert "waits for nobody" in found.reason


def test_a_race_behind_a_barrier_that_only_some_threads_meet_is_hidden(families: ModuleType) -> None:
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    kernel = families.make(1001660)[1].trace()
    (race,) = [o for o in prove(kernel, use_cache=False).obligations
               if o.code == "race-free" and o.verdict == "refuted"]
    found = replay(kernel, race)
    assert found.status == "hidden"
    assert "P110" in found.reason


def test_a_condition_that_every_block_meets_keeps_nobody_from_the_barrier(families: ModuleType) -> None:
    kernel = families.make(5_002_020)[1].trace()  # `if b < 3:` in a grid of three blocks
    assert prove(kernel, use_cache=False).verdict == "proved"
