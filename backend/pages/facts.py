"""What all legal spellings of a mnemonic have in common: which words meet, since when, how many bytes move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ptxspec.forms.enumerate import _walk_form
from ptxspec.forms.evaluate import Evaluator
from ptxspec.forms.parse import words_of
from ptxspec.forms.table import Expression, FormTable, Table, VocabularyTable, bits_of

Floor = tuple[int, int]
MEMORY = ("read", "write", "combine")


@dataclass(frozen=True, slots=True)
class Access:
    """One way to touch memory: bytes and alignment in bytes, the words that decide it, its first floors."""

    form: str
    bytes: int
    align: int
    words: tuple[tuple[str, str], ...]
    first: tuple[Floor, ...]


@dataclass
class Facts:
    """What :func:`gather` finds.

    ``count``: legal spellings of each form; ``total``: of all forms, those that they share counted once. ``together``:
    bit -> bits of all words that a legal spelling has beside it. ``first``: (form, bit) -> smallest (PTX version, SM)
    pairs, none of which is below another; ``start``: those of the mnemonic. ``left_out``: slot -> a bit of its own,
    above those of the words, for leaving the slot out. ``plain``: a few spellings with few words.
    """

    count: dict[str, int] = field(default_factory=dict)
    total: int = 0
    together: dict[int, int] = field(default_factory=dict)
    first: dict[tuple[str, int], tuple[Floor, ...]] = field(default_factory=dict)
    start: tuple[Floor, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    plain: list[int] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)


def smallest(floors: Iterable[Floor]) -> tuple[Floor, ...]:
    """The minimal pairs, by PTX version."""
    known = set(floors)
    return tuple(sorted(a for a in known if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in known)))


def names_in(expression: Expression) -> frozenset[str]:
    """The slots that an expression looks at."""
    if not isinstance(expression, tuple):
        return frozenset()
    if expression[0] == "attr":
        return frozenset((str(expression[1]),))
    return frozenset(name for part in expression[1:] for name in names_in(part))


def gather(table: Table, vocabulary: VocabularyTable) -> Facts:
    """Walk all legal spellings of a mnemonic once."""
    facts = Facts()
    slots: dict[str, int] = {}
    for name, _ in table.names.values():
        slots.setdefault(name, 0)
    for bit, (name, _) in table.names.items():
        slots[name] |= bit
    top = max(table.names, default=1).bit_length()
    facts.left_out = {name: 1 << (top + i) for i, name in enumerate(slots)}
    by_floor: dict[tuple[str, Floor], int] = {}
    footprints: dict[tuple[str, int], set[Floor]] = {}
    deciding = {form.id: _deciding(form) for form in table.forms}
    seen: dict[int, int] = {}
    masks: set[int] = set()
    for form, mask in ((f, m) for f in table.forms if f.documented for m in _walk_form(f, {}, 0)):
        masks.add(mask)
        pair = form.floor(mask)
        by_floor[form.id, pair] = by_floor.get((form.id, pair), 0) | mask
        facts.count[form.id] = facts.count.get(form.id, 0) + 1
        if len(facts.plain) < 6 and mask not in facts.plain:
            facts.plain.append(mask)
        whole = mask
        for name, own in slots.items():
            if not mask & own:
                whole |= facts.left_out[name]
        for bit in bits_of(whole):
            seen[bit] = seen.get(bit, 0) | whole
        decides = deciding[form.id]
        if decides is not None:
            footprints.setdefault((form.id, mask & decides), set()).add(pair)
    facts.together, facts.total = seen, len(masks)
    facts.start = smallest(pair for _, pair in by_floor)
    forms = {form.id: form for form in table.forms}
    for name in forms:
        for bit in table.names:
            facts.first[name, bit] = smallest(p for (own, p), mask in by_floor.items() if own == name and mask & bit)
    for (name, mask), floors in footprints.items():
        facts.accesses.append(_access(table, forms[name], mask, smallest(floors), vocabulary))
    facts.accesses.sort(key=lambda a: (-a.bytes, a.form))
    return facts


def _deciding(form: FormTable) -> int | None:
    """Bits of the slots that decide how many bytes a form touches, ``None`` when it touches no memory."""
    names: set[str] = set()
    touches = False
    for step in form.steps:
        if step.do in MEMORY:
            touches = True
            arguments = dict(step.args)
            names |= names_in(arguments.get("bytes", 0))
            if step.do == "combine":
                names |= {"type", "vec"}
    return sum(s.mask for s in form.slots if s.name in names) if touches else None


def _access(
    table: Table, form: FormTable, mask: int, first: tuple[Floor, ...], vocabulary: VocabularyTable
) -> Access:
    words = words_of(table, mask)
    written = dict(words)
    evaluator = Evaluator(vocabulary, {s.name: written.get(s.name, s.absent) for s in form.slots}, written, {})
    size = align = 0
    for goal in form.obligations:
        if goal.prove == "aligned":
            align = max(align, evaluator.integer(goal.to))
        if goal.prove == "in-bounds":
            size = max(size, evaluator.integer(goal.bytes))
    return Access(form.id, size, align, tuple(words), first)


def classes(table: Table, facts: Facts) -> Mapping[str, list[list[int]]]:
    """For each slot the bits of its words, grouped by what they stand beside."""
    out: dict[str, list[list[int]]] = {}
    own: dict[str, int] = {}
    for bit, (slot, _) in table.names.items():
        own[slot] = own.get(slot, 0) | bit
    for bit, (slot, _) in table.names.items():
        if bit not in facts.together:
            continue  # a word of forms that only the assembler knows
        beside = facts.together[bit] & ~own[slot]
        for group in out.setdefault(slot, []):
            if facts.together[group[0]] & ~own[slot] == beside:
                group.append(bit)
                break
        else:
            out[slot].append([bit])
    return out
