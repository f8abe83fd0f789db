"""The user's source with a mark on every line that has an obligation."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass

from ptxspec.lang import ir
from ptxspec.proof.report import VERDICTS, Obligation, ProofReport

MOST_LINES = 400


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line; ``verdict`` is empty or that of the failed obligation it belongs to."""

    text: str
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One source line. ``verdict`` is the worst of its obligations, empty without any; ``tip`` lists them."""

    number: int
    pieces: tuple[Piece, ...]
    verdict: str
    tip: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Neighbouring lines of one file; ``cut`` lines at the end are left out."""

    file: str
    lines: tuple[Line, ...]
    cut: int = 0


def excerpts(kernel: ir.Kernel, report: ProofReport | None) -> list[Excerpt]:
    """The kernel's function, then what it calls in other places, if obligations are there."""
    obligations = report.obligations if report is not None else ()
    first, last = extent(kernel)
    ranges: dict[str, list[tuple[int, int]]] = {kernel.file or kernel.span.file: [(first, last)]}
    for obligation in obligations:
        file, line = obligation.where.file, obligation.where.line
        known = ranges.setdefault(file, [])
        if not any(low <= line <= high for low, high in known):
            known.append((max(1, line - 1), line + 1))
    found: list[Excerpt] = []
    for file, parts in ranges.items():
        for low, high in _joined(parts):
            cut = max(0, high - low + 1 - MOST_LINES)
            lines = [_line(file, number, obligations) for number in range(low, high - cut + 1)]
            found.append(Excerpt(file, tuple(lines), cut))
    return found


def extent(kernel: ir.Kernel) -> tuple[int, int]:
    """First and last line of the kernel's function, its decorators included."""
    file, line = kernel.file or kernel.span.file, kernel.span.line
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return line, line
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == kernel.name:
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if start <= line <= (node.end_lineno or line):
                return start, node.end_lineno or line
    return line, line


def anchor(file: str, line: int) -> str:
    """The name of a line's place on the page."""
    return f"L{abs(hash_of(file)) % 100000}-{line}"


def hash_of(text: str) -> int:
    """A hash that is the same in every run."""
    value = 0
    for character in text:
        value = (value * 131 + ord(character)) % (1 << 32)
    return value


def _joined(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for low, high in sorted(parts):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def _line(file: str, number: int, obligations: tuple[Obligation, ...]) -> Line:
    text = linecache.getline(file, number).rstrip("\n")
    mine = [o for o in obligations if o.where.line == number and o.where.file == file]
    verdict = next((v for v in VERDICTS if any(o.verdict == v for o in mine)), "")
    spans = {(o.where.column - 1, o.where.end_column - 1, o.verdict) for o in mine
             if o.verdict != "proved" and o.where.end_column > o.where.column}
    # Where one failing part holds another, the inner one says more.
    marks = sorted(a for a in spans if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in spans))
    pieces: list[Piece] = []
    at = 0
    for low, high, failed in marks:
        if low < at:
            continue
        pieces += [Piece(text[at:low]), Piece(text[low:high], failed)]
        at = high
    pieces.append(Piece(text[at:]))
    tip = "\n".join(dict.fromkeys(f"{o.verdict}: {o.code} of {o.subject}" for o in mine[:12]))
    if len(mine) > 12:
        tip += f"\nand {len(mine) - 12} more"
    return Line(number, tuple(p for p in pieces if p.text), verdict, tip, anchor(file, number))
