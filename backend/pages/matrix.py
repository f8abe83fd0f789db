"""Which qualifiers may stand together: for each class of words, the words of every other slot beside it.

A word may stand beside another when some legal spelling, on some target, has both.
"""

from __future__ import annotations

from ptxspec.forms.table import Table

from .facts import Facts, classes
from .markdown import code, dotted, table

ANY = "any"
NEVER = "–"
OUT = "left out"


def rows(instruction: Table, facts: Facts) -> list[tuple[str, ...]]:
    """One row for each class of words; the cells follow :func:`order`."""
    slots = order(instruction, facts)
    groups = classes(instruction, facts)
    out = []
    for slot in slots:
        for group in groups[slot]:
            beside = facts.together[group[0]]
            cells = ["" if other == slot else cell(instruction, facts, beside, other) for other in slots]
            out.append((dotted(instruction.names[b][1] for b in group), *cells))
    return out


def order(instruction: Table, facts: Facts) -> list[str]:
    """The slots that legal spellings have, in canonical order."""
    return list(dict.fromkeys(slot for bit, (slot, _) in instruction.names.items() if bit in facts.together))


def cell(instruction: Table, facts: Facts, beside: int, slot: str) -> str:
    """The words of ``slot`` among the bits ``beside``, in the shortest way to say it."""
    legal = [(bit, word) for bit, (name, word) in instruction.names.items() if name == slot and bit in facts.together]
    inside = [word for bit, word in legal if bit & beside]
    outside = [word for bit, word in legal if not bit & beside]
    free = facts.left_out[slot]
    may_miss, misses = free in facts.together, bool(beside & free)
    if not inside:
        return NEVER
    if not outside:
        return ANY if misses or not may_miss else f"{ANY}, not {OUT}"
    listed = f"all but {dotted(outside)}" if len(outside) < len(inside) else dotted(inside)
    return f"{listed} or {OUT}" if misses else listed


def section(instruction: Table, facts: Facts) -> list[str]:
    """The matrix with its legend."""
    slots = order(instruction, facts)
    if len(slots) < 2:
        return [f"It has {'one qualifier' if slots else 'no qualifier'} only, so nothing stands beside another.", ""]
    return [
        "Computed from all legal spellings of all targets. A row is a class of words that behave alike; a cell lists",
        f"the words of its column that some legal spelling has beside them. *{ANY}*: every word, and leaving the slot",
        f"out where that is possible at all; {NEVER}: only without; *{OUT}*: also without.",
        "",
        *table(("", *(code(s) for s in slots)), rows(instruction, facts)),
    ]
