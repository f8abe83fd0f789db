"""One way to refuse a kernel: a code, a sentence, the user's place and a remedy."""

from __future__ import annotations

import traceback
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from ptxspec.diagnostics import Diagnostic, KernelError, Note, PtxspecError, Span

_HOME = Path(__file__).resolve().parents[1]


def refuse(code: str, message: str, span: Span | None = None, *, help: str = "", note: str = "",
           where: Span | None = None) -> NoReturn:
    """Raise KernelError; ``where`` is a second place that ``note`` speaks of."""
    notes: list[Note] = []
    if note:
        notes.append(Note("note", note, where))
    if help:
        notes.append(Note("help", help))
    raise KernelError(Diagnostic(code, message, span, notes=tuple(notes)))


def placed(error: PtxspecError, span: Span) -> PtxspecError:
    """``error`` with ``span`` filled into every diagnostic that has no place yet."""
    if all(d.span is not None for d in error.diagnostics):
        return error
    return type(error)(*(d if d.span is not None else Diagnostic(d.code, d.message, span, d.severity, d.notes)
                         for d in error.diagnostics))


def raised_at(error: BaseException) -> Span | None:
    """Where outside of ptxspec ``error`` was raised; None where that is ptxspec itself."""
    found = None
    for frame in traceback.extract_tb(error.__traceback__):
        own = Path(frame.filename).is_relative_to(_HOME)
        found = None if own or frame.lineno is None else \
            Span(frame.filename, frame.lineno, (frame.colno or 0) + 1, (frame.end_colno or 0) + 1)
    return found


def own_name(module: str) -> str:
    """The name under which users know one of our modules: T for the namespace, T.cuda for what is below it."""
    if module in ("ptxspec.t", "ptxspec.lang.t"):
        return "T"
    return module.replace("ptxspec.lang.", "T.", 1)


def said(value: object) -> str:
    """``value`` for a message: its text where a person wrote or would recognise it, else what kind of thing it is."""
    name = str(getattr(value, "__name__", ""))
    if name and callable(value):
        return f"the function `{name}`"
    if value is None or isinstance(value, (bool, int, float, str, tuple, list, dict, slice)):
        text = repr(value)
        return text if len(text) <= 60 and " at 0x" not in text else f"a {type(value).__name__}"
    text = repr(value)
    return f"an object of type {type(value).__name__}" if " at 0x" in text or len(text) > 60 else text


def nearest(word: str, known: list[str]) -> str:
    """A help sentence naming the closest known word, or listing a few."""
    close = get_close_matches(word, known, 1, 0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    shown = ", ".join(known[:12])
    return f"known: {shown}{', ...' if len(known) > 12 else ''}"
