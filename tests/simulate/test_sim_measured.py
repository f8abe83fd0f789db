"""The simulator against an H200: every legal arithmetic and conversion spelling, on edge values and random ones."""

from __future__ import annotations

import json

import pytest
from measured import RECORD, Case, candidates, digest, simulated

DIGESTS: dict[str, str] = json.loads(RECORD.read_text())["digests"]
KNOWN: dict[str, Case] = {case.opcode: case for case in candidates()}
MNEMONICS = sorted({opcode.partition(".")[0] for opcode in DIGESTS})


@pytest.mark.parametrize("mnemonic", MNEMONICS)
def test_results_are_those_of_the_machine(mnemonic):
    mine = {o: digest(simulated(KNOWN[o])) for o in DIGESTS if o.partition(".")[0] == mnemonic}
    assert mine == {o: d for o, d in DIGESTS.items() if o in mine}


def test_the_record_is_not_empty():
    assert len(DIGESTS) > 1000
    assert {"add", "mul", "fma", "div", "sqrt", "cvt", "setp", "min", "max", "shl", "mad", "rem"} <= set(MNEMONICS)
