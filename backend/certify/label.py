"""What a real assembler says of each of many instructions, one by one.

A label is what the assembler says of a line in a module of its own. To be fast, thousands are asked together, and what
lines do to each other is undone here:

- A *fatal* error stops the assembler at its line: what stands before and behind it is asked again without it.
- A *crash* says nothing about any line: the lines are halved until the culprit stands alone.
- Any error hides what the assembler looks at later (the routines that it puts in for some instructions, the module as
  a whole, code generation). So lines without an error are asked again without the others, until none is left
  with an error; only what passes in such a clean module is accepted.
- An error inside a routine that was put in names the line of another instruction at times: lines that are blamed
  in the name of a foreign instruction are asked alone.
- A 32-bit generic address is refused for the module as a whole, unless a narrower address stands elsewhere: lines that
  may hold one are asked apart from the others.
- An error that names no line at all means that the setting is impossible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ptxspec.diagnostics import AssembleError, Note, fail

from ..assemble import Toolchain, run_tool
from .host import Setting, first_line, module

Answer = Literal["accept", "reject", "crash"]
_TIMEOUT = 300.0
# Warnings are many and mean nothing here. Optimising what is thrown away would only cost time.
_OPTIONS = ("-w", "-O0")
#: Lines that may hold an address of 32 bits where one of 64 is meant.
_NARROW = re.compile(r"cvta\S*\.u32|mov\.[bus]32.*[\s,]gvar|\[%[us]?r\d")
#: How a message begins that only a line's own text explains: other marks may stand in an operand that was put into a
#: routine, and then the line of another instruction is blamed.
_SYNTAX = "Parsing error near ':'"
_NAMED = re.compile(r"instruction '(\w+)")


@dataclass(frozen=True, slots=True)
class Label:
    """The assembler's word on one line: its answer and, unless it accepts, its first message (or the signal)."""

    answer: Answer
    message: str = ""


ACCEPTED = Label("accept")


def label(tool: Toolchain, setting: Setting, lines: Sequence[str], *, batch: int = 4000) -> list[Label]:
    """One label for each of ``lines`` (single instructions with their semicolon).

    Raises A120 for a line that is not one instruction, A121 where the assembler does not know the setting at all.
    """
    for line in lines:
        if "\n" in line or line.count(";") != 1 or not line.rstrip().endswith(";") or "//" in line or "/*" in line:
            raise fail(AssembleError, "A120", f"not one instruction: {line!r}")
    out: list[Label] = []
    for start in range(0, len(lines), batch):
        out.extend(_batch(tool, setting, lines[start : start + batch]))
    return out


def _batch(tool: Toolchain, setting: Setting, lines: Sequence[str]) -> list[Label]:
    narrow = [n for n, line in enumerate(lines) if _NARROW.search(line)]
    if not narrow or len(narrow) == len(lines):
        return _together(tool, setting, lines)
    out = [ACCEPTED] * len(lines)
    others = [n for n in range(len(lines)) if n not in set(narrow)]
    for group in (narrow, others):
        for n, one in zip(group, _together(tool, setting, [lines[n] for n in group]), strict=True):
            out[n] = one
    return out


def _together(tool: Toolchain, setting: Setting, lines: Sequence[str]) -> list[Label]:
    if not lines:
        return []
    outcome = run_tool(
        tool, module(setting, lines), setting.target, options=_OPTIONS, timeout=_TIMEOUT, keep=False
    )
    if outcome.status in ("crashed", "timeout"):
        return _halves(tool, setting, lines, outcome.signal or outcome.status)
    base = first_line(setting)
    found: dict[int, str] = {}
    fatal: tuple[int, str] | None = None
    elsewhere: list[str] = []
    for message in outcome.messages:
        index = message.line - base
        if not message.refuses:
            continue
        if 0 <= index < len(lines):
            found.setdefault(index, message.text)
            if message.severity == "fatal" and fatal is None:
                fatal = (index, message.text)
        elif message.line or "aborted due to errors" not in message.text:
            elsewhere.append(message.text)
    if fatal is not None:
        index, said = fatal
        alone = said.startswith(_SYNTAX) or len(lines) == 1
        if not alone and _together(tool, setting, [lines[index]])[0].answer == "accept":
            # The line is that of a routine that was put in for another line.
            return _halves(tool, setting, lines, said)
        return _but_fatal(tool, setting, lines, index, said)
    if not found:
        return [ACCEPTED] * len(lines) if outcome.status == "ok" else _nowhere(tool, setting, lines, elsewhere)
    labels = {n: Label("reject", said) for n, said in found.items()}
    if len(lines) > 1:
        for n in [n for n, said in found.items() if _foreign(lines[n], said)]:
            (labels[n],) = _together(tool, setting, [lines[n]])
    rest = [n for n in range(len(lines)) if n not in found]
    labels.update(zip(rest, _together(tool, setting, [lines[n] for n in rest]), strict=True))
    return [labels[n] for n in range(len(lines))]


