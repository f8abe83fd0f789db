"""Verdicts: codes, rules, floors, order, findings, nearest forms."""

from __future__ import annotations

import random
import string

import pytest

from ptxspec.diagnostics import UsageError
from ptxspec.forms import check, check_many, registry
from ptxspec.forms.bulk import Bulk
from ptxspec.forms.check import _judge, judge
from ptxspec.forms.parse import spell
from ptxspec.forms.target import machine
from ptxspec.forms.verdict import Outcome


@pytest.mark.parametrize(
    ("opcode", "sm", "ptx", "legal", "ptxas", "code"),
    [
        ("ld.global.v4.f32", "sm_90", "9.0", True, "accept", ""),
        ("ld.global.v8.b32", "sm_90", "9.0", False, "reject", "F301"),
        ("ld.global.v8.b32", "sm_100", "9.0", True, "accept", ""),
        ("ld.global.v8.b32", "sm_100", "8.7", False, "reject", "F301"),
        ("ld.v4.global.f32", "sm_90", "9.0", False, "accept", "F105"),
        ("ld.relaxed.global.u32", "sm_90", "9.0", False, "reject", "F201"),
        ("ld.global.v8.b16", "sm_90", "9.0", False, "accept", "F201"),
        ("ld.global.ca.L2::evict_last.v8.b32", "sm_100", "9.0", False, "accept", "F201"),
        ("ld.proxy::readonly.global.b32", "sm_90", "9.4", True, "accept", ""),
        ("ld.proxy::readonly.global.b32", "sm_90", "9.3", False, "reject", "F301"),
        ("mov.v2.f32", "sm_90", "9.0", False, "accept", "F106"),
        ("mov.v8.f32", "sm_90", "9.0", False, "reject", "F101"),
        ("cvt.rn.f16.f32", "sm_90", "9.0", True, "accept", ""),
        ("cvt.f32.rn.f16", "sm_90", "9.0", False, "reject", "F201"),
        ("cvt.f32", "sm_90", "9.0", False, "unknown", "F103"),
        ("cvt.f32.f32.f32", "sm_90", "9.0", False, "unknown", "F102"),
        ("mul.s32.lo", "sm_90", "9.0", False, "reject", "F105"),
        ("add.sat.sat.s32", "sm_90", "9.0", False, "accept", "F102"),
        ("add.sat.u32", "sm_120a", "9.2", True, "accept", ""),
        ("add.sat.u32", "sm_120", "9.2", False, "reject", "F302"),
        ("ld.global.global.f32", "sm_90", "9.0", False, "reject", "F102"),
        ("ld.global.shared.f32", "sm_90", "9.0", False, "reject", "F102"),
        ("ld.global", "sm_90", "9.0", False, "reject", "F103"),
        ("ld.global.wb.f32", "sm_90", "9.0", False, "reject", "F101"),
        ("ld.proxy::readonly.relaxed.gpu.f32", "sm_90", "9.4", False, "reject", "F104"),
        ("ld.f32", "sm_90", "7.0", False, "reject", "F003"),
        ("nonesuch.f32", "sm_90", "9.0", False, "unknown", "F002"),
        ("", "sm_90", "9.0", False, "reject", "F001"),
        ("ld..f32", "sm_90", "9.0", False, "reject", "F101"),
        ("LD.GLOBAL.F32", "sm_90", "9.0", False, "unknown", "F002"),
        ("multimem.red.global.add.f32", "sm_90", "9.0", False, "unknown", "F002"),
        ("add.cc.u32", "sm_90", "9.0", False, "unknown", "F101"),
        ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32", "sm_90", "9.0", True, "accept", ""),
        ("st.async.weak.shared::cta.mbarrier::complete_tx::bytes.u32", "sm_90", "9.0", False, "accept", "F106"),
        ("st.bulk", "sm_100", "9.0", True, "accept", ""),
        ("red.async.relaxed.cluster.inc.u32", "sm_90", "9.0", False, "unknown", "F103"),
        ("st.weak.async.u32", "sm_90", "9.0", False, "reject", "F101"),
        ("st.asynch.u32", "sm_90", "9.0", False, "reject", "F101"),
    ],
)
def test_verdicts(opcode: str, sm: str, ptx: str, legal: bool, ptxas: str, code: str) -> None:
    verdict = check(opcode, sm=sm, ptx=ptx)
    assert (verdict.legal, verdict.ptxas.value, verdict.code) == (legal, ptxas, code)
    assert (verdict.diagnostic is None) == legal
    if verdict.diagnostic is not None:
        assert verdict.diagnostic.code == code
        assert verdict.diagnostic.severity == ("warning" if code == "F105" and ptxas == "accept" else "error")


