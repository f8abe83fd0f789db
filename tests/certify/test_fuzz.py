"""Malformed opcodes and spec files get a verdict or clear errors: a sample here, all of it by scripts/fuzz."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from fuzzing.__main__ import run_opcodes, run_specs
from fuzzing.specs import problems, texts

from ptxspec.db.load import read

SEED = int(os.environ.get("PTXSPEC_SEED", "20"))


def test_any_opcode_gets_the_same_verdict_alone_and_in_bulk() -> None:
    faults, seen = run_opcodes(6000, SEED)
    assert faults == []
    assert {"legal", "F001", "F101", "F102", "F103", "F104", "F201", "F301"} <= set(seen)


def test_changed_specs_are_sound_or_refused_with_a_place() -> None:
    faults, seen = run_specs(120, SEED)
    assert faults == []
    assert seen["sound"] < 60
    assert len(seen) > 4


@pytest.mark.parametrize("text", texts()[:3])
def test_the_originals_are_sound(text: str) -> None:
    assert problems(text, read()) == []
