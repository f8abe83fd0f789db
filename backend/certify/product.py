"""The full product of all words of a mnemonic, through representatives.

Z3 proves which words no rule, floor or finding can tell apart; one word of each such class is asked for all of them.
That an assembler treats the words of a class alike is what the random samples test.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .draw import Case, fit

if TYPE_CHECKING:
    from ptxspec.db.classes import FormClasses


@functools.cache
def form_classes(mnemonic: str) -> tuple[FormClasses, ...]:
    """The classes of each form of a mnemonic (reads the specs and runs the solver once)."""
    from ptxspec.db.classes import classes
    from ptxspec.db.link import link
    from ptxspec.db.load import read

    specs = read()
    return classes(link(specs)[mnemonic], specs)


def product_cases(mnemonic: str) -> Iterator[Case]:
    """One instruction for each representative that can be written with fitting operands."""
    for form in form_classes(mnemonic):
        for opcode, _weight in form.representatives():
            case = fit(opcode)
            if case is not None:
                yield case


def product_size(mnemonic: str) -> int:
    """Number of spellings that the representatives stand for."""
    return sum(form.product() for form in form_classes(mnemonic))
