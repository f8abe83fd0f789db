"""Micro-kernels from the specs: planned and simulated anywhere, compared with the hardware where there is some."""

from __future__ import annotations

import numpy as np
import pytest
from gpu import cases as planning
from gpu.conformance import CHUNK, conformance, differences, explained, inputs, page, summary
from gpu.module import simulated, text


@pytest.fixture(scope="module")
def some_cases():
    """Cases of every kind, few of each."""
    chosen = []
    for mnemonic, step in (("ld", 997), ("st", 499), ("mov", 1)):
        for number, opcode in enumerate(planning.legal(mnemonic)):
            if number % step == 0:
                made = planning.MAKERS[mnemonic](opcode, number)
                chosen += [] if isinstance(made, planning.Left) else made
    return chosen


def test_cases_cover_loads_stores_and_moves(some_cases):
    assert {case.opcode.split(".")[0] for case in some_cases} == {"ld", "st", "mov"}
    assert any("predicated" in case.what for case in some_cases)
    assert any("into .b64" in case.what for case in some_cases)
    assert any("unpack past a sink" in case.what for case in some_cases)


def test_every_case_simulates_without_a_fault_and_leaves_a_trace(some_cases):
    given, constants, blob, poison = inputs(7)
    silent = []
    for k in range(0, len(some_cases), CHUNK):
        part = some_cases[k : k + CHUNK]
        out = simulated(text(part, constants), len(part), given, blob, poison)
        # A case that changes nothing would agree with anything.
        verdicts = differences(part, poison[: out.size], out)
        silent += [v for v in verdicts if v["outcome"] == "agrees"]
    assert silent == []


def test_a_load_gives_the_bytes_at_its_address():
    case, *_ = planning.load_cases("ld.global.v2.u16", 0)
    given, constants, blob, poison = inputs(11)
    out = simulated(text([case], constants), 1, given, blob, poison).reshape(64, -1)
    for thread in (0, 1, 31, 32, 63):
        assert bytes(out[thread, :4]) == bytes(given[thread * 256 : thread * 256 + 4])
        assert np.array_equal(out[thread, 4:], poison[thread * 64 + 4 : thread * 64 + 64])


def test_a_difference_is_seen(some_cases):
    given, constants, blob, poison = inputs(13)
    part = some_cases[:3]
    out = simulated(text(part, constants), 3, given, blob, poison)
    changed = out.copy()
    changed[64 * 64 + 5] ^= 1
    outcomes = [verdict["outcome"] for verdict in differences(part, out, changed)]
    assert outcomes == ["agrees", "differs", "agrees"]


@pytest.mark.parametrize(("opcode", "what", "finding"), [
    ("ld.v2.b32", "global, into .b128", "narrow-load-into-b128"),
    ("ld.global.s32", "into .b128, predicated", "narrow-load-into-b128"),
    ("st.v2.f32", "global, from .b64", "f32-lanes-from-b64"),
    ("st.shared.f32", "from .b64, predicated", "f32-from-b64"),
    ("ld.global.b32", "into .b128", ""),
    ("ld.v2.b32", "global, into .b64", ""),
    ("st.v2.b32", "global, from .b64", ""),
    ("mov.b64", "copy", ""),
])
def test_only_known_wrong_code_explains_a_difference(opcode, what, finding):
    assert explained({"opcode": opcode, "what": what, "outcome": "differs"}) == finding
    assert explained({"opcode": opcode, "what": what, "outcome": "failed"}) == ""


def test_explained_cases_are_counted_apart_from_exceptions():
    verdicts = [
        {"opcode": "ld.v2.b32", "what": "global, into .b128", "outcome": "differs", "where": "there"},
        {"opcode": "ld.v2.b32", "what": "global, into .b64", "outcome": "differs", "where": "here"},
        {"opcode": "ld.b32", "what": "global, into .b32", "outcome": "agrees"},
    ]
    result = summary(verdicts, [], {"ld": 2}, 5, simulate_only=True)
    assert result["mnemonics"]["ld"]["cases explained"] == {"narrow-load-into-b128": 1}
    assert [v["where"] for v in result["exceptions"]] == ["here"]
    text_ = page(result)
    assert "- `narrow-load-into-b128`: 1" in text_
    assert "into .b64): differs; here" in text_
    assert "into .b128)" not in text_


@pytest.mark.gpu
def test_a_spread_sample_agrees_with_the_hardware():
    result = conformance(simulate_only=False, jobs=4, limit=2000)
    assert result["exceptions"] == []
    assert sum(row["cases that agree"] for row in result["mnemonics"].values()) >= 1000
