"""Words that stand for each other: swapping them never changes a verdict, proved for all spellings and machines.

A certification then asks the assembler about one word of each class and knows what the database says about the rest;
for ``ld`` the product of all words has 69 million spellings, that of the classes less than a million.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import z3

from ptxspec.db.formula import Space, solve
from ptxspec.db.link import LinkedForm, LinkedInstruction
from ptxspec.db.load import Specs

Classes = Mapping[str, tuple[tuple[str, ...], ...]]


@dataclass(frozen=True)
class FormClasses:
    """Classes of words for each slot of a form, in spelling order; a slot that may be left out has ``("",)`` too."""

    mnemonic: str
    form: str
    slots: Classes

    def size(self) -> int:
        """Number of representatives."""
        out = 1
        for groups in self.slots.values():
            out *= len(groups)
        return out

    def product(self) -> int:
        """Number of spellings that they stand for."""
        out = 1
        for groups in self.slots.values():
            out *= sum(len(g) for g in groups)
        return out

    def representatives(self) -> Iterator[tuple[str, int]]:
        """(opcode, number of spellings that it stands for), the first word of each class."""
        for groups in itertools.product(*self.slots.values()):
            weight = 1
            for group in groups:
                weight *= len(group)
            yield ".".join([self.mnemonic, *(g[0] for g in groups if g[0])]), weight


def classes(instruction: LinkedInstruction, specs: Specs) -> tuple[FormClasses, ...]:
    """The classes of each form of a mnemonic."""
    space = Space(instruction, specs)
    return tuple(_form(space, form) for form in instruction.forms)


def _form(space: Space, form: LinkedForm) -> FormClasses:
    words = space.words(form)
    parts = [*space.violated(form), *(space.logic(f.when, form) for f in form.floors)]
    parts += [space.logic(f.when, form) for f in form.findings]
    slots: dict[str, tuple[tuple[str, ...], ...]] = {}
    for slot in form.spec.slots:
        groups: list[list[str]] = [] if slot.required else [[""]]
        for value in slot.values:
            for group in groups:
                if group[0] and _interchangeable(space, words, parts, slot.name, group[0], value):
                    group.append(value)
                    break
            else:
                groups.append([value])
        slots[slot.name] = tuple(tuple(g) for g in groups)
    return FormClasses(space.instruction.mnemonic, form.spec.id, slots)


def _interchangeable(space: Space, words: z3.BoolRef, parts: list[z3.BoolRef], slot: str, a: str, b: str) -> bool:
    """No rule, floor or finding can tell the two words apart. Such swaps compose, so the first word of a class is
    enough to compare with."""
    one, two = space.word[slot, a], space.word[slot, b]
    differs = [part != z3.substitute(part, (one, two), (two, one)) for part in parts]
    return solve(words, z3.Or(*differs)) is None
