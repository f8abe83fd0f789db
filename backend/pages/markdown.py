"""Markdown in small pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SPECS = "../../specs"


def code(text: str) -> str:
    """Inline code; nothing for nothing."""
    return f"`{text}`" if text else ""


def codes(words: Iterable[str]) -> str:
    """Several pieces of inline code."""
    return " ".join(f"`{w}`" for w in words)


def dotted(words: Iterable[str]) -> str:
    """Qualifiers as they are written in an opcode."""
    return codes(f".{w}" for w in words)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table with its empty line behind; without rows nothing."""
    body = ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head), *body, ""] if body else []


def fence(language: str, lines: Iterable[str]) -> list[str]:
    """A fenced block with its empty line behind."""
    return [f"```{language}", *lines, "```", ""]


def place(file: str, line: int, up: str = "../..") -> str:
    """``specs/instructions/ld.yaml:60`` as a link."""
    return f"[{file.rpartition('/')[2]}:{line}]({up}/{file}#L{line})"


def version(number: int) -> str:
    """``88`` as ``8.8``."""
    return f"{number // 10}.{number % 10}"


def floor(pair: tuple[int, int]) -> str:
    """``PTX 8.8, sm_100``."""
    return f"PTX {version(pair[0])}, sm_{pair[1]}"
