"""Counts of legal and accepted spellings, against measured numbers and against brute force over the slot product."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ptxspec.db.link import LinkedForm, link
from ptxspec.db.load import read
from ptxspec.db.logic import And, In, Logic, Not, both, negate
from ptxspec.diagnostics import FormError, UsageError
from ptxspec.forms import check, count, forms, registry
from ptxspec.forms.enumerate import accepted
from ptxspec.forms.parse import spell
from ptxspec.forms.target import machine

LINKED = link(read())

# ptxas, over the product of all words of the manual, one line for each spelling or class of spellings
# (ld.proxy::readonly was left out there): PTX, target, toolkit -> ld, st, ldu, mov.
MEASURED = [
    ("8.0", "sm_80", "13.0", (47_608, 12_320, 76, 30)),
    ("8.0", "sm_80", "12.4", (41_116, 10_640, 76, 30)),
    ("8.7", "sm_90", "13.0", (59_565, 16_275, 78, 31)),
    ("8.7", "sm_90", "12.8", (51_627, 14_109, 78, 31)),
    ("9.0", "sm_90", "13.0", (59_565, 16_275, 78, 31)),
    ("9.0", "sm_100", "13.0", (97_965, 25_043, 78, 31)),
    ("9.5", "sm_100", "13.5", (98_040, 25_118, 78, 31)),
    ("9.5", "sm_120", "13.5", (98_040, 25_118, 78, 31)),
]


@pytest.mark.parametrize(("ptx", "sm", "toolkit", "numbers"), MEASURED)
def test_predicted_counts_equal_the_measured_ones(ptx: str, sm: str, toolkit: str, numbers: tuple[int, ...]) -> None:
    here = machine(sm, ptx, toolkit)
    proxy = sum(bit for bit, (slot, _) in registry.table("ld").names.items() if slot == "proxy")
    found = [
        sum(1 for m in accepted(name, here) if name != "ld" or not m & proxy) for name in ("ld", "st", "ldu", "mov")
    ]
    assert tuple(found) == numbers


def _grid(logic: Logic, form: LinkedForm, axes: dict[str, int]) -> np.ndarray:
    """The condition over the whole product of slots, one axis for each slot (index 0: not written)."""
    if isinstance(logic, In):
        slot = form.slot(logic.slot)
        assert slot is not None
        line = np.array([logic.unwritten, *(v in logic.tokens for v in slot.values)])
        shape = [1] * len(axes)
        shape[axes[logic.slot]] = len(line)
        return line.reshape(shape)
    if isinstance(logic, Not):
        return ~_grid(logic.part, form, axes)
    out = np.array(isinstance(logic, And)).reshape([1] * len(axes))
    for part in logic.parts:
        grid = _grid(part, form, axes)
        out = out & grid if isinstance(logic, And) else out | grid
    return out


@pytest.mark.parametrize("mnemonic", sorted(LINKED))
def test_the_walk_finds_exactly_the_legal_part_of_the_product(mnemonic: str) -> None:
    """For ld that is a product of tens of millions: one NumPy expression from the specs, not the tables."""
    total = 0
    for form in LINKED[mnemonic].forms:
        if not form.spec.documented:
            continue
        axes = {s.name: i for i, s in enumerate(form.spec.slots)}
        shape = [len(s.values) + 1 for s in form.spec.slots]
        good = np.ones(shape or [1], dtype=bool)
        for i, slot in enumerate(form.spec.slots):
            if slot.required:
                good[(slice(None),) * i + (0,)] = False
        for rule in form.rules:
            good &= ~_grid(both([rule.when, negate(rule.require)]), form, axes)
        total += int(good.sum())
    spellings = [f.opcode for f in forms(mnemonic, sm=None)]
    assert len(spellings) == len(set(spellings))
    shared = _shared(mnemonic)
    assert len(spellings) == total - shared


def _shared(mnemonic: str) -> int:
    """Spellings that several forms take (mov, bar...), counted once by the walk."""
    from ptxspec.forms.enumerate import _walk_form

    masks = [m for f in registry.table(mnemonic).forms if f.documented for m in _walk_form(f, {}, 0)]
    return len(masks) - len(set(masks))


def test_every_listed_form_is_legal_by_check() -> None:
    for mnemonic in ("ldu", "mov", "cvt", "setp", "fma", "st"):
        for form in itertools.islice(forms(mnemonic, sm="sm_90", ptx="8.4"), 3000):
            verdict = check(form.opcode, sm="sm_90", ptx="8.4")
            assert verdict.legal and verdict.form == form.form and verdict.floor == form.floor


def test_pins() -> None:
    assert count("ld", space="global", vec="v4", sm="sm_90") == sum(
        1 for _ in forms("ld", space="global", vec="v4", sm="sm_90")
    )
    assert {dict(f.slots).get("space") for f in forms("ld", space="generic", type="b32", vec="v1")} == {None}
    assert count("ld", vec="v8", sm="sm_90") == 0 < count("ld", vec="v8", sm="sm_100")
    both_ways = count(
        "ld", sem="weak", type="f32", space="global", vec="", cop="", evict_l1="", hint="", prefetch="", nc=""
    )
    assert both_ways == 2, "weak written and weak meant"
    assert [f.opcode for f in forms("mul", mode="wide")] == [
        "mul.wide.u16",
        "mul.wide.u32",
        "mul.wide.s16",
        "mul.wide.s32",
    ]
    for bad in ({"nonesuch": "x"}, {"vec": "v3"}):
        with pytest.raises(UsageError):
            count("ld", **bad)
    with pytest.raises(FormError):
        count("nonesuch")


def test_accepted_masks_are_accepted_by_check() -> None:
    here = machine("sm_100", "9.0", "13.0")
    for mnemonic in ("mov", "ldu", "fma", "cvt"):
        table = registry.table(mnemonic)
        for mask in accepted(mnemonic, here):
            assert check(spell(table, mask), sm="sm_100", ptx="9.0", toolkit="13.0").ptxas
