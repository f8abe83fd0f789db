"""Real assembler, line by line: which lines of a body does ptxas refuse?

A body sits in a function that nobody calls. ptxas checks each line of it, reports semantic errors with their lines and
goes on; a fatal error ends the run at its line, which is then blanked and the rest tried again.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ptxspec.backend.assemble import toolchains

_ERROR = re.compile(r"line (\d+); (error|fatal)\s*: (.*)")
_LATE = re.compile(r"fatal\s*: Line No: (\d+): (.*)")
_CALL = re.compile(r"Function call sequence invalid: 'ld\.param' of '(\w+)'")
_NARROW = re.compile(r"32-bit address on line '(\d+)'")


@dataclass(frozen=True)
class Machine:
    """A PTX version, a target, and the release that is asked."""

    ptx: str
    sm: str
    toolkit: str

    def __str__(self) -> str:
        return f"{self.ptx}-{self.sm}-{self.toolkit}"

    @property
    def major_minor(self) -> str:
        """The release as the database names it: ``13.0``."""
        return ".".join(self.toolkit.split(".")[:2])


# Fifteen pairs from the oldest to the newest, each with the newest release that reads it (two with an older one too).
MACHINES: tuple[Machine, ...] = (
    Machine("6.0", "sm_60", "12.9.86"),
    Machine("6.0", "sm_70", "12.9.86"),
    Machine("6.3", "sm_75", "13.5.37"),
    Machine("7.0", "sm_80", "13.5.37"),
    Machine("7.4", "sm_80", "13.5.37"),
    Machine("7.4", "sm_75", "13.0.88"),
    Machine("7.8", "sm_89", "13.5.37"),
    Machine("7.8", "sm_90", "13.0.88"),
    Machine("8.0", "sm_90a", "13.5.37"),
    Machine("8.3", "sm_90", "13.0.88"),
    Machine("8.6", "sm_100", "13.5.37"),
    Machine("8.8", "sm_100", "13.0.88"),
    Machine("9.0", "sm_90", "13.0.88"),
    Machine("9.0", "sm_120", "13.0.88"),
    Machine("9.1", "sm_90", "13.5.37"),
    Machine("9.5", "sm_100", "13.5.37"),
    Machine("9.5", "sm_75", "13.5.37"),
)


def executable(toolkit: str) -> str | None:
    """The ptxas of a release (``13.0.88``), None when it is not on this machine."""
    wanted = tuple(int(part) for part in toolkit.split("."))
    return next((t.path for t in toolchains("ptxas") if t.version[: len(wanted)] == wanted), None)


@dataclass
class Verdicts:
    """``bad``: index of each refused line and what ptxas says first; ``crashed``: lines on which it dies; ``other``:
    complaints about the module as a whole."""

    bad: dict[int, str] = field(default_factory=dict)
    crashed: dict[int, str] = field(default_factory=dict)
    other: list[str] = field(default_factory=list)


def refused(lines: Sequence[str], machine: Machine, head: str, tail: str) -> Verdicts:
    """What the assembler says of each line; ``head`` and ``tail`` are the text before and after them.

    A line that uses a 32-bit register as the address of 64-bit memory passes the line check but ends the module, and
    the warning names it; it counts as refused.
    """
    path = executable(machine.toolkit)
    assert path is not None, f"ptxas {machine.toolkit} is not here"
    before = f".version {machine.ptx}\n.target {machine.sm}\n.address_size 64\n{head}"
    first = before.count("\n") + 1
    found = Verdicts()
    with tempfile.TemporaryDirectory() as folder:
        _run(path, machine.sm, before, tail, first, dict(enumerate(lines)), found, Path(folder))
    return found


def _run(
    path: str, sm: str, before: str, tail: str, first: int, live: dict[int, str], found: Verdicts, folder: Path
) -> None:
    """Assemble the ``live`` lines until nothing new is learnt; split them where the assembler dies."""
    source = folder / "lines.ptx"
    while True:
        rows = sorted(live)
        source.write_text(before + "\n".join(live[row] for row in rows) + "\n" + tail)
        done = subprocess.run(
            [path, "--compile-only", "-arch", sm, "-O0", str(source), "-o", str(folder / "out")],
            capture_output=True, text=True, timeout=600, check=False, errors="replace",
        )
        text = done.stdout + done.stderr
        fresh = {int(m[1]) - first: m[3] for m in reversed(list(_ERROR.finditer(text)))}
        inside = [message for at, message in fresh.items() if at < 0]
        if done.returncode < 0 or "C7907" in text or inside:
            if len(rows) == 1 and inside:
                # A routine that the assembler puts in for an instruction did not parse with these operands.
                found.bad[rows[0]] = inside[0]
                return
            if len(rows) == 1:
                found.crashed[rows[0]] = "internal compiler error" if done.returncode > 0 else (
                    f"ended by signal {-done.returncode}")
                return
            for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
                _run(path, sm, before, tail, first, {row: live[row] for row in half}, found, folder)
            return
        stops = {int(m[1]) - first for m in _ERROR.finditer(text) if m[2] == "fatal"}
        late = _LATE.search(text)
        if not fresh and late is not None:
            found.bad[rows[int(late[1]) - first]] = late[2]
            live[rows[int(late[1]) - first]] = ""
            continue
        unpaired = _CALL.search(text)
        if not fresh and unpaired is not None:
            # A rule about the order of whole calls, not about a line: such loads are taken out and the rest goes on.
            loads = [r for r in rows if re.search(rf"\bld\b.*\[\s*{unpaired[1]}\b", live[r])]
            if loads:
                live.update(dict.fromkeys(loads, ""))
                continue
        if not fresh:
            narrow = {int(m[1]) - first: "32-bit address in a 64-bit module" for m in _NARROW.finditer(text)}
            for at, message in narrow.items():
                found.bad[rows[at]] = message
            if done.returncode and not narrow:
                found.other.append(text.strip()[:500])
            return
        for at, message in fresh.items():
            if not 0 <= at < len(rows):
                found.other.append(f"line {at}: {message} {[live[r] for r in rows]}")
                return
            found.bad[rows[at]] = message
        # After a fatal error only what stood before it was looked at in full; the errors are kept all the same.
        for at in stops or fresh:
            live[rows[at]] = ""
        if not stops:
            for at in fresh:
                live[rows[at]] = ""
