"""How a form is written: grammar line, slots, operands and the registers that fit them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ptxspec.db.link import LinkedForm, LinkedInstruction
from ptxspec.db.load import Vocabulary
from ptxspec.db.tables import Renderer
from ptxspec.forms.classes import register_fits
from ptxspec.forms.table import Expression, FormTable, OperandTable, SlotTable, Table

from .condition import Speaker
from .facts import Facts
from .markdown import code, codes, dotted, fence, floor, table
from .words import FIRST, KINDS, ROLES, RULES, SLOTS


def values(form_table: Table, slot: SlotTable) -> list[str]:
    """The words of a slot."""
    return [word for bit, (_, word) in form_table.names.items() if bit & slot.mask]


def grammar(instruction: Table, form: FormTable) -> Iterator[str]:
    """The line of a form and one line for each of its slots."""
    opcode = instruction.mnemonic
    where = []
    for slot in form.slots:
        words = values(instruction, slot)
        text = f".{words[0]}" if len(words) == 1 else f".{slot.name}"
        opcode += text if slot.required else f"{{{text}}}"
        if len(words) > 1:
            where.append(f"  .{slot.name:<9}= {{ {', '.join(f'.{w}' for w in words)} }}")
    operands = ""
    for o in form.operands:
        text = _shape(o)
        joint = ", " if operands else ""
        operands += f"{{{joint}{text}}}" if o.present is not None else f"{joint}{text}"
    yield f"{opcode}  {operands};" if operands else f"{opcode};"
    yield from where


def _shape(o: OperandTable) -> str:
    if "address" in o.kinds:
        return f"[{o.name}]"
    if o.kinds[0] == "vector":
        return f"{{{o.name}0, {o.name}1, ...}}"
    return o.name


def slots(instruction: Table, form: FormTable, facts: Facts, vocabulary: Vocabulary) -> list[str]:
    """Slots with the meaning of each and of leaving it out, and since when each word exists."""
    rows = []
    for slot in form.slots:
        meaning, without = SLOTS.get(slot.name, ("", ""))
        without = dotted(values(instruction, slot)[:1]) if without == FIRST else without
        known = {**vocabulary.words.spaces, **vocabulary.words.scopes, **vocabulary.words.orders}
        if slot.required:
            absent = "must be written"
        elif slot.absent:
            absent = f"{code(slot.absent)}: {known[slot.absent]}" if slot.absent in known else code(slot.absent)
            absent = "one element" if slot.absent == "v1" else absent
        else:
            absent = without or "nothing is said"
        rows.append((code(slot.name), meaning, absent, _since(instruction, form, slot, facts)))
    return table(("slot", "says", "left out", "words and their first PTX version and target"), rows)


def _since(instruction: Table, form: FormTable, slot: SlotTable, facts: Facts) -> str:
    """Words grouped by their first floors."""
    groups: dict[str, list[str]] = {}
    for bit, (_, word) in instruction.names.items():
        if bit & slot.mask:
            first = " or ".join(floor(pair) for pair in facts.first[form.id, bit]) or "not documented"
            groups.setdefault(first, []).append(word)
    return "; ".join(f"{dotted(words)} {first}" for first, words in groups.items())


def operands(form: FormTable, present: Iterable[str]) -> list[str]:
    """One row for each operand; ``present``: where each is written."""
    rows = []
    for o, where in zip(form.operands, present, strict=True):
        kinds = " or ".join(KINDS.get(k, k) for k in o.kinds)
        rules = RULES.get(o.classes, o.classes) if {"register", "vector"} & set(o.kinds) else ""
        notes = []
        if o.sink:
            notes.append("`_` may stand for a lane")
        if o.present is not None:
            notes.append(f"written where {where}")
        rows.append((code(o.name), ROLES[o.role], kinds, of_type(o.type), lanes(o.lanes), rules, "; ".join(notes)))
    return table(("operand", "is", "kind", "type", "lanes", "register width", "also"), rows)


def of_type(e: Expression) -> str:
    """A type expression in words."""
    if not isinstance(e, tuple):
        return code(str(e))
    how = {"slot": "`.{}`", "wide": "twice as wide as `.{}`", "part": "an equal part of `.{}`"}
    return how[str(e[0])].format(e[1])


def lanes(e: Expression) -> str:
    """A lane count in words."""
    if isinstance(e, tuple):
        return " or ".join(str(n) for n in e[1:]) if e[0] == "one-of" else f"of `.{e[1]}`"
    return str(e)


def registers(instruction: Table, vocabulary: Vocabulary) -> list[str]:
    """Which declared register classes fit an operand of which type, by register rule."""
    declared = [name for name, t in vocabulary.types.types.items() if t.register_]
    known = vocabulary.types.types
    rows = []
    pairs: dict[tuple[str, bool], list[str]] = {}
    for form in instruction.forms:
        for o in form.operands:
            if {"register", "vector"} & set(o.kinds) and isinstance(o.type, tuple) and o.type[0] == "slot":
                name = str(o.type[1])
                words = [w for s in form.slots if s.name == name for w in values(instruction, s)]
                both = (False, True) if isinstance(o.lanes, tuple) else (False,)
                for vector in both:
                    pairs.setdefault((o.classes, vector), []).extend(w for w in words if w in known)
    merged: dict[tuple[str, tuple[str, ...]], tuple[list[bool], list[str]]] = {}
    for (rule, vector), types in pairs.items():
        for name in dict.fromkeys(types):
            fits = tuple(c for c in declared if register_fits(rule, name, c, vector))
            flags, names = merged.setdefault((rule, fits), ([], []))
            flags.append(vector)
            if name not in names:
                names.append(name)
    for (rule, fits), (flags, names) in merged.items():
        where = "lanes of a vector" if all(flags) else "" if any(flags) or rule != "wide" else "scalars"
        what = f"{RULES.get(rule, rule)}{f' ({where})' if where else ''}"
        rows.append((what, dotted(names), dotted(fits)))
    return table(("rule", "instruction type", "registers declared as"), rows)


def section(
    linked: LinkedInstruction,
    own: LinkedForm,
    instruction: Table,
    facts: Facts,
    renderer: Renderer,
    vocabulary: Vocabulary,
) -> list[str]:
    """Everything about how one form is written."""
    form = next(f for f in instruction.forms if f.id == own.spec.id)
    speaker = Speaker(linked, own)
    known = "" if form.documented else " (known to the assembler only, never legal)"
    count = facts.count.get(form.id, 0)
    return [
        f"### Form {code(form.id)}{known}",
        "",
        *fence("text", grammar(instruction, form)),
        *([f"{count:,} legal spelling{'' if count == 1 else 's'}.", ""] if form.documented else []),
        *slots(instruction, form, facts, vocabulary),
        *operands(form, map(speaker.say, renderer.presence(own))),
    ]


__all__ = ["codes", "grammar", "registers", "section", "values"]
