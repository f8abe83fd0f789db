"""All generated pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ptxspec.db.link import LinkedInstruction
from ptxspec.db.load import Specs
from ptxspec.forms.registry import module_file
from ptxspec.forms.table import RemarkTable, Table, VocabularyTable

from . import since
from .facts import Facts, gather
from .markdown import code, floor, table
from .page import FINDINGS, HEAD, STAMP, finding, page


def _module(name: str, text: str) -> dict[str, object]:
    """The names of a generated module that need not be written yet."""
    names: dict[str, object] = {"__name__": f"ptxspec_pages_{name}"}
    exec(compile(text, f"<{name}>", "exec"), names)
    return names


def render(specs: Specs, linked: Mapping[str, LinkedInstruction], tables: Mapping[str, str]) -> dict[str, str]:
    """Pages by their name below ``docs/``. ``tables``: the generated modules by file name."""
    vocabulary = cast(VocabularyTable, _module("_vocabulary", tables["_vocabulary.py"])["VOCABULARY"])
    pages: dict[str, str] = {}
    known: dict[str, tuple[Table, Facts]] = {}
    for mnemonic, instruction in linked.items():
        own = cast(Table, _module(mnemonic, tables[module_file(mnemonic)])["TABLE"])
        facts = gather(own, vocabulary)
        known[mnemonic] = own, facts
        pages[f"instructions/{mnemonic}.md"] = page(instruction, specs, own, facts)
    pages["instructions/README.md"] = overview(specs, known)
    pages["findings.md"] = all_findings(specs, known)
    pages["since.md"] = since.overview(specs, linked, STAMP.format(source="specs/instructions", digest=specs.digest))
    return pages


def overview(specs: Specs, known: Mapping[str, tuple[Table, Facts]]) -> str:
    """The table of all mnemonics."""
    rows = []
    for mnemonic in sorted(known):
        own, facts = known[mnemonic]
        documented = sum(1 for f in own.forms if f.documented)
        rows.append(
            (
                f"[{mnemonic}]({mnemonic}.md)", own.summary, " or ".join(floor(p) for p in facts.start),
                str(documented),
                f"{facts.total:,}", "all" if own.complete else "some", str(len(own.remarks) or ""),
            )
        )
    out = [
        STAMP.format(source="specs/instructions", digest=specs.digest),
        "# Instructions",
        "",
        f"The {len(known)} mnemonics of the database, each with a page of its own: syntax, rules, floors, what may",
        "stand together, meaning, footprint, proof goals, findings and examples. *Spellings* counts the legal ones",
        "over all targets and versions; *forms of the manual* says whether the database has all or some of them.",
        "",
        *table(("mnemonic", "does", "first", "forms", "spellings", "forms of the manual", "findings"), rows),
        "Measured differences between the manual and assemblers: [findings](../findings.md).",
    ]
    return "\n".join(out) + "\n"


def all_findings(specs: Specs, known: Mapping[str, tuple[Table, Facts]]) -> str:
    """Every finding, with the mnemonics that it concerns."""
    rows: list[tuple[str, ...]] = []
    for i, g in enumerate(specs.findings.findings):
        line = specs.findings_document.span(("findings", i)).line
        remark = RemarkTable(g.id, g.operands, g.toolkits, g.outcome, g.context or "", g.measured, g.manual, g.ptxas,
                             g.advice, line, g.sm)
        links = " ".join(f"[{m}](instructions/{m}.md)" if m in known else code(m) for m in g.mnemonics)
        name, *rest = finding(remark, "..")
        rows.append((name, links, *rest))
    out = [
        STAMP.format(source=FINDINGS, digest=specs.digest),
        "# Findings",
        "",
        "Where an assembler and the PTX manual were measured to differ. `ptxspec check` calls a form *legal* by the",
        "manual and predicts the assembler of `--toolkit` with these applied. Without a bold word the assembler",
        "accepts what the manual does not have. A bold word is the opposite: it *refuses*, it *crashes*, it is",
        "*unstable* (crashes now and then), or it makes *wrong code*.",
        "",
        *table((HEAD[0], "mnemonics", *HEAD[1:]), rows),
    ]
    return "\n".join(out).rstrip() + "\n"
