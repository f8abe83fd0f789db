"""Floors: since which PTX version and target a spelling exists, by mnemonic and by version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptxspec.db.link import LinkedInstruction
from ptxspec.db.load import Specs
from ptxspec.db.tables import version as number

from .condition import Speaker
from .markdown import codes, place, table


@dataclass(frozen=True, slots=True)
class Since:
    """One floor in words; ``toolkit``: the oldest certified release that reads the PTX version."""

    where: str
    ptx: str
    sm: int
    targets: str
    until: str
    toolkit: str
    file: str
    line: int


def floors(linked: LinkedInstruction, specs: Specs) -> list[Since]:
    """The floors of a mnemonic in the order of its file, each once."""
    out: dict[int, Since] = {}
    kits = specs.vocabulary.toolkits.toolkits
    for form in linked.forms:
        speaker = Speaker(linked, form)
        for item in form.floors:
            f = item.spec
            text = speaker.say(item.when)
            if text == "never" or item.span.line in out:
                continue
            scope = f"{', '.join(f.forms)}: " if f.forms and len(linked.forms) > 1 else ""
            first = next((name for name, kit in kits.items() if number(kit.ptx) >= number(f.ptx)), "none yet")
            targets = codes(f.only) if f.only else f"from sm_{f.sm}"
            place_ = (item.span.file, item.span.line)
            out[item.span.line] = Since(scope + text, f.ptx, f.sm, targets, f.until or "", first, *place_)
    return list(out.values())


def overview(specs: Specs, linked: Mapping[str, LinkedInstruction], stamp: str) -> str:
    """The page of all floors, the newest version first."""
    every = [(name, f) for name, instruction in linked.items() for f in floors(instruction, specs)]
    versions = sorted({f.ptx for _, f in every}, key=number, reverse=True)
    out = [
        stamp,
        "# What each PTX version added",
        "",
        "For the instructions of the database: what exists since which PTX version and on which targets. A spelling",
        "needs the largest of all lines that match it; *always* is the mnemonic or form itself.",
        "",
    ]
    for version in versions:
        here = ((f.sm, name, f) for name, f in every if f.ptx == version)
        found = sorted(here, key=lambda x: (x[0], x[1], x[2].line))
        out += [f"## PTX {version}", ""]
        out += [f"Oldest certified toolkit: {found[0][2].toolkit}.", ""]
        rows = [
            (f.targets, f"[{name}](instructions/{name}.md)", f.where, f.until, place(f.file, f.line, ".."))
            for _, name, f in found
        ]
        out += table(("targets", "mnemonic", "where", "until PTX", "specs"), rows)
    return "\n".join(out).rstrip() + "\n"
