"""What an instruction does, touches and demands: steps, footprints, proof goals."""

from __future__ import annotations

from collections.abc import Mapping

from ptxspec.db.link import LinkedForm, LinkedInstruction
from ptxspec.db.logic import TRUE
from ptxspec.db.tables import Renderer
from ptxspec.forms.table import Expression, FormTable, StepTable, Table

from .condition import Speaker
from .facts import Access, Facts
from .markdown import code, dotted, floor, place, table
from .words import CODES, GOALS, STEPS


def amount(e: Expression) -> str:
    """An integer expression in words: ``type.bytes × vec.lanes``."""
    if not isinstance(e, tuple):
        return str(e)
    if e[0] == "attr":
        return f"{e[1]}.{e[2]}"
    sign = {"mul": " × ", "add": " + ", "sub": " − ", "div": " / ", "mod": " mod "}.get(str(e[0]), f" {e[0]} ")
    return sign.join(amount(part) for part in e[1:])


def size(e: Expression) -> str:
    """An integer expression as a number of bytes."""
    return f"{e} byte{'' if e == 1 else 's'}" if isinstance(e, int) else f"`{amount(e)}` bytes"


def word(e: Expression) -> str:
    """A word expression in words."""
    if not isinstance(e, tuple):
        return str(e)
    if e[0] in ("slot", "has", "wide", "part", "map"):
        return f".{e[1]}" if e[0] != "wide" else f"twice .{e[1]}"
    return ", ".join(f"`{part}`" for part in e[1:]) if e[0] == "list" else amount(e)


def step(instruction: StepTable) -> str:
    """One step as a sentence."""
    arguments = {name: size(e) if name == "bytes" else word(e) for name, e in instruction.args}
    name = _variant(instruction.do, arguments)
    keeps = instruction.do == "combine" and "into" in arguments
    old = f"; `{arguments['into']}` receives the old value" if keeps else ""
    try:
        return STEPS[name].format_map(arguments) + old
    except KeyError:
        said = ", ".join(f"{name} {text}" for name, text in arguments.items())
        return f"{instruction.do}: {said}" if said else instruction.do


def _variant(name: str, arguments: Mapping[str, str]) -> str:
    """The sentence of a step that has several."""
    if name == "combine" and "compare" in arguments:
        return "exchange where equal"
    if name == "cvta":
        return f"cvta {arguments['direction']}"
    if name == "barrier":
        phase = arguments.get("phase", "both")
        return f"barrier {phase}" if phase != "both" else "barrier some" if "count" in arguments else name
    return name


def steps(linked: LinkedInstruction, form: LinkedForm, tables: FormTable, renderer: Renderer) -> list[str]:
    """The steps in order, with the words for which each happens."""
    speaker = Speaker(linked, form)
    out = []
    conditions = renderer.conditions(form, "semantics")
    for n, (instruction, when) in enumerate(zip(tables.steps, conditions, strict=True), 1):
        out.append(f"{n}. {step(instruction)}{'' if when == TRUE else f' (where {speaker.say(when)})'}")
    return [*out, ""]


def touched(facts: Facts, forms: Mapping[str, FormTable]) -> list[str]:
    """Bytes and alignment by spelling, the widest first."""
    if not facts.accesses and any(step.do == "defer" for form in forms.values() for step in form.steps):
        return ["What it writes later is not described, so no kernel that uses it is proved.", ""]
    if not facts.accesses:
        return ["It touches no memory.", ""]
    groups: dict[tuple[int, int, str, str], list[Access]] = {}
    several = len({a.form for a in facts.accesses}) > 1
    for a in facts.accesses:
        first = " or ".join(floor(pair) for pair in a.first)
        groups.setdefault((a.bytes, a.align, first, a.form if several else ""), []).append(a)
    rows = []
    for (width, align, first, form), group in groups.items():
        by_vector: dict[tuple[str, ...], list[str]] = {}
        for a in group:
            vector = tuple(w for name, w in a.words if name != "type")
            by_vector.setdefault(vector, []).extend(w for name, w in a.words if name == "type")
        texts = []
        for vector, types in by_vector.items():
            unique = list(dict.fromkeys(types))
            texts.append(f"{dotted(vector)}{' with ' if vector and unique else ''}{dotted(unique)}")
        moved = {"read": "read", "write": "written", "combine": "read and written"}
        kinds = {moved[s.do] for a in group for s in forms[a.form].steps if s.do in moved}
        where = f"form {code(form)}: " if form else ""
        rows.append((f"{width} {', '.join(sorted(kinds))}", size(align), where + "; ".join(texts), first))
    return table(("bytes", "aligned to", "spellings", "first"), rows)


def upper_bits(instruction: Table) -> list[str]:
    """What narrow accesses do with the rest of a register."""
    does = {s.do for form in instruction.forms if form.documented for s in form.steps}
    out = []
    if "read" in does and "extend" in does:
        out += ["A value narrower than its register fills the low bits. `.s` types extend the sign into the rest; all",
                "others fill it with zeros.", ""]
    if "write" in does and "join" in does:
        out += ["A register wider than the type gives its low bits; the rest is not stored.", ""]
    if any(o.sink for form in instruction.forms for o in form.operands):
        whole = " Alignment and bounds are proved for the whole access all the same." if "read" in does else ""
        out += [f"`_` drops that lane of a vector.{whole}", ""]
    return out


def goals(
    linked: LinkedInstruction, form: LinkedForm, tables: FormTable, renderer: Renderer, file: str
) -> list[tuple[str, str, str, str, str]]:
    """A row for each proof goal of a form."""
    speaker = Speaker(linked, form)
    rows = []
    for goal, when in zip(tables.obligations, renderer.conditions(form, "obligations"), strict=True):
        space = goal.space if isinstance(goal.space, str) and goal.space else "the named"
        arguments = {"at": goal.at, "bytes": size(goal.bytes), "space": space,
                     "to": size(goal.to) if goal.prove == "aligned" else amount(goal.to)}
        text = GOALS.get(goal.prove, goal.prove).format(**arguments)
        rows.append((code(form.spec.id), explained(CODES.get(goal.prove, "")), text,
                     speaker.say(when), place(file, goal.line)))
    return rows


def explained(name: str) -> str:
    """A diagnostic code, linked to its explanation."""
    return f"[{name}](../../ptxspec/explanations/{name}.md)" if name else ""
