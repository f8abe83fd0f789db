"""Every spelling that any assembler is predicted to take, found without asking about each of tens of millions.

The slots are filled one by one, and a rule is tried as soon as every slot that it looks at is filled; one that is
broken then cuts the branch off. Which slots a rule looks at is read off the constants of the table's own compiled
function, so nothing here repeats what a rule says. A rule that cannot be read is tried last, which costs only time.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator

from ptxspec.forms.table import FormTable, SlotTable, Table

from .draw import choices


def accepted_anywhere(table: Table, form: FormTable) -> Iterator[int]:
    """Spellings that break no rule, or only rules that some finding waives; floors are not looked at."""
    waivable = 0
    for finding in form.findings:
        waivable |= finding.waives
    forbidden = ~waivable
    slots = _by_influence(form)
    order = [choices(slot) for slot in slots]
    decided = _decided(form, slots)

    def extend(mask: int, depth: int) -> Iterator[int]:
        if depth == len(order):
            yield mask
            return
        rules = decided[depth] & forbidden
        for bit in order[depth]:
            grown = mask | bit
            if rules and form.broken(grown) & rules:
                continue
            yield from extend(grown, depth + 1)

    return extend(0, 0)


def support(form: FormTable) -> list[set[str]]:
    """For each rule, the names of the slots that its verdict depends on."""
    looks_at = _bits_looked_at(form)
    return [
        {slot.name for slot in form.slots if number not in looks_at or slot.mask & looks_at[number]}
        for number in range(len(form.rules))
    ]


def _bits_looked_at(form: FormTable) -> dict[int, int]:
    """Rule number -> the bits of the spelling that its condition masks out."""
    out: dict[int, int] = {}
    looked = 0
    previous: object = None
    for step in dis.get_instructions(form.broken):
        if step.opname == "BINARY_OP" and step.argrepr == "&" and isinstance(previous, int):
            looked |= previous
        if step.opname == "BINARY_OP" and step.argrepr == "|=" and isinstance(previous, int):
            out[previous.bit_length() - 1] = looked
            looked = 0
        previous = step.argval if step.opname in ("LOAD_CONST", "LOAD_SMALL_INT") else None
    return out


def _by_influence(form: FormTable) -> list[SlotTable]:
    """Slots that most rules look at come first, so that branches are cut early."""
    names = support(form)
    return sorted(form.slots, key=lambda slot: -sum(slot.name in one for one in names))


def _decided(form: FormTable, slots: list[SlotTable]) -> list[int]:
    """For each depth, the rules (bits) whose slots are all filled once that slot is."""
    names = support(form)
    known: set[str] = set()
    out: list[int] = []
    for slot in slots:
        known.add(slot.name)
        out.append(sum(1 << number for number, one in enumerate(names) if slot.name in one and one <= known))
    return out
