"""What a real assembler says of each of many instructions, one by one.

Errors of a line are independent of other lines, with exceptions that are dealt with here: a *fatal* error stops
the assembler at that line (what stands before and behind it is asked again), a *crash* says nothing about any line (the
lines are halved until the culprit stands alone), and an error that names no line means that the setting is impossible.
"""

from __future__ import annotations

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
        # What stands before is asked again without the fatal line, so that each answer comes from a run that ended.
        index, said = fatal
        before, after = lines[:index], lines[index + 1 :]
        return [*_batch(tool, setting, before), Label("reject", said), *_batch(tool, setting, after)]
    if not found and outcome.status != "ok":
        return _nowhere(tool, setting, lines, elsewhere)
    # Code is generated, and the module as a whole is judged, only where no line has an error: what passed the parser is
    # asked again by itself, in a kernel all of it, in a function what a module can be refused for.
    again = [n for n, line in enumerate(lines) if n not in found and (setting.context == "entry" or _whole(line))]
    if found and again:
        labels = dict(zip(again, _batch(tool, setting, [lines[n] for n in again]), strict=True))
        return [Label("reject", found[n]) if n in found else labels.get(n, ACCEPTED) for n in range(len(lines))]
    return [Label("reject", found[index]) if index in found else ACCEPTED for index in range(len(lines))]


def _whole(line: str) -> bool:
    """Generic addresses of 32 bits are refused for the whole module, not on their line; what is said of one of these
    lines holds for all of them."""
    return "cvta" in line and "u32" in line


def _halves(tool: Toolchain, setting: Setting, lines: Sequence[str], why: str) -> list[Label]:
    if len(lines) == 1:
        return [Label("crash", why)]
    middle = len(lines) // 2
    return [*_batch(tool, setting, lines[:middle]), *_batch(tool, setting, lines[middle:])]


def _nowhere(tool: Toolchain, setting: Setting, lines: Sequence[str], said: Sequence[str]) -> list[Label]:
    """Refused as a whole: by a single line that complains about the module, or because the setting is impossible."""
    message = said[0] if said else "no reason given"
    if message.startswith("32-Bit") and all(_whole(line) for line in lines):
        return [Label("reject", message)] * len(lines)
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
