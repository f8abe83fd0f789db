"""What the report says about merged accesses, and about neighbours that stay apart."""

from __future__ import annotations

from pathlib import PurePath

from ptxspec.diagnostics import Span
from ptxspec.lang.ir import Apply, Load, Store

from .build import Vector
from .neighbours import Place


class Notes:
    """Lines of the report, equal ones counted."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}

    def lines(self) -> tuple[str, ...]:
        """The notes in the order in which they came up."""
        return tuple(line if times == 1 else f"{line} ({times} times)" for line, times in self._lines.items())

    def joined(self, vector: Vector, apply: Apply) -> None:
        """``vector`` became one access."""
        width, name = vector.width, vector.start.buffer.name
        what = "reads" if vector.verb == "ld" else "writes"
        self._add(f"{_place(apply.span)}: {width.count} {what} of `{name}` go by {apply.use.opcode}, {width.bytes} "
                  f"bytes an access: all start at a multiple of {width.bytes} bytes (proved); {vector.wider}")

    def apart(self, start: Place, count: int, verb: str, access: Load | Store, obstacle: str) -> None:
        """``count`` neighbours that stay single accesses."""
        what = "reads" if verb == "ld" else "writes"
        self._add(f"{_place(access.span)}: {count} neighbouring {what} of `{start.buffer.name}` go one by one: a wider "
                  f"access {obstacle}")

    def _add(self, line: str) -> None:
        self._lines[line] = self._lines.get(line, 0) + 1


def _place(span: Span) -> str:
    return f"{PurePath(span.file).name}:{span.line}"
