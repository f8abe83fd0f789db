"""What a proof run hands back: frozen results that print, serialise and say what the host must check at launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ptxspec.diagnostics import Diagnostic, PtxspecError, Span
from ptxspec.proof.codes import BY_CODE
from ptxspec.scalar.expr import Expr

VERDICTS = ("refuted", "unknown", "vacuous", "proved")


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Replayed values that break an obligation.

    ``values`` maps the user's names to integers, ``thread`` and ``block`` are (x, y, z), ``second`` is the other thread
    of a race. ``lines`` say what goes wrong, elements and bytes side by side; ``array``, ``index``, ``byte`` and
    ``remainder`` are the same for programs (None where they do not apply). ``unseen``: why a machine may show nothing
    of it. ``env`` is what the replay used.
    """

    values: dict[str, int]
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    lines: tuple[str, ...] = ()
    second: Counterexample | None = None
    array: str | None = None
    index: tuple[int, ...] | None = None
    byte: int | None = None
    remainder: int | None = None
    unseen: str = ""
    env: dict[Expr, int] = field(default_factory=dict, repr=False, compare=False)

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        out: dict[str, object] = {"values": dict(self.values)}
        for name in ("thread", "block", "index"):
            value = getattr(self, name)
            if value is not None:
                out[name] = list(value)
        for name in ("array", "byte", "remainder"):
            value = getattr(self, name)
            if value is not None:
                out[name] = value
        if self.lines:
            out["text"] = list(self.lines)
        if self.second is not None:
            out["second"] = self.second.to_json()
        return out


@dataclass(frozen=True, eq=False, slots=True)
class Obligation:
    """One decided obligation.

    ``code`` is its stable name (``aligned``, ``in-bounds`` ...), ``explain`` the code of its diagnostics (``P101``,
    for ``ptxspec explain``). ``ms`` is the time it took; ``facts_used`` are names of hypotheses.
    """

    code: str
    explain: str
    verdict: str
    where: Span
    subject: str
    message: str
    ms: float
    counterexample: Counterexample | None = None
    diagnostic: Diagnostic | None = None
    reason: str = ""
    how: str = ""
    rule: Span | None = None
    goals: int = 0
    _facts: Callable[[], tuple[tuple[str, ...], tuple[str, ...]]] | None = field(default=None, repr=False)

    @property
    def facts_used(self) -> tuple[str, ...]:
        """Names of the hypotheses that a proof rests on (worked out when asked for)."""
        return self._facts()[0] if self._facts is not None else ()

    @property
    def facts_unused(self) -> tuple[str, ...]:
        """Names of the hypotheses that were there and not needed."""
        return self._facts()[1] if self._facts is not None else ()

    def to_json(self) -> dict[str, object]:
        """The object of ``ptxspec prove --json``."""
        out: dict[str, object] = {
            "code": self.code,
            "explain": self.explain,
            "verdict": self.verdict,
            "where": str(self.where),
            "ms": round(self.ms, 3),
            "message": self.message,
            "counterexample": self.counterexample.to_json() if self.counterexample else None,
        }
        if self.reason:
            out["reason"] = self.reason
        if self.diagnostic is not None:
            out["diagnostic"] = self.diagnostic.to_json()
        return out


@dataclass(frozen=True, slots=True)
class Premises:
    """What the proofs rest on and the host checks before a launch.

    ``alignments``: bytes that each array's base must be a multiple of. ``assumptions``: ``T.assume`` facts over launch
    values; ``trusted``: those that mention values of the running kernel, which nobody can check before it runs.
    ``launch``: conditions on grid sizes. Extents, strides, dtypes and non-aliasing of arrays are always checked.
    """

    alignments: dict[str, int] = field(default_factory=dict)
    assumptions: tuple[tuple[str, Expr, Span], ...] = ()
    trusted: tuple[tuple[str, Expr, Span], ...] = ()
    launch: tuple[tuple[str, Expr], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {
            "alignments": dict(self.alignments),
            "assumptions": [t for t, _, _ in self.assumptions],
            "trusted": [t for t, _, _ in self.trusted],
            "launch": [t for t, _ in self.launch],
        }


@dataclass(frozen=True, slots=True)
class ProofReport:
    """All obligations of one kernel, in program order. ``verdict`` is the worst of them; ``notes`` tell of choices
    made while the kernel was read (widths of tile accesses, barriers). ``not_judged`` lists what the proof leaves open
    (bytes of shared memory whose writes could not be followed): the verdict says nothing about it."""

    kernel: str
    sm: str
    verdict: str
    obligations: tuple[Obligation, ...]
    premises: Premises
    ms: float
    statistics: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """One for each obligation that is not proved."""
        return tuple(o.diagnostic for o in self.obligations if o.diagnostic is not None and o.verdict != "proved")

    def failures(self) -> tuple[Obligation, ...]:
        """The obligations that are not proved, refuted ones first."""
        bad = [o for o in self.obligations if o.verdict != "proved"]
        return tuple(sorted(bad, key=lambda o: VERDICTS.index(o.verdict)))

    def raise_if_bad(self) -> ProofReport:
        """This report when everything is proved; else ProofError with every failure in it."""
        if self.verdict != "proved":
            raise ProofError(self)
        return self

    def to_json(self) -> dict[str, object]:
        """The object of ``ptxspec prove --json``: one a kernel."""
        return {
            "kernel": self.kernel,
            "verdict": self.verdict,
            "ms": round(self.ms, 3),
            "sm": self.sm,
            "obligations": [o.to_json() for o in self.obligations],
            "premises": self.premises.to_json(),
            "not_judged": list(self.not_judged),
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        # By name, and only in notebooks: reports stand above this floor.
        from importlib import import_module

        return str(import_module("ptxspec.report.notebook").report(self))

    def rows(self) -> list[tuple[str, str, str, str, str, float]]:
        """(code, name, verdict, line, subject, ms) of each obligation, for tables."""
        return [(o.explain, o.code, o.verdict, f"{o.where.line}", o.subject, o.ms) for o in self.obligations]

    def text(self) -> str:
        """A plain table."""
        lines = [f"{self.kernel}: {self.verdict} ({len(self.obligations)} obligations, {self.ms:.1f} ms)"]
        for code, name, verdict, line, subject, ms in self.rows():
            lines.append(f"  {code} {name:<12} {verdict:<8} line {line:>4}  {ms:7.2f} ms  {subject}")
        lines += [f"  note: {note}" for note in self.notes]
        lines += [f"  not judged: {text}" for text in self.not_judged]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()


class ProofError(PtxspecError):
    """A kernel whose obligations are not all proved; ``report`` has every one of them."""

    def __init__(self, report: ProofReport) -> None:
        self.report = report
        super().__init__(*(o.diagnostic for o in report.failures() if o.diagnostic is not None))


def promise_of(code: str) -> str:
    """The sentence behind an obligation's code."""
    return BY_CODE[code].promise