def test_a_verdict_names_rule_place_floor_and_spelling() -> None:
    verdict = check("ld.shared.v8.b32", sm="sm_100", ptx="9.0")
    assert [r.id for r in verdict.rules] == ["wide-global"]
    file, line = verdict.rules[0].spec.split(":")
    assert file == "specs/instructions/ld.yaml" and int(line) > 20
    assert str(verdict.floor) == "PTX 8.8 and sm_100"
    assert check("ld.f32.v4.global").canonical == "ld.global.v4.f32"


def test_findings_are_shown_where_they_matter() -> None:
    assert "narrow-v8" in [f.id for f in check("ld.global.v8.b16", toolkit="13.0").findings]
    assert check("ld.global.v8.b16", ptx="8.7", toolkit="12.8").ptxas is Outcome.REJECT
    assert check("ld.global.v8.b16", toolkit="13.0", entry=True).ptxas is Outcome.CRASH
    assert not check("ld.param::func.b32", toolkit="13.5", entry=True).ptxas
    assert check("ld.param::func.b32", toolkit="13.0", entry=True).ptxas
    assert check("ld.global.f32").findings == ()


def test_targets_that_a_toolkit_does_not_have() -> None:
    assert not check("ld.global.f32", sm="sm_70", ptx="9.0", toolkit="13.0").ptxas
    assert check("ld.global.f32", sm="sm_70", ptx="8.0", toolkit="12.0").ptxas
    assert check("ld.global.f32", sm="sm_70", ptx="9.0", toolkit="13.0").legal


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"sm": "sm_99"}, "U101"),
        ({"sm": "banana"}, "U101"),
        ({"ptx": "7.9"}, "U102"),
        ({"ptx": "nine"}, "U102"),
        ({"toolkit": "11.0"}, "U103"),
    ],
)
def test_unknown_machines_are_usage_errors(arguments: dict[str, str], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        check("ld.f32", **arguments)
    assert caught.value.code == code


def test_nearest_forms_are_legal_and_near() -> None:
    assert check("ld.global.v8.b32", sm="sm_90").nearest[0] == "ld.global.v4.b32"
    assert check("ld.v4.global.f32").nearest == ("ld.global.v4.f32",)
    assert check("cvt.f16.f32").nearest[0] == "cvt.rn.f16.f32"
    rng = random.Random(2)
    found = 0
    for _ in range(150):
        mnemonic = rng.choice(("ld", "st", "mov", "cvt", "setp", "add"))
        table = registry.table(mnemonic)
        words = rng.sample([*table.tokens, *table.shared], 4)
        verdict = check(".".join([mnemonic, *words]), sm="sm_100")
        for near in verdict.nearest:
            found += 1
            assert check(near, sm="sm_100").legal
    assert found > 100


def _random_opcodes(rng: random.Random, number: int) -> list[str]:
    out = []
    for _ in range(number):
        table = registry.table(rng.choice(registry.mnemonics()))
        words = [*table.tokens, *table.shared, "zz", ""]
        if rng.random() < 0.4:
            out.append(".".join([table.mnemonic, *(rng.choice(words) for _ in range(rng.randrange(7)))]))
        else:
            odds = 6 / max(6, len(table.names))
            out.append(spell(table, sum(b for b in table.names if rng.random() < odds)))
    return out


def test_the_fast_way_agrees_with_the_long_way() -> None:
    rng = random.Random(9)
    vocabulary = registry.vocabulary()
    machines = [
        machine(sm, ptx, kit)
        for sm in vocabulary.targets
        for ptx in ("6.0", "7.4", "8.4", "9.0", "9.5")
        for kit in vocabulary.toolkits
    ]
    legal = 0
    for opcode in _random_opcodes(rng, 20_000):
        here, entry = rng.choice(machines), rng.random() < 0.3
        fast, slow = judge(opcode, here, entry=entry), _judge(opcode, here, entry)
        assert (fast.legal, fast.ptxas, fast.code) == (slow.legal, slow.ptxas, slow.code), opcode
        legal += fast.legal
    assert legal > 500


@pytest.mark.parametrize(("sm", "ptx", "toolkit"), [
    ("sm_90", "9.0", None), ("sm_100a", "9.5", "13.5"), ("sm_70", "6.0", "12.4"), ("sm_120", "8.0", "12.0"),
])
def test_bulk_lines_say_the_same(sm: str, ptx: str, toolkit: str | None) -> None:
    import json

    here = machine(sm, ptx, toolkit)
    opcodes = [*_random_opcodes(random.Random(4), 4000), 'a"b\\', "ld.\u00e9", "ld.global.b32", "ld" + ".v2" * 300]
    bulk, said = Bulk(here, json=True), Bulk(here)
    for opcode, line, text in zip(opcodes, bulk.lines(opcodes), said.lines(opcodes), strict=True):
        verdict = _judge(opcode, here, False)
        answer = verdict.to_json(nearest=False)
        assert json.loads(line) == answer
        assert list(json.loads(line)) == list(answer)
        silent = verdict.ptxas is Outcome.UNKNOWN
        no = f"not {'judged' if silent else 'legal'} [{verdict.code}] "
        assert text.startswith(f"{opcode}: {'legal' if verdict.legal else no}")
        assert verdict.code != "F105" or f"write {verdict.canonical}" in text
        if verdict.code == "F106" or silent:
            continue
        usual = verdict.ptxas.value == ("accept" if verdict.legal else "reject")
        assert usual == ("the assembler" not in text.split("] ")[-1].split(", ", 1)[-1]), text


def test_bulk_knows_what_was_among_them() -> None:
    here = machine("sm_90", "9.0")
    for opcodes, state in (
        (["ld.global.b32"], (False, False)), (["ld.b32", "ld.global.v8.b32"], (True, False)),
        (["frob.b32"], (False, True)), (["ld.global.frob"], (True, False)),
        (["ld.b32", "frob", "st.b32.v2"], (True, True)),
    ):
        bulk = Bulk(here)
        bulk.lines(opcodes)
        assert (bulk.illegal, bulk.unknown) == state


def test_alike_words_have_one_verdict() -> None:
    """The memory of verdicts is by class: exchanging alike words changes nothing, on any machine."""
    from ptxspec.forms.alike import alike
    from ptxspec.forms.parse import spell

    rng = random.Random(12)
    vocabulary = registry.vocabulary()
    exchanged = 0
    for mnemonic in registry.mnemonics():
        table = registry.table(mnemonic)
        classes = alike(table).of
        for _ in range(300):
            slots: dict[str, list[int]] = {}
            for bit, (slot, _word) in table.names.items():
                slots.setdefault(slot, []).append(bit)
            chosen = [rng.choice(bits) for bits in slots.values() if rng.random() < 0.5]
            other = [rng.choice([b for b in classes if classes[b] == classes[bit]]) for bit in chosen]
            here = machine(rng.choice(list(vocabulary.targets)), None, rng.choice(list(vocabulary.toolkits)))
            entry = rng.random() < 0.5
            one = _judge(spell(table, sum(chosen)), here, entry)
            two = _judge(spell(table, sum(other)), here, entry)
            exchanged += chosen != other
            assert (one.legal, one.ptxas, one.code, one.floor) == (two.legal, two.ptxas, two.code, two.floor), two
            assert [r.id for r in one.rules] == [r.id for r in two.rules]
    assert exchanged > 1000


def test_any_text_gets_a_verdict() -> None:
    rng = random.Random(1)
    alphabet = string.printable + "\u00e9\u2028\x00"
    texts = ["".join(rng.choice(alphabet) for _ in range(rng.randrange(60))) for _ in range(5000)]
    texts += ["ld" + ".v2" * 1000, "." * 500, "ld.", ".ld", "ld.global.f32 ", " ld.global.f32", "ld\n.f32", "mov.b32;"]
    for verdict in check_many(texts):
        assert not verdict.legal
        assert verdict.diagnostic is not None and verdict.diagnostic.code.startswith("F")
