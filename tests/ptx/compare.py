"""Linter against assembler over random lines; the differences, if any."""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.ptx.lint import lint

from .assembler import Machine, refused
from .lines import TAIL, Lines, head
from .other_lines import OtherLines


@dataclass(frozen=True)
class Difference:
    """A line on which the two do not agree; ``said`` is the linter's verdict, ``ptxas`` the assembler's."""

    machine: Machine
    line: str
    said: str
    ptxas: str

    def __str__(self) -> str:
        m = self.machine
        return f"[{m.ptx} {m.sm} {m.toolkit}] {self.line}\n    lint:  {self.said}\n    ptxas: {self.ptxas}"


UNJUDGED = "not judged"


def lint_lines(lines: list[str], machine: Machine, start: str, tail: str) -> dict[int, str]:
    """Index of each line that the linter calls an error or does not judge, and the first thing it says."""
    before = f".version {machine.ptx}\n.target {machine.sm}\n.address_size 64\n{start}"
    first = before.count("\n") + 1
    result = lint(before + "\n".join(lines) + "\n" + tail, "lines.ptx", toolkit=machine.major_minor)
    found: dict[int, str] = {}
    for finding in result.findings:
        if finding.severity == "error":
            found.setdefault(finding.line - first, f"{finding.code} {finding.diagnostic.message}")
    for line in result.unjudged_lines:
        found.setdefault(line - first, UNJUDGED)
    return found


def compare(lines: list[str], machine: Machine, crashes: list[str] | None = None) -> list[Difference]:
    """Every line on which linter and assembler differ; lines on which the assembler dies go to ``crashes``.

    Lines that the linter holds for syntax errors go to the assembler in small modules, since each ends a run.
    """
    start = head(*_version(machine))
    ours: dict[int, str] = {}
    for at in range(0, len(lines), 150):  # the parser stops after some hundred complaints, as it should
        for index, message in lint_lines(lines[at : at + 150], machine, start, TAIL).items():
            ours[index + at if index >= 0 else index] = message
    fatal = [i for i, m in ours.items() if m.startswith(("L002", "L204", "L219"))]
    calm = [i for i in range(len(lines)) if i not in set(fatal)]
    theirs: dict[int, str] = {}
    crashed: dict[int, str] = {}
    batches = [calm[i : i + 4000] for i in range(0, len(calm), 4000)]
    batches += [fatal[i : i + 12] for i in range(0, len(fatal), 12)]
    found: list[Difference] = []
    for batch in batches:
        verdicts = refused([lines[i] for i in batch], machine, start, TAIL)
        found += [Difference(machine, "(module)", "", message) for message in verdicts.other]
        theirs.update((batch[index], message) for index, message in verdicts.bad.items())
        crashed.update((batch[index], message) for index, message in verdicts.crashed.items())
    if crashes is not None:
        crashes += [lines[index] for index in crashed]
    for index, line in enumerate(lines):
        if index in crashed or ours.get(index) == UNJUDGED:
            continue
        if (index in ours) != (index in theirs) and _alone(line, machine, start, theirs, index) != (index in ours):
            found.append(Difference(machine, line, ours.get(index, "accepted"), theirs.get(index, "accepted")))
    return found


def _alone(line: str, machine: Machine, start: str, theirs: dict[int, str], index: int) -> bool:
    """Is the line refused in a module of its own? Errors in routines that the assembler puts in for an instruction come
    with line numbers of those routines, and can look like errors of other lines."""
    verdicts = refused([line], machine, start, TAIL)
    if verdicts.crashed:
        return True
    theirs.pop(index, None)
    if verdicts.bad or verdicts.other:
        theirs[index] = next(iter([*verdicts.bad.values(), *verdicts.other]))
    return index in theirs


def _version(machine: Machine) -> tuple[tuple[int, int], int]:
    major, minor = machine.ptx.split(".")
    return (int(major), int(minor)), int("".join(c for c in machine.sm if c.isdigit()))


def draw(seed: int, machine: Machine, count: int) -> list[str]:
    """``count`` random lines of loads, stores and moves for a machine."""
    source = Lines(seed, *_version(machine))
    return [source.line() for _ in range(count)]


def draw_others(seed: int, machine: Machine, count: int) -> list[str]:
    """``count`` random lines of the other instructions."""
    source = OtherLines(seed, *_version(machine))
    return [source.other() for _ in range(count)]
