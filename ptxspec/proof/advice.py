"""Remedies that whoever wrote a kernel's code knew better: they take the place of those found from one access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ptxspec.diagnostics import Note
from ptxspec.proof.report import Obligation


def advised(obligations: Sequence[Obligation], advice: Sequence[tuple[str, str, str]]) -> tuple[Obligation, ...]:
    """The obligations, with the advice on an array in refusals of accesses to its tiles, and that on a place."""
    return tuple(_advised(o, advice) if advice else o for o in obligations)


def _advised(obligation: Obligation, advice: Sequence[tuple[str, str, str]]) -> Obligation:
    diagnostic = obligation.diagnostic
    if diagnostic is None:
        return obligation
    said = dict.fromkeys(text for code, where, text in advice if code == obligation.explain
                         and (where == str(obligation.where) or f"`the tile of {where}`" in diagnostic.message))
    if not said:
        return obligation
    kept = tuple(note for note in diagnostic.notes if note.kind != "help")
    return replace(obligation, diagnostic=replace(
        diagnostic, notes=(*kept, *(Note("help", text) for text in said))))
