"""Nearest legal forms: the fewest changed words, every candidate checked before it is offered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ptxspec.forms import registry
from ptxspec.forms.parse import fits, spell
from ptxspec.forms.table import FormTable, Table
from ptxspec.forms.target import Machine

if TYPE_CHECKING:
    from ptxspec.forms.check import Judgement

LIMIT = 3
MOST_CHANGES = 3
BUDGET = 20_000


def nearest(judgement: Judgement) -> tuple[str, ...]:
    """Up to three legal spellings on the same machine, nearest first; empty when none is within three changes."""
    table = judgement.parsed.table
    if table is None:
        return ()
    budget = BUDGET
    start = judgement.parsed.mask if not judgement.parsed.code else understood(table, judgement.opcode)
    for changes in range(MOST_CHANGES + 1):
        found: dict[int, None] = {}
        for mask in _variants(table, start, changes):
            budget -= 1
            if legal(table, mask, judgement.machine):
                found[mask] = None
            if budget <= 0 or len(found) >= 40:
                break
        if found:
            ranked = sorted(found, key=lambda m: (_dropped(start, m), _moved(table, start, m), m))
            return tuple(spell(table, m) for m in ranked[:LIMIT])
        if budget <= 0:
            break
    return ()


def understood(table: Table, opcode: str) -> int:
    """The words of a spelling that are known and come first in their slot, wherever unknown ones stand between."""
    mask = 0
    for word in registry.words_of(opcode)[1:]:
        pairs = table.shared.get(word) or ((table.tokens[word],) if word in table.tokens else ())
        for bit, slot in pairs:
            if bit and not mask & slot:
                mask |= bit
                break
    return mask


def legal(table: Table, mask: int, here: Machine) -> bool:
    """Whether some documented form takes the spelling on this machine."""
    from ptxspec.forms.check import _reach

    if here.since > here.ptx:
        return False
    return any(
        form.documented and fits(form, mask) and not form.broken(mask) and not _reach(form, mask, here)
        for form in table.forms
    )


def _dropped(start: int, mask: int) -> int:
    """Words of the user's that are gone: keeping them is nearer."""
    return (start & ~mask).bit_count()


def _moved(table: Table, start: int, mask: int) -> int:
    """How far a replaced word is from the original within its slot (``.v8`` to ``.v4`` before ``.v8`` to ``.v2``)."""
    gone, new = start & ~mask, mask & ~start
    distance = 0
    for bit, (slot, _) in table.names.items():
        if gone & bit and not any(new & b for b, (s, _) in table.names.items() if s == slot):
            distance += 50  # leaving a word out is further than another word in its place
    for bit, (slot, _) in table.names.items():
        if new & bit:
            others = [b for b, (s, _) in table.names.items() if s == slot and gone & b]
            distance += abs(bit.bit_length() - others[0].bit_length()) if others else 0
    return distance


def _variants(table: Table, start: int, changes: int) -> Iterator[int]:
    """Spellings with exactly ``changes`` slots changed."""
    slots: dict[str, list[int]] = {}
    for bit, (slot, _) in table.names.items():
        slots.setdefault(slot, []).append(bit)
    # Slots that the user wrote come first: changing those is nearer than adding words.
    ordered = sorted(slots.values(), key=lambda bits: not any(start & b for b in bits))

    def walk(index: int, mask: int, left: int) -> Iterator[int]:
        if left == 0:
            yield mask
            return
        for i in range(index, len(ordered)):
            bits = ordered[i]
            whole = sum(bits)
            for choice in (*bits, 0):
                if choice != start & whole:
                    yield from walk(i + 1, (mask & ~whole) | choice, left - 1)

    yield from walk(0, start, changes)


__all__ = ["FormTable", "legal", "nearest"]