def _but_fatal(tool: Toolchain, setting: Setting, lines: Sequence[str], index: int, said: str) -> list[Label]:
    """Line ``index`` ends the assembler; syntax errors behind it are found first, one run each, then all others are
    asked again, so that each answer comes from a run that ended."""
    refused = {index: said}
    start = index + 1
    base = first_line(setting)
    while start < len(lines):
        outcome = run_tool(tool, module(setting, lines[start:]), setting.target, options=_OPTIONS, timeout=_TIMEOUT,
                           keep=False)
        # The first fatal message names the line; the one that says that the run was aborted comes behind it.
        end = next((m for m in outcome.messages if m.severity == "fatal"), None)
        if end is None or not end.text.startswith(_SYNTAX) or not 0 <= end.line - base < len(lines) - start:
            break
        refused[start + end.line - base] = end.text
        start += end.line - base + 1
    rest = [n for n in range(len(lines)) if n not in refused]
    labels = {n: Label("reject", text) for n, text in refused.items()}
    labels.update(zip(rest, _together(tool, setting, [lines[n] for n in rest]), strict=True))
    return [labels[n] for n in range(len(lines))]


def _foreign(line: str, said: str) -> bool:
    """Is the line blamed for an instruction that is not its own, or for an argument of a call that it does not make?"""
    named = _NAMED.search(said)
    return "formal parameter" in said or "Call argument" in said or (
        named is not None and re.search(rf"(?<![\w.%]){re.escape(named[1])}\b", line) is None)


def _halves(tool: Toolchain, setting: Setting, lines: Sequence[str], why: str) -> list[Label]:
    if len(lines) == 1:
        return [Label("crash", why)]
    middle = len(lines) // 2
    return [*_batch(tool, setting, lines[:middle]), *_batch(tool, setting, lines[middle:])]


def _nowhere(tool: Toolchain, setting: Setting, lines: Sequence[str], said: Sequence[str]) -> list[Label]:
    """Refused as a whole: by a single line that complains about the module, or because the setting is impossible."""
    message = said[0] if said else "no reason given"
    if len(lines) > 1 and message.startswith("32-Bit") and all(_NARROW.search(line) for line in lines):
        # Said of any of them, and halving would not be quicker; equal lines have equal answers.
        known = {line: _together(tool, setting, [line])[0] for line in dict.fromkeys(lines)}
        return [known[line] for line in lines]
    if len(lines) > 1:
        return _halves(tool, setting, lines, message)
    probe = run_tool(tool, module(setting, []), setting.target, options=_OPTIONS, timeout=_TIMEOUT, keep=False)
    if probe.status == "ok":
        return [Label("reject", message)]
    raise fail(
        AssembleError, "A121", f"{tool.name} cannot assemble anything for {setting}: {message}",
        notes=(Note("help", "take a PTX version and target that this release knows"),),
    )


def knows(tool: Toolchain, setting: Setting) -> bool:
    """True where ``tool`` assembles an empty module under ``setting``."""
    probe = run_tool(tool, module(setting, []), setting.target, options=_OPTIONS, timeout=_TIMEOUT, keep=False)
    return probe.status == "ok"
