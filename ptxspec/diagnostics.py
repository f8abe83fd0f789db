"""Diagnostics: the one shape in which every refusal reaches a person or a program.

A :class:`Diagnostic` has a stable code, one sentence, the place in the user's own file and a list of notes
(counterexample, cause, rule, help). It is rendered as text with a caret under the user's line, or as a plain
mapping for ``--json``. Everything that can be refused in ptxspec is refused through this module, so no other
part of the project formats errors. This module imports nothing of ptxspec and nothing heavy.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "note"]
NoteKind = Literal["counterexample", "cause", "rule", "help", "note", "fact"]


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a file: 1-based ``line`` and ``column``; ``end_column`` is exclusive, 0 when unknown."""

    file: str
    line: int
    column: int = 1
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Note:
    """One supporting line of a diagnostic; ``span`` points at the rule or at a second line of the user's."""

    kind: NoteKind
    text: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: ``code`` is stable (``F201``), ``message`` is one sentence without a final full stop."""

    code: str
    message: str
    span: Span | None = None
    severity: Severity = "error"
    notes: tuple[Note, ...] = field(default=())

    def with_notes(self, *notes: Note) -> Diagnostic:
        """The same diagnostic with ``notes`` appended."""
        return Diagnostic(self.code, self.message, self.span, self.severity, self.notes + notes)

    def render(self, *, source: bool = True) -> str:
        """Text in the manner of rustc: headline, place, the user's line with a caret, notes."""
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.span is not None:
            lines.append(f"  --> {self.span}")
            if source:
                lines.extend(_excerpt(self.span))
        for note in self.notes:
            head, *rest = note.text.splitlines() or [""]
            lines.append(f"  = {note.kind}: {head}")
            lines.extend(f"      {line}" for line in rest)
            if note.span is not None:
                lines.append(f"      at {note.span}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """A mapping of plain values, the same for every command."""
        out: dict[str, object] = {"code": self.code, "severity": self.severity, "message": self.message}
        if self.span is not None:
            out["where"] = str(self.span)
        if self.notes:
            out["notes"] = [
                {"kind": n.kind, "text": n.text} | ({"where": str(n.span)} if n.span else {}) for n in self.notes
            ]
        return out


def _excerpt(span: Span) -> list[str]:
    text = linecache.getline(span.file, span.line).rstrip("\n")
    if not text.strip():
        return []
    number = str(span.line)
    gutter = " " * len(number)
    # Tabs are kept before the caret so that it lands under the same character.
    lead = "".join("\t" if c == "\t" else " " for c in text[: span.column - 1])
    width = max(1, span.end_column - span.column)
    width = max(1, min(width, len(text) - span.column + 1))
    return [f"{gutter} |", f"{number} | {text}", f"{gutter} | {lead}{'^' * width}"]


def render_all(diagnostics: Iterable[Diagnostic], *, source: bool = True) -> str:
    """All diagnostics, separated by a blank line."""
    return "\n\n".join(d.render(source=source) for d in diagnostics)


class PtxspecError(Exception):
    """Base of every error that ptxspec raises on purpose; carries one or more diagnostics."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics
        super().__init__(render_all(diagnostics))

    @property
    def code(self) -> str:
        """The code of the first diagnostic."""
        return self.diagnostics[0].code if self.diagnostics else ""


class SpecError(PtxspecError):
    """A YAML spec or the database as a whole is not acceptable (codes S)."""


class FormError(PtxspecError):
    """An opcode or its operands are not legal for the target (codes F)."""


class KernelError(PtxspecError):
    """A kernel is written in a way the language does not allow (codes K)."""


class EmitError(PtxspecError):
    """Emission could not go on (codes E)."""


class AssembleError(PtxspecError):
    """The assembler is absent or refused the module (codes A)."""


class LaunchError(PtxspecError):
    """Arguments, launch configuration or device are not what the kernel needs, or the run faulted (codes R)."""


class UsageError(PtxspecError):
    """The command line was used wrongly (codes U)."""


def fail(kind: type[PtxspecError], code: str, message: str, span: Span | None = None,
         notes: Sequence[Note] = ()) -> PtxspecError:
    """Build (not raise) an error of ``kind`` with a single diagnostic."""
    return kind(Diagnostic(code, message, span, notes=tuple(notes)))
