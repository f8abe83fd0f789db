"""``ptxspec generate``: tables, selector and JSON Schema from the specs; ``check`` says what is out of date.

Everything written here is checked in, carries the digest of its source, and is regenerated and compared in CI.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import BaseModel

from ptxspec.db.link import LinkedForm, LinkedInstruction, link
from ptxspec.db.lint import lint
from ptxspec.db.load import Specs, packaged, read
from ptxspec.db.logic import FALSE, TRUE, And, In, Logic, Not, Or, both, either, negate
from ptxspec.db.tables import HEADER, Renderer, version, vocabulary
from ptxspec.diagnostics import Diagnostic, Note, SpecError
from ptxspec.forms.registry import module_file
from ptxspec.spec.export import Export
from ptxspec.spec.findings import Findings
from ptxspec.spec.instruction import Instruction, Slot
from ptxspec.spec.vocabulary import SpecialRegisters, Targets, Toolkits, Types, Words

from .pages import refresh

SCHEMAS: Mapping[str, type[BaseModel]] = {
    "instruction": Instruction,
    "findings": Findings,
    "export": Export,
    "types": Types,
    "words": Words,
    "targets": Targets,
    "toolkits": Toolkits,
    "special-registers": SpecialRegisters,
}


def words(logic: Logic, slots: Mapping[str, Slot]) -> str:
    """The condition as a Python expression over variables named like the slots; ``""`` is a word not written."""
    if isinstance(logic, In):
        order = [v for v in slots[logic.slot].values if v in logic.tokens]
        if logic.unwritten:
            if len(order) == len(slots[logic.slot].values):
                return "True"
            rest = [v for v in slots[logic.slot].values if v not in logic.tokens]
            if not order:
                return f'{logic.slot} == ""'
            return f"{logic.slot} not in {tuple(rest)!r}"
        if not order:
            return "False"
        if len(order) == len(slots[logic.slot].values):
            return f'{logic.slot} != ""'
        return f"{logic.slot} == {order[0]!r}" if len(order) == 1 else f"{logic.slot} in {tuple(order)!r}"
    if isinstance(logic, Not):
        return f"not ({words(logic.part, slots)})"
    if not logic.parts:
        return "True" if isinstance(logic, And) else "False"
    joint = " and " if isinstance(logic, And) else " or "
    return joint.join(
        f"({words(p, slots)})" if isinstance(p, And | Or) and p.parts else words(p, slots) for p in logic.parts
    )


def decision(form: LinkedForm, targets: Renderer) -> list[str]:
    """The conjunction that accepts this form: one line for each slot, rule and floor."""
    slots = {s.name: s for s in form.spec.slots}
    lines: list[str] = []
    for slot in form.spec.slots:
        values = slot.values if slot.required else ("", *slot.values)
        lines.append(f"{slot.name} in {tuple(values)!r}")
    for rule in form.rules:
        holds = either([negate(rule.when), rule.require])
        if holds != TRUE:
            lines.append(f"({words(holds, slots)})  # {rule.spec.id}")
    for floor in form.floors:
        spec = floor.spec
        needs = [f"ptx >= {version(spec.ptx)}", f"sm >= {spec.sm}"]
        if spec.only:
            needs.append(f"target in {targets.targets(spec.only)!r}")
        if spec.until:
            needs.append(f"ptx < {version(spec.until)}")
        need = " and ".join(needs)
        if floor.when == TRUE:
            lines.append(f"({need})")
        elif floor.when != FALSE:
            lines.append(f"({words(both([negate(floor.when)]), slots)} or ({need}))")
    return lines


def selector(instruction: LinkedInstruction, specs: Specs) -> str:
    """The module ``backend/selector/<mnemonic>.py``."""
    entry = instruction.entry
    renderer = Renderer(instruction, specs)
    out = [
        HEADER.format(source=entry.document.file, digest=entry.digest),
        "from ptxspec.backend.choice import Choice\n",
        f"DIGEST = {entry.digest!r}\n",
    ]
    choices = []
    for i, form in enumerate(instruction.forms):
        if not form.spec.documented:
            continue
        names = [s.name for s in form.spec.slots]
        out.append(f"\ndef _decide_{i}({', '.join(['target', 'sm', 'ptx', *names])}):")
        out.append(f'    """Whether {form.spec.id} takes these words."""\n    return (')
        lines = decision(form, renderer)
        out += [f"        {'and ' if n else ''}{line}" for n, line in enumerate(lines)]
        out.append("    )\n")
        choices.append(f"    Choice({form.spec.id!r}, {tuple(names)!r}, _decide_{i}),")
    out += ["\nCHOICES = (", *choices, ")\n"]
    return "\n".join(out)


def schema(name: str) -> str:
    """The JSON Schema of one kind of spec file, for editors."""
    body = SCHEMAS[name].model_json_schema(by_alias=True)
    return (
        json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **body}, indent=1, sort_keys=True) + "\n"
    )


def render(root: Traversable | None = None) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Tables, selector modules and schemas as file name -> text. Raises :class:`SpecError` for bad specs."""
    specs = read(root)
    linked = link(specs)
    problems = lint(specs, linked)
    if problems:
        raise SpecError(*problems)
    tables = {"_vocabulary.py": vocabulary(specs, linked)}
    selectors = {}
    for mnemonic, instruction in linked.items():
        tables[module_file(mnemonic)] = Renderer(instruction, specs).module()
        selectors[module_file(mnemonic)] = selector(instruction, specs)
    return tables, selectors, {f"{name}.schema.json": schema(name) for name in SCHEMAS}


def places(specs: Path | None, out: Path | None) -> tuple[Path, Path, Path]:
    """Folders for tables, selector and schemas."""
    if out is not None:
        return out / "tables", out / "selector", out / "schema"
    from ptxspec.backend import selector as selector_package

    import ptxspec.forms.tables as tables

    root = specs if specs is not None else Path(str(packaged()))
    return Path(tables.__path__[0]), Path(selector_package.__path__[0]), root / "schema"


def generate(check: bool = False, specs: Path | None = None, out: Path | None = None) -> list[str]:
    """Write what is out of date and return the file names; with ``check`` only return them.

    ``specs``: another spec folder; ``out``: another place for the results, which ``PTXSPEC_TABLES`` then names.
    Raises :class:`SpecError` for bad specs.
    """
    changed: list[str] = []
    generated = render(specs)
    for folder, files in zip(places(specs, out), generated, strict=True):
        for name, text in files.items():
            path = folder / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                changed.append(str(path))
                if not check:
                    folder.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
        for old in sorted(folder.glob("*")) if folder.is_dir() else []:
            if old.is_file() and old.name not in files and old.name != "__init__.py":
                changed.append(str(old))
                if not check:
                    old.unlink()
    if out is None:
        changed += refresh(specs, generated[0], check)  # docs/instructions and docs/findings.md of a checkout
    return changed


def stale(changed: list[str]) -> Diagnostic:
    """The refusal of ``generate --check``."""
    return Diagnostic(
        "S090",
        f"{len(changed)} generated files differ from the specs",
        notes=(*(Note("note", name) for name in changed[:10]), Note("help", "run `ptxspec generate`")),
    )
