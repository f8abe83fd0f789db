"""Who owns what: the elements of a tile, dealt out to the threads of a CTA in groups of neighbours.

Groups of ``words`` elements along one ``axis`` are numbered with that axis fastest; group ``g`` belongs to thread
``g % threads``, as its repeat ``g // threads``. So neighbouring threads touch neighbouring bytes, and each of them
moves a whole vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from ptxspec.layout import S, TileLayout, laneid, tx, warpid
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const, Expr, Poly


@dataclass(frozen=True)
class Turn:
    """Groups that begin at a place of each row's own: ``begin(coordinates)``, which is what ``places`` says of all
    rows. A row's last group wraps around its end."""

    places: Poly
    begin: Callable[[Sequence[Expr]], Expr] = field(compare=False)


@dataclass(frozen=True)
class Plan:
    """A tile of ``shape`` in groups of ``words`` elements along ``axis``, over ``threads`` threads; rows may be turned,
    where nobody but the owner looks at elements (:mod:`ptxspec.tiles.tape`).

    Groups may run along the last ``run`` axes as if they were one, where that is all there is to take together: a
    vec3's three components are no whole vector, those of four neighbours are."""

    shape: tuple[int, ...]
    axis: int
    words: int
    threads: int
    turn: Turn | None = None
    run: int = 1

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

    def at(self, repeat: Expr | int, thread: Expr) -> tuple[Expr, ...]:
        """Coordinates of the first element of the thread's group of one repeat; the axes that groups run along are one
        here, and :meth:`word` tells them apart.

        The repeat's part of a coordinate is kept apart from the thread's wherever block size and extents allow it, so
        that the thread's is computed once, and conditions on axes that all repeats share are computed once as well.
        """
        if self.run > 1:
            return self.joined().at(repeat, thread)
        found: dict[int, Expr] = {}
        below = 1
        for axis in reversed(self.order()):
            extent = self.shape[axis] // (self.words if axis == self.axis else 1)
            if extent == 1:
                found[axis] = typed.literal(0, "int32")
                continue
            value = self._coordinate(repeat, thread, below, extent)
            found[axis] = typed.binary("mul", value, self.words) if axis == self.axis and self.words > 1 else value
            below *= extent
        return tuple(found[k] for k in range(len(self.shape)))

    def _coordinate(self, repeat: Expr | int, thread: Expr, below: int, extent: int) -> Expr:
        """``(repeat * threads + thread) // below % extent``, by the simplest formula that gives it."""
        slowest = below * extent == self.groups
        if below % self.threads == 0:
            value = _over(repeat, below // self.threads)
            return value if slowest else _within(value, extent)
        if self.threads % below:
            value = _over(_plus(thread, repeat, self.threads), below)
        elif self.threads % (below * extent) == 0:
            return _over(thread, below) if self.threads == below * extent else _within(_over(thread, below), extent)
        elif below * extent % self.threads == 0:
            turns = below * extent // self.threads
            return _plus(_over(thread, below), repeat if slowest else _within(repeat, turns), self.threads // below)
        else:
            value = _plus(_over(thread, below), repeat, self.threads // below)
        return value if slowest and (ix.bounds(ix.index(value))[1] or extent) < extent else _within(value, extent)

    def joined(self) -> Plan:
        """The same groups, with the axes that they run along as one."""
        if self.run == 1:
            return self
        shape = (*self.shape[:-self.run], prod(self.shape[-self.run:]))
        return Plan(shape, len(shape) - 1, self.words, self.threads)

    def word(self, at: Sequence[Expr], number: Expr | int) -> tuple[Expr, ...]:
        """Tile coordinates of one word of the group whose first element :meth:`at` gave."""
        along = self.joined().axis
        if not isinstance(number, Const) and number != 0:
            at = [typed.binary("add", c, number) if k == along else c for k, c in enumerate(at)]
        *outer, place = at
        inner: list[Expr] = []
        for extent in reversed(self.shape[len(self.shape) - self.run + 1:]):
            inner.insert(0, _within(place, extent))
            place = _over(place, extent)
        return (*outer, place, *inner)

    def vectors(self, words: int) -> Plan:
        """The same rows in vectors of ``words`` elements, one a group: coordinates along ``axis`` count vectors."""
        count = self.shape[self.axis] // words
        return Plan(tuple(count if k == self.axis else e for k, e in enumerate(self.shape)), self.axis, 1, self.threads)

    def narrowed(self, words: int) -> Plan:
        """The same tile in smaller groups."""
        return Plan(self.shape, self.axis, words, self.threads, run=self.run if self.shape[self.axis] % words else 1)

    def layout(self) -> TileLayout:
        """Repeat, thread and word of each element in group order, as a layout to look at."""
        if self.threads % 32 == 0:
            return TileLayout(S[(self.repeats, self.threads // 32, 32, self.words):
                                (self.words, 1 @ warpid, 1 @ laneid, 1)])
        return TileLayout(S[(self.repeats, self.threads, self.words): (self.words, 1 @ tx, 1)])


def _over(value: Expr | int, divisor: int) -> Expr:
    """``value // divisor``."""
    value = typed.literal(value, "int32") if isinstance(value, int) else value
    return value if divisor == 1 else typed.binary("floordiv", value, divisor)


def _within(value: Expr | int, extent: int) -> Expr:
    """``value % extent``."""
    value = typed.literal(value, "int32") if isinstance(value, int) else value
    return typed.binary("floormod", value, extent)


def _plus(value: Expr, repeat: Expr | int, step: int) -> Expr:
    """``value + repeat * step``."""
    if isinstance(repeat, (int, Const)):
        more = (repeat if isinstance(repeat, int) else int(repeat.value)) * step
        return typed.binary("add", value, more) if more else value
    return typed.binary("add", value, typed.binary("mul", repeat, step) if step > 1 else repeat)
