"""Drawing instructions from the tables: complete where it claims to be, the same for the same seed."""

from __future__ import annotations

import random

import pytest
from ptxspec.backend.certify.draw import case, choices, fit, neighbours, random_cases, size, spell, spellings
from ptxspec.backend.certify.enumerate import accepted_anywhere, support
from ptxspec.backend.certify.product import product_cases, product_size

from ptxspec.forms import check, registry
from ptxspec.forms.parse import parse
from ptxspec.forms.table import bits_of

SMALL = [
    (name, form.id)
    for name in registry.mnemonics()
    for form in registry.table(name).forms
    if size(form) <= 60_000
]


def form_of(name: str, form_id: str):  # type: ignore[no-untyped-def]
    table = registry.table(name)
    return table, next(form for form in table.forms if form.id == form_id)


@pytest.mark.parametrize(("name", "form_id"), SMALL, ids=[form_id for _, form_id in SMALL])
def test_pruned_enumeration_equals_brute_force(name: str, form_id: str) -> None:
    table, form = form_of(name, form_id)
    waivable = 0
    for finding in form.findings:
        waivable |= finding.waives
    everything = list(spellings(form))
    assert len(everything) == size(form)
    wanted = {mask for mask in everything if not form.broken(mask) & ~waivable}
    found = list(accepted_anywhere(table, form))
    assert len(found) == len(set(found))
    assert set(found) == wanted


@pytest.mark.parametrize("name", ["ld", "st", "cvt", "setp"])
def test_rules_depend_on_no_other_slots_than_those_read_off_them(name: str) -> None:
    source = random.Random(7)
    for form in registry.table(name).forms:
        depends = support(form)
        for _ in range(3000):
            mask = sum(source.choice(choices(slot)) for slot in form.slots)
            slot = source.choice(form.slots)
            other = (mask & ~slot.mask) | source.choice(choices(slot))
            changed = form.broken(mask) ^ form.broken(other)
            for number in range(len(form.rules)):
                if changed >> number & 1:
                    assert slot.name in depends[number], (form.rules[number].id, slot.name)


@pytest.mark.parametrize("name", registry.mnemonics())
def test_every_documented_example_can_be_written_and_fits(name: str) -> None:
    for opcode in registry.table(name).accept:
        spelled = opcode.split(" ")[0]
        drawn = fit(spelled)
        assert drawn is not None, spelled
        assert drawn.line.startswith(spelled)
        assert drawn.line.endswith(";")


@pytest.mark.parametrize("name", registry.mnemonics())
def test_draws_are_repeatable_and_mixed(name: str) -> None:
    first = random_cases(name, 300, random.Random(3))
    assert first == random_cases(name, 300, random.Random(3))
    assert first != random_cases(name, 300, random.Random(4)) or size(registry.table(name).forms[0]) < 10
    assert len(first) == 300
    legal = sum(check(one.opcode, sm="sm_100").legal for one in first)
    assert legal > 0
    assert legal < 300 or not registry.table(name).tokens


def test_neighbours_differ_in_one_slot() -> None:
    table = registry.table("ld")
    form = table.forms[0]
    mask = parse("ld.global.v4.b32").mask
    near = list(neighbours(form, mask))
    assert len(near) == len(set(near)) == sum(len(choices(slot)) - 1 for slot in form.slots)
    for one in near:
        assert sum(one & slot.mask != mask & slot.mask for slot in form.slots) == 1
    assert "ld.global.v2.b32" in {spell(table, one) for one in near}


def test_operands_fit_the_spelling() -> None:
    lines = {
        "ld.global.v4.b32": "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd8];",
        "st.shared.f64": "st.shared.f64 [%rd0], %fd8;",
        "ld.global.L2::cache_hint.u8": "ld.global.L2::cache_hint.u8 %ub0, [%rd8], %rd16;",
        "ret": "ret;",
        "bra.uni": "bra.uni LAST;",
        "ld.weak.v8.u16": "ld.weak.v8.u16 {%uh0, %uh1, %uh2, %uh3, %uh4, %uh5, %uh6, %uh7}, [%rd8];",
    }
    for opcode, line in lines.items():
        drawn = fit(opcode)
        assert drawn is not None
        assert drawn.line == line
    assert fit("no.such.thing") is None
    assert fit("ld.global.foo") is None


def test_the_product_is_covered_by_representatives() -> None:
    for name in ("ldu", "mov", "bar"):
        cases = list(product_cases(name))
        assert len({one.opcode for one in cases}) >= 3
        assert product_size(name) >= sum(size(form) for form in registry.table(name).forms) > 0
    assert product_size("ld") > 69_000_000


def test_bits() -> None:
    assert bits_of(0b10110) == [2, 4, 16]
    table = registry.table("st")
    assert case(table, table.forms[0], parse("st.b32").mask) is not None
