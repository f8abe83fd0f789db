"""Linter against real assemblers, line by line, on random lines. ``scripts/lint_differential.py`` runs many more."""

from __future__ import annotations

import os

import pytest

from .assembler import MACHINES, Machine, executable
from .compare import Difference, compare, draw, draw_others, lint_lines
from .lines import TAIL, head

SEED = int(os.environ.get("PTXSPEC_SEED", "1"))
SAMPLE = (MACHINES[0], MACHINES[4], MACHINES[12], MACHINES[15])


def need(machine: Machine) -> None:
    """Skip where this release is not on the machine (``scripts/toolchains`` fetches it)."""
    if executable(machine.toolkit) is None:
        pytest.skip(f"ptxas {machine.toolkit} is not on this machine")


def show(found: list[Difference]) -> str:
    return "\n".join(str(d) for d in found[:10])


@pytest.mark.parametrize("machine", SAMPLE, ids=str)
def test_loads_stores_and_moves(machine: Machine) -> None:
    need(machine)
    found = compare(draw(SEED, machine, 250), machine)
    assert not found, show(found)


@pytest.mark.parametrize("machine", SAMPLE[2:], ids=str)
def test_other_instructions(machine: Machine) -> None:
    need(machine)
    found = compare(draw_others(SEED, machine, 250), machine)
    assert not found, show(found)


def test_the_sample_is_worth_comparing() -> None:
    """Lines of both kinds, refused for many different reasons."""
    machine = MACHINES[12]
    lines = draw(SEED, machine, 600)
    refused: dict[int, str] = {}
    for at in range(0, len(lines), 150):
        refused |= {at + i: m for i, m in lint_lines(lines[at : at + 150], machine, head((9, 0), 90), TAIL).items()}
    assert 150 < len(refused) < 500
    assert len({message.split()[0] for message in refused.values()}) >= 15
    assert len({m.ptx for m in MACHINES}) >= 10
    assert len({(m.ptx, m.sm) for m in MACHINES}) >= 15
