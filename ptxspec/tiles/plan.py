"""Who owns what: the elements of a tile, dealt out to the threads of a CTA in groups of neighbours.

Groups of ``words`` elements along one ``axis`` are numbered with that axis fastest; group ``g`` belongs to thread
``g % threads``, as its repeat ``g // threads``. So neighbouring threads touch neighbouring bytes, and each of them
moves a whole vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ptxspec.layout import S, TileLayout, laneid, tx, warpid
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr


@dataclass(frozen=True)
class Plan:
    """A tile of ``shape`` in groups of ``words`` elements along ``axis``, over ``threads`` threads."""

    shape: tuple[int, ...]
    axis: int
    words: int
    threads: int

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return prod(self.shape) // self.words

    @property
    def full(self) -> int:
        """Repeats in which every thread has a group."""
        return self.groups // self.threads

    @property
    def rest(self) -> int:
        """Threads that have one group more."""
        return self.groups % self.threads

    @property
    def repeats(self) -> int:
        """Groups of the busiest thread."""
        return self.full + (self.rest > 0)

    def order(self) -> tuple[int, ...]:
        """Axes from the slowest to the fastest."""
        return (*(k for k in range(len(self.shape)) if k != self.axis), self.axis)

    def group(self, repeat: Expr | int, thread: Expr) -> Expr:
        """The number of the thread's group of one repeat."""
        if isinstance(repeat, int) and repeat == 0:
            return thread
        base = typed.binary("mul", repeat, self.threads) if isinstance(repeat, Expr) else repeat * self.threads
        return typed.binary("add", base, thread)

    def at(self, group: Expr) -> tuple[Expr, ...]:
        """Tile coordinates of the first element of a group."""
        found: dict[int, Expr] = {}
        below = 1
        for axis in reversed(self.order()):
            extent = self.shape[axis] // (self.words if axis == self.axis else 1)
            if extent == 1:
                found[axis] = typed.literal(0, "int32")
                continue
            value = typed.binary("floordiv", group, below) if below > 1 else group
            if below * extent < self.groups or (ix.bounds(ix.index(value))[1] or extent) >= extent:
                value = typed.binary("floormod", value, extent)
            found[axis] = typed.binary("mul", value, self.words) if axis == self.axis and self.words > 1 else value
            below *= extent
        return tuple(found[k] for k in range(len(self.shape)))

    def narrowed(self, words: int) -> Plan:
        """The same tile in smaller groups."""
        return Plan(self.shape, self.axis, words, self.threads)

    def layout(self) -> TileLayout:
        """Repeat, thread and word of each element in group order, as a layout to look at."""
        if self.threads % 32 == 0:
            return TileLayout(S[(self.repeats, self.threads // 32, 32, self.words):
                                (self.words, 1 @ warpid, 1 @ laneid, 1)])
        return TileLayout(S[(self.repeats, self.threads, self.words): (self.words, 1 @ tx, 1)])
