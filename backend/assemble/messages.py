"""What an assembler says, as data: each line of its log with severity, PTX line and text.

Both ``ptxas`` (``ptxas FILE, line N; error   : text``) and nvJitLink (the same with its own file name, plus closing
lines of its own) are understood. Lines that fit no pattern are kept as ``note`` so that nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "fatal", "warning", "info", "note"]

_WORDS = r"(?P<severity>error|fatal|warning|info)\s*: (?P<text>.*)$"
_LINE = re.compile(r"^ptxas (?P<file>.*?), line (?P<line>\d+); " + _WORDS)
_PLAIN = re.compile(r"^(?:ptxas )?" + _WORDS)
_JITLINK = re.compile(r"^(?P<severity>ERROR|WARNING) (?P<text>NVJITLINK_\w+.*|\d+ in .*)$")


@dataclass(frozen=True, slots=True)
class Message:
    """One line of the assembler's log; ``line`` is the 1-based PTX line, 0 where the tool named none."""

    severity: Severity
    line: int
    text: str

    @property
    def refuses(self) -> bool:
        """True where this message means that the module was not assembled."""
        return self.severity in ("error", "fatal")


def parse_messages(log: str) -> tuple[Message, ...]:
    """Every non-empty line of ``log``, in order."""
    out: list[Message] = []
    for raw in log.splitlines():
        text = raw.rstrip()
        if not text.strip():
            continue
        if found := _LINE.match(text):
            out.append(Message(_severity(found["severity"]), int(found["line"]), found["text"].strip()))
        elif found := _PLAIN.match(text):
            out.append(Message(_severity(found["severity"]), 0, found["text"].strip()))
        elif found := _JITLINK.match(text):
            out.append(Message(_severity(found["severity"].lower()), 0, found["text"].strip()))
        else:
            out.append(Message("note", 0, text.strip()))
    return tuple(out)


def first_by_line(messages: Iterable[Message]) -> dict[int, Message]:
    """PTX line -> the first message that refuses it."""
    out: dict[int, Message] = {}
    for message in messages:
        if message.refuses and message.line:
            out.setdefault(message.line, message)
    return out


def _severity(word: str) -> Severity:
    match word:
        case "error":
            return "error"
        case "fatal":
            return "fatal"
        case "warning":
            return "warning"
        case "info":
            return "info"
        case _:
            return "note"
