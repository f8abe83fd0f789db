"""The answer to "is this opcode legal here": small at once, its explanation worked out only when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Diagnostic, Note, Span

if TYPE_CHECKING:
    from ptxspec.forms.check import Judgement
    from ptxspec.forms.target import Machine


class Outcome(str, Enum):
    """What the real assembler is predicted to do. True in a condition only when it accepts.

    ``UNSTABLE``: the same text crashes it in one run and assembles in the next. ``UNKNOWN``: nothing is claimed, for
    the database does not have the instruction, or not all of its forms.
    """

    ACCEPT = "accept"
    REJECT = "reject"
    CRASH = "crash"
    UNSTABLE = "unstable"
    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        return self is Outcome.ACCEPT

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Floor:
    """The first PTX version and SM with this form; ``only``: the targets that have it at all (empty: all from ``sm``);
    ``until``: the version that withdrew it."""

    ptx: tuple[int, int]
    sm: int
    only: tuple[str, ...] = ()
    until: tuple[int, int] | None = None

    def __str__(self) -> str:
        where = " or ".join(self.only) if self.only else f"sm_{self.sm}"
        end = f", withdrawn in PTX {self.until[0]}.{self.until[1]}" if self.until else ""
        return f"PTX {self.ptx[0]}.{self.ptx[1]} and {where}{end}"

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        out: dict[str, object] = {"ptx": f"{self.ptx[0]}.{self.ptx[1]}", "sm": self.sm}
        if self.only:
            out["only"] = list(self.only)
        if self.until:
            out["until"] = f"{self.until[0]}.{self.until[1]}"
        return out


@dataclass(frozen=True, slots=True)
class RuleRef:
    """A rule that forbids the form: its sentence and its place in the specs."""

    id: str
    why: str
    span: Span

    @property
    def spec(self) -> str:
        """``specs/instructions/ld.yaml:60``."""
        return f"{self.span.file}:{self.span.line}"


@dataclass(frozen=True, slots=True)
class FindingRef:
    """A measured difference between manual and assembler that concerns the form."""

    id: str
    manual: str
    ptxas: str
    advice: str
    span: Span


class FormVerdict:
    """``legal``: the manual allows it here, in canonical order. ``ptxas``: what the assembler does with it.

    ``code`` is empty for a legal form. The other answers (``rules``, ``floor``, ``canonical``, ``nearest``,
    ``findings``, ``diagnostic``) are worked out when asked for.
    """

    __slots__ = ("_entry", "_here", "_judgement", "_nearest", "code", "legal", "opcode", "ptxas")

    def __init__(
        self,
        opcode: str,
        legal: bool,
        ptxas: Outcome,
        code: str,
        here: Machine,
        entry: bool,
        judgement: Judgement | None = None,
    ) -> None:
        self.opcode = opcode
        self.legal = legal
        self.ptxas = ptxas
        self.code = code
        self._here = here
        self._entry = entry
        self._judgement = judgement
        self._nearest: tuple[str, ...] | None = None

    def __bool__(self) -> bool:
        """True where the form is legal: ``if database().check(opcode):`` means what it says."""
        return self.legal

    @property
    def judgement(self) -> Judgement:
        """Form, mask and broken rules behind the verdict."""
        if self._judgement is None:
            from ptxspec.forms.check import judgement

            self._judgement = judgement(self.opcode, self._here, self._entry)
        return self._judgement

    @property
    def form(self) -> str:
        """The id of the form, ``""`` when no form has these words."""
        return self.judgement.form_id

    @property
    def rules(self) -> tuple[RuleRef, ...]:
        """The rules that forbid it."""
        return self.judgement.rules()

    @property
    def floor(self) -> Floor | None:
        """What it needs; ``None`` when no form has these words."""
        return self.judgement.floor()

    @property
    def canonical(self) -> str:
        """The spelling in the manual's order, ``""`` when no form has these words."""
        return self.judgement.canonical()

    @property
    def findings(self) -> tuple[FindingRef, ...]:
        """Differences between manual and assembler that concern this form."""
        return self.judgement.findings()

    @property
    def nearest(self) -> tuple[str, ...]:
        """Legal forms for this target with the fewest changed words, each one checked; empty for a legal form."""
        if self._nearest is None:
            from ptxspec.forms.nearest import nearest

            self._nearest = () if self.legal else nearest(self.judgement)
        return self._nearest

    @property
    def diagnostic(self) -> Diagnostic | None:
        """The whole explanation, ``None`` for a legal form."""
        if self.legal:
            return None
        base = self.judgement.diagnostic()
        notes: list[Note] = []
        for finding in self.findings:
            notes.append(
                Note(
                    "fact", f"the assembler differs from the manual here ({finding.id}): {finding.ptxas}", finding.span
                )
            )
        if self.nearest and base.code != "F105":
            notes.append(Note("help", "nearest legal: " + ", ".join(self.nearest)))
        return base.with_notes(*notes)

    def to_json(self, *, nearest: bool = True) -> dict[str, object]:
        """The object of ``ptxspec check --json``."""
        floor = self.floor
        return {
            "opcode": self.opcode,
            "legal": self.legal,
            "ptxas": self.ptxas.value,
            "canonical": self.canonical,
            "code": self.code,
            "rules": [{"id": r.id, "why": r.why, "spec": r.spec} for r in self.rules],
            "floor": floor.to_json() if floor else None,
            "nearest": list(self.nearest) if nearest else [],
        }

    def _repr_html_(self) -> str:
        # By name, and only in notebooks: reports stand above this floor.
        from importlib import import_module

        return str(import_module("ptxspec.report.notebook").verdict(self))

    def __repr__(self) -> str:
        return f"FormVerdict({self.opcode!r}, legal={self.legal}, ptxas={self.ptxas.value!r}, code={self.code!r})"
