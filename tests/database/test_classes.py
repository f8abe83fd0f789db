"""Classes of words: proved interchangeable, and indeed so for the checker; their representatives cover the product."""

from __future__ import annotations

import random

import pytest

from ptxspec.db.classes import classes
from ptxspec.db.link import link
from ptxspec.db.load import read
from ptxspec.forms import registry
from ptxspec.forms.check import judge
from ptxspec.forms.target import machine

SPECS = read()
LINKED = link(SPECS)


def test_the_classes_of_ld() -> None:
    ld, _ = classes(LINKED["ld"], SPECS)
    assert ("cta", "gpu") in ld.slots["scope"]
    assert ("ca", "cg", "cs") in ld.slots["cop"] and ("lu", "cv") in ld.slots["cop"]
    assert ld.product() == 69_120_000
    assert ld.size() < 2_000_000


@pytest.mark.parametrize("mnemonic", ["st", "mov", "cvt", "fma", "setp"])
def test_representatives_cover_the_product(mnemonic: str) -> None:
    for form in classes(LINKED[mnemonic], SPECS):
        if form.size() < 200_000:
            pairs = list(form.representatives())
            assert len(pairs) == form.size()
            assert sum(weight for _, weight in pairs) == form.product()


@pytest.mark.parametrize("mnemonic", ["ld", "st", "cvt"])
def test_swapped_words_have_the_same_verdict(mnemonic: str) -> None:
    rng = random.Random(6)
    vocabulary = registry.vocabulary()
    machines = [
        machine(sm, ptx, kit) for sm in vocabulary.targets for ptx in ("7.4", "8.8", "9.5") for kit in ("12.8", "13.5")
    ]
    swapped = 0
    for form in classes(LINKED[mnemonic], SPECS):
        for _ in range(1500):
            chosen = [rng.choice(groups) for groups in form.slots.values()]
            one = ".".join([mnemonic, *(w for w in (rng.choice(g) for g in chosen) if w)])
            two = ".".join([mnemonic, *(w for w in (rng.choice(g) for g in chosen) if w)])
            here = rng.choice(machines)
            a, b = judge(one, here), judge(two, here)
            assert (a.legal, a.ptxas, a.code) == (b.legal, b.ptxas, b.code), (one, two, here)
            swapped += one != two
    assert swapped > 1000
