"""A mnemonic as a page of text: forms, slots, rules, floors, operands, findings, legal and illegal examples."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ptxspec.forms import registry
from ptxspec.forms.check import FINDINGS_FILE, floor_of, judge
from ptxspec.forms.enumerate import forms
from ptxspec.forms.parse import parse
from ptxspec.forms.table import FormTable, Table
from ptxspec.forms.target import machine, text

EXAMPLES = 3


def page(table: Table) -> Iterator[str]:
    """The page, line by line."""
    yield f"{table.mnemonic}  ({table.file})"
    yield f"{table.summary}  Manual: {table.section}."
    yield "Every form of the manual is here." if table.complete else "The manual has more forms than are here."
    for form in table.forms:
        yield ""
        yield from _form(table, form)
    yield from _findings(table)
    yield "\nlegal"
    for opcode, needs in legal(table):
        yield f"  {opcode:<44} {needs}"
    yield "\nillegal"
    for opcode, why in illegal(table):
        yield f"  {opcode:<44} {why}"


def values(table: Table, mask: int) -> list[str]:
    """The words of a slot."""
    return [word for bit, (_, word) in table.names.items() if bit & mask]


def _form(table: Table, form: FormTable) -> Iterator[str]:
    operands = ", ".join(o.name for o in form.operands)
    yield f"form {form.id}  {operands}{'' if form.documented else '   (known to the assembler only)'}"
    for slot in form.slots:
        words = " ".join(f".{v}" for v in values(table, slot.mask))
        meaning = "" if slot.required else f"  [optional{', absent: ' + slot.absent if slot.absent else ''}]"
        yield f"  {slot.name:<10} {words}{meaning}"
    for o in form.operands:
        lanes = "" if o.lanes == 1 else "  several lanes"
        yield f"  operand {o.name:<7} {o.role:<5} {' or '.join(o.kinds)}{lanes}{'  `_` allowed' if o.sink else ''}"
    for rule in form.rules:
        yield f"  rule {rule.id}: {rule.why}  ({table.file}:{rule.line})"
    for floor in form.floors:
        if floor.text != "never":
            where = " or ".join(floor.only) if floor.only else f"sm_{floor.sm}"
            end = f", withdrawn in PTX {text(floor.until)}" if floor.until else ""
            yield f"  since PTX {text(floor.ptx)}, {where}{end}: {floor.text}  ({table.file}:{floor.line})"


def _findings(table: Table) -> Iterator[str]:
    if table.remarks:
        yield "\nwhere the assembler differs from the manual"
    for r in table.remarks:
        outcome = "" if r.outcome == "accept" else f" [{r.outcome}]"
        yield f"  {r.id}{outcome}: {r.ptxas}; {r.advice}"
        yield f"    toolkits {', '.join(r.toolkits)}, measured {r.measured}  ({FINDINGS_FILE}:{r.line})"


def legal(table: Table) -> list[tuple[str, str]]:
    """Three legal opcodes with what they need: those of the file, then others."""
    written = [t.split(" ")[0].rstrip(";") for t in table.accept]
    others = (f.opcode for f in islice(forms(table.mnemonic, sm=None), EXAMPLES))
    out: dict[str, str] = {}
    for opcode in (*written, *others):
        parsed = parse(opcode)
        for form in table.forms:
            fits = not parsed.mask & ~form.allowed and all(parsed.mask & need for need in form.required)
            if form.documented and fits and not form.broken(parsed.mask) and not parsed.code and len(out) < EXAMPLES:
                out.setdefault(opcode, f"needs {floor_of(form, parsed.mask)}")
    return list(out.items())


def illegal(table: Table) -> list[tuple[str, str]]:
    """Three opcodes that no target takes, with the reason: those of the file with different reasons, then made ones."""
    here = machine(max((t for t in registry.vocabulary().targets if t[-1].isdigit()), key=lambda t: int(t[3:])))
    plain = next((f.opcode for f in forms(table.mnemonic, sm=None)), table.mnemonic)
    made = (f"{plain}.v3", f"{plain}.{plain.rpartition('.')[2]}", f"{plain}.f8")
    out: dict[str, str] = {}
    reasons: set[str] = set()
    candidates = [t for t in (*(t for t, _ in table.reject), *made) if " " not in t]
    for fresh in (True, False):
        for opcode in candidates:
            verdict = judge(opcode, here)
            problem = verdict.judgement.diagnostic() if not verdict.legal else None
            if problem is None or problem.code in ("F301", "F302", "F003") or opcode in out or len(out) == EXAMPLES:
                continue
            reason = verdict.rules[0].id if verdict.rules else problem.code
            if not (fresh and reason in reasons):
                reasons.add(reason)
                why = verdict.rules[0].why if verdict.rules else problem.message
                out[opcode] = f"{why} [{problem.code}]"
    return list(out.items())
