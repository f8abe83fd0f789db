"""Faults: what a kernel was caught doing, told in terms of thread, instruction, kernel line and byte."""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.diagnostics import Diagnostic, LaunchError, Note, Span

Coordinates = tuple[int, int, int]

CODES: dict[str, str] = {
    "misaligned": "R201",
    "out-of-bounds": "R202",
    "undefined": "R203",
    "race": "R204",
    "divergent-barrier": "R205",
    "step-limit": "R206",
    "read-only": "R207",
    "trap": "R208",
}
"""Diagnostic code of each kind of fault."""

UNSUPPORTED = "R210"
"""The module uses something that the simulator has no meaning for; nothing was run."""

BAD_LAUNCH = "R211"
"""Grid, block, cluster or arguments do not fit the entry."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. ``line`` is the line of the PTX text, ``span`` the kernel's own line when a line map was given.

    ``address`` is the byte address of the access (None where no memory is involved), ``buffer`` the variable or kernel
    argument nearest to it, ``offset`` the byte offset of the access from its first byte, ``extent`` its size in bytes,
    ``size`` the bytes accessed. ``other_thread`` and ``other_block`` are the second party of a race, or a thread that
    did not arrive at a barrier. ``threads`` counts the threads that had this fault in the same step.
    """

    kind: str
    thread: Coordinates
    block: Coordinates
    line: int
    instruction: str
    detail: str = ""
    span: Span | None = None
    address: int | None = None
    size: int = 0
    buffer: str = ""
    offset: int | None = None
    extent: int | None = None
    other_thread: Coordinates | None = None
    other_block: Coordinates | None = None
    threads: int = 1

    @property
    def code(self) -> str:
        """The stable diagnostic code."""
        return CODES[self.kind]

    def message(self) -> str:
        """One sentence."""
        who = f"thread {_at(self.thread)} of block {_at(self.block)}"
        where = self._where()
        if self.kind == "misaligned":
            return f"{who} accesses {self.size} bytes at {where}, which is not a multiple of {self.size}"
        if self.kind == "out-of-bounds":
            return f"{who} accesses {self.size} bytes outside its buffer: {where}"
        if self.kind == "read-only":
            return f"{who} writes {self.size} bytes to read-only memory: {where}"
        if self.kind == "undefined" and self.address is not None:
            return f"{who} reads {self.size} bytes that were never written: {where}"
        if self.kind == "undefined":
            return f"{who} uses {self.detail}"
        if self.kind == "race":
            other = f"thread {_at(self.other_thread)} of block {_at(self.other_block)}"
            return f"{who} and {other} race on {where}: no barrier orders their accesses and at least one writes"
        if self.kind == "divergent-barrier":
            return f"{who} waits at a barrier that not every thread reaches"
        if self.kind == "step-limit":
            return f"the kernel did not end: {who} is still running; {self.detail}"
        return f"{who}: {self.detail}"

    def _where(self) -> str:
        if self.address is None:
            return "no address"
        if self.offset is None:
            return f"address {self.address:#x}"
        extent = f" (its size is {self.extent} bytes)" if self.extent is not None else ""
        return f"byte {self.offset} of {self.buffer}{extent}"

    def diagnostic(self) -> Diagnostic:
        """The fault as a diagnostic at the kernel's line."""
        notes = [Note("fact", f"PTX line {self.line}: {self.instruction}")]
        if self.address is not None:
            notes.append(Note("fact", f"address {self.address:#x}"))
        if self.kind == "divergent-barrier" and self.other_thread is not None:
            other = f"thread {_at(self.other_thread)} of block {_at(self.other_block)}"
            notes.append(Note("cause", f"{other} {self.detail}"))
        elif self.kind in ("out-of-bounds", "misaligned", "race") and self.detail:
            notes.append(Note("cause", self.detail))
        if self.threads > 1:
            notes.append(Note("note", f"{self.threads} threads have this fault at this instruction"))
        return Diagnostic(self.code, self.message(), self.span, notes=tuple(notes))

    def to_json(self) -> dict[str, object]:
        """A mapping of plain values."""
        out: dict[str, object] = {"kind": self.kind, "code": self.code, "message": self.message(),
                                  "thread": list(self.thread), "block": list(self.block), "line": self.line,
                                  "instruction": self.instruction, "threads": self.threads}
        if self.span is not None:
            out["where"] = str(self.span)
        if self.address is not None:
            out |= {"address": self.address, "size": self.size, "buffer": self.buffer, "offset": self.offset}
        if self.other_thread is not None and self.other_block is not None:
            out |= {"other_thread": list(self.other_thread), "other_block": list(self.other_block)}
        return out


class SimulationFault(LaunchError):
    """A simulated launch faulted; ``faults`` holds the faults found, the first one first."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__(*(f.diagnostic() for f in faults))


def _at(coordinates: Coordinates | None) -> str:
    return "?" if coordinates is None else f"({coordinates[0]},{coordinates[1]},{coordinates[2]})"


def unsupported(what: str, span: Span | None = None, *notes: Note) -> LaunchError:
    """The error for a module that the simulator cannot run as written; nothing is ever guessed."""
    return LaunchError(Diagnostic(UNSUPPORTED, f"the simulator cannot run this module: {what}", span, notes=notes))


def bad_launch(what: str, *notes: Note) -> LaunchError:
    """The error for a launch that does not fit the entry."""
    return LaunchError(Diagnostic(BAD_LAUNCH, what, notes=notes))
