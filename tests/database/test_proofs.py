"""Proofs about the database: generated code equals the specs; and the proofs notice when it does not."""

from __future__ import annotations

import re

import pytest
from ptxspec.backend import generate

from ptxspec.db.link import link
from ptxspec.db.load import read
from ptxspec.db.proofs import Untranslatable, prove
from ptxspec.forms.registry import module_file

SPECS = read()
LINKED = link(SPECS)
TABLES, SELECTORS, _ = generate.render()


@pytest.mark.parametrize("mnemonic", sorted(LINKED))
def test_generated_code_equals_the_specs(mnemonic: str) -> None:
    claims = prove(LINKED[mnemonic], SPECS, TABLES[module_file(mnemonic)], SELECTORS[module_file(mnemonic)])
    assert claims
    assert not [c for c in claims if not c.holds]


def test_generated_files_are_current() -> None:
    assert generate.generate(check=True) == [], "run `ptxspec generate`"


@pytest.mark.parametrize(
    ("mnemonic", "old", "new"),
    [
        ("ld", "sem in ('relaxed', 'acquire')", "sem in ('relaxed',)"),
        ("ld", "ptx >= 88 and sm >= 100", "ptx >= 88 and sm >= 90"),
        ("st", "space == 'local'", "space == 'global'"),
        ("cvt", "(ptx >= 71 and sm >= 80)", "(ptx >= 70 and sm >= 80)"),
        ("add", "target in ('sm_107a',", "target in ('sm_100a', 'sm_107a',"),
        ("mul", "mode in ('lo', 'hi')", "mode in ('', 'lo', 'hi')"),
    ],
)
def test_a_changed_selector_is_refuted(mnemonic: str, old: str, new: str) -> None:
    text = SELECTORS[module_file(mnemonic)]
    assert old in text
    claims = prove(LINKED[mnemonic], SPECS, TABLES[module_file(mnemonic)], text.replace(old, new, 1))
    wrong = [c for c in claims if not c.holds]
    assert wrong and all(c.claim.startswith("the selector") and c.counterexample.startswith(mnemonic) for c in wrong)


def test_each_changed_rule_mask_of_ld_is_refuted() -> None:
    text = TABLES["ld.py"]
    masks = list(re.finditer(r"m & (0x[0-9a-f]+)", text))
    assert len(masks) > 40
    for match in masks[:: len(masks) // 12]:
        value = int(match[1], 16)
        changed = text[: match.start(1)] + hex(value & (value - 1)) + text[match.end(1) :]
        claims = prove(LINKED["ld"], SPECS, changed, SELECTORS["ld.py"])
        assert [c for c in claims if not c.holds], f"{match[0]} without its lowest bit went unnoticed"


def test_a_changed_floor_is_refuted() -> None:
    text = TABLES["ld.py"]
    changed = re.sub(r"if s < 100: s = 100", "if s < 90: s = 90", text, count=1)
    assert changed != text
    wrong = [c for c in prove(LINKED["ld"], SPECS, changed, SELECTORS["ld.py"]) if not c.holds]
    assert [c.claim for c in wrong] == ["the table's floor is the maximum of the floors"]


@pytest.mark.parametrize(
    "body",
    [
        "return any(x for x in (ptx,))",
        "return type == word",
        "return ptx in sm",
        "return len(type) > 2",
        "return ptx > 80",
    ],
)
def test_unknown_constructs_are_not_believed(body: str) -> None:
    text = re.sub(r"    return \(\n.*?\n    \)\n", f"    {body}\n", SELECTORS["bra.py"], count=1, flags=re.S)
    text = text.replace(
        "def _decide_0(target, sm, ptx, uni):", "def _decide_0(target, sm, ptx, uni, type='', word=''):"
    )
    with pytest.raises((Untranslatable, ValueError)):
        prove(LINKED["bra"], SPECS, TABLES["bra.py"], text)
