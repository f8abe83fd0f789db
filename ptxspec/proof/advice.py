"""Remedies that whoever wrote a kernel's code knew better: they take the place of those found from one access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxspec.diagnostics import Note
from ptxspec.proof.report import Obligation

_BOUNDS = "P103"


def advised(obligations: Sequence[Obligation], advice: Sequence[tuple[str, str]]) -> tuple[Obligation, ...]:
    """The obligations, with the advice on an array in refusals of accesses to its tiles."""
    return tuple(_advised(o, advice) if advice and o.explain == _BOUNDS and o.diagnostic is not None else o
                 for o in obligations)


def _advised(obligation: Obligation, advice: Sequence[tuple[str, str]]) -> Obligation:
    diagnostic = obligation.diagnostic
    assert diagnostic is not None
    said = dict.fromkeys(text for array, text in advice if f"`the tile of {array}`" in diagnostic.message)
    if not said:
        return obligation
    kept = tuple(note for note in diagnostic.notes if note.kind != "help")
    return replace(obligation, diagnostic=replace(
        diagnostic, notes=(*kept, *(Note("help", text) for text in said))))
