"""Lines of the body, kept as a tree so that loop-invariant code can be added before a loop already begun."""

from __future__ import annotations

from collections.abc import Iterator

from ptxspec.diagnostics import Span

Line = tuple[str, Span | None]


class Block:
    """A growing list of lines and nested blocks."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Line | Block] = []

    def nested(self) -> Block:
        """A new block at the current end; lines added to it later still stand here."""
        block = Block()
        self.items.append(block)
        return block

    def lines(self) -> Iterator[Line]:
        """All lines in order."""
        for item in self.items:
            if isinstance(item, Block):
                yield from item.lines()
            else:
                yield item


class Labels:
    """Names for branch targets, numbered by construct."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def fresh(self) -> int:
        """A number no other construct has."""
        self.count += 1
        return self.count
