"""Explanations by unsat core: few rules, only the words that matter, completions that are legal."""

from __future__ import annotations

import random

import pytest

from ptxspec.db.explain import diagnostic, explain
from ptxspec.forms import check, registry
from ptxspec.forms.parse import spell


@pytest.mark.parametrize(
    ("opcode", "sm", "words", "reasons"),
    [
        ("ld.gpu.const.f32", "sm_90", ("gpu", "const"), ("no-scope-if-weak", "strong-space")),
        ("ld.relaxed.const.f32", "sm_90", ("relaxed", "const"), ("strong-space",)),
        ("ld.shared.v8.b32", "sm_100", ("shared", "v8", "b32"), ("wide-global",)),
        ("ld.mmio.v4.f32", "sm_90", ("mmio", "v4"), ("mmio-plain",)),
        ("setp.lo.s32", "sm_90", ("lo", "s32"), ("signed-words",)),
        ("add.sat.u32", "sm_90", ("sat", "u32"), ("floor",)),
    ],
)
def test_smallest_conflicts(opcode: str, sm: str, words: tuple[str, ...], reasons: tuple[str, ...]) -> None:
    conflict = next(c for c in explain(opcode, sm) if c.words == words)
    assert tuple(r.id for r in conflict.reasons) == reasons
    assert all(r.span.line > 0 and r.sentence in conflict.render() for r in conflict.reasons)


def test_missing_words_are_completed() -> None:
    assert explain("cvt.f16.f32")[0].completions == ("cvt.rm.f16.f32", "cvt.rp.f16.f32", "cvt.rz.f16.f32") or all(
        check(o).legal for o in explain("cvt.f16.f32")[0].completions
    )
    assert explain("ld.relaxed.global.u32")[0].completions
    assert explain("ld.global.f32") == () and explain("ld.zz") == () and explain("zz") == ()


def test_the_diagnostic_carries_the_cause() -> None:
    found = diagnostic("ld.relaxed.const.f32")
    assert found is not None and any(n.kind == "cause" and "cannot stand together" in n.text for n in found.notes)
    assert diagnostic("ld.global.f32") is None


def test_random_refusals_are_explained_truly() -> None:
    """Completions are legal and keep the words; a conflict's words cannot be completed to anything legal."""
    rng = random.Random(3)
    seen = 0
    for _ in range(60):
        table = registry.table(rng.choice(("ldu", "fma", "setp", "min", "bar", "mul")))
        opcode = spell(table, sum(b for b in table.names if rng.random() < 0.15))
        if check(opcode, "sm_100").legal:
            assert explain(opcode, "sm_100") == ()
        for conflict in explain(opcode, "sm_100"):
            seen += 1
            for completion in conflict.completions:
                assert check(completion, "sm_100").legal
                assert set(opcode.split(".")) <= set(completion.split("."))
            assert bool(conflict.completions) != bool(conflict.reasons)
    assert seen > 20
