"""For which machine and which assembler a module is judged."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ptxspec.diagnostics import Diagnostic, Note, Span, UsageError
from ptxspec.forms import registry
from ptxspec.forms.target import Machine, machine, newest_toolkit
from ptxspec.ptx.module import Module

FALLBACK_TARGET = "sm_90"


@dataclass(frozen=True, slots=True)
class Chosen:
    """``sm`` and ``ptx`` are judged for, ``toolkit`` is the release predicted; ``assembles`` tells that this release
    reads this version for this target. ``known`` is False when the module names a target or version that the database
    does not have; its instructions are then not judged."""

    sm: str
    sm_number: int
    ptx: tuple[int, int]
    toolkit: str
    assembles: bool
    known: bool = True

    @property
    def ptx_text(self) -> str:
        """``9.0``."""
        return f"{self.ptx[0]}.{self.ptx[1]}"

    @property
    def toolkit_number(self) -> tuple[int, int]:
        """(13, 0)."""
        major, _, minor = self.toolkit.partition(".")
        return int(major), int(minor or 0)


def _directive_span(text: str, file: str, name: str) -> Span:
    match = re.search(rf"^[ \t]*\.{name}\b[^\n/]*", text, re.M)
    if match is None:
        return Span(file, 1, 1)
    start = match.start() + len(match.group()) - len(match.group().lstrip())
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    return Span(file, line, column, column + len(match.group().strip()))


def choose(
    module: Module, text: str, sm: str | None, ptx: str | None, toolkit: str | None
) -> tuple[Chosen, Diagnostic | None]:
    """The machine to judge for, and a diagnostic where the module's own version or target is not possible.

    Raises :class:`UsageError` (U101..U103) when an argument is unknown.
    """
    if sm is not None or ptx is not None or toolkit is not None:
        machine(sm or FALLBACK_TARGET, ptx, toolkit)
    target = sm or module.target.replace("compute_", "sm_") or FALLBACK_TARGET
    version: str | None = ptx or (f"{module.version[0]}.{module.version[1]}" if module.version != (0, 0) else None)
    kits = [toolkit] if toolkit is not None else _newest_first()
    first: Machine | None = None
    try:
        for kit in kits:
            made = machine(target, version, kit)
            first = first or made
            if made.assembles:
                return _chosen(made), None
    except UsageError as error:
        what = "target" if error.code == "U101" else "version"
        complaint = Diagnostic(
            "L008", error.diagnostics[0].message, _directive_span(text, module.file, what),
            notes=(*error.diagnostics[0].notes, Note("note", "the instructions of this module are not judged")),
        )
        return Chosen(target, 0, module.version, toolkit or newest_toolkit(), False, False), complaint
    assert first is not None
    return _chosen(first), _refusal(first, text, module.file, sm, ptx)


def _newest_first() -> list[str]:
    return sorted(registry.vocabulary().toolkits, key=lambda k: [int(x) for x in k.split(".")], reverse=True)


def _chosen(made: Machine) -> Chosen:
    return Chosen(made.name, made.sm, (made.ptx // 10, made.ptx % 10), made.toolkit, made.assembles)


def _refusal(made: Machine, text: str, file: str, sm: str | None, ptx: str | None) -> Diagnostic:
    newest = registry.vocabulary().toolkits[made.toolkit].ptx
    version = f"{made.ptx // 10}.{made.ptx % 10}"
    if made.ptx > newest:
        message = f"the assembler of CUDA {made.toolkit} reads PTX up to {newest // 10}.{newest % 10}, not {version}"
        where = "version"
    elif made.ptx < made.since:
        message = f"{made.name} needs PTX {made.since // 10}.{made.since % 10}, the version here is {version}"
        where = "target"
    else:
        message = f"the assembler of CUDA {made.toolkit} does not know {made.name}"
        where = "target"
    return Diagnostic("L007", message, _directive_span(text, file, where))
