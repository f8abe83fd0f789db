"""What is known of the bytes of one shared array: surely written, possibly written, written under conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ptxspec.lang import ir
from ptxspec.proof.defined_values import Array
from ptxspec.scalar.expr import Expr, Var

Bits = NDArray[np.bool_]

#: Threads that may write one byte and are all remembered, and bytes for which that is done.
MANY = 64


@dataclass(eq=False, slots=True)
class Part:
    """Bytes that one statement wrote where ``conditions`` held; ``owner`` is the thread that wrote each, or -1.

    ``uniform``: all threads see the conditions alike; ``own``: another thread may not have been there at all. ``many``:
    all threads that wrote a byte, where there are several and each sees conditions of its own.
    """

    conditions: tuple[Expr, ...]
    uniform: bool
    owner: NDArray[np.int32]
    own: bool = False
    many: dict[int, tuple[int, ...]] = field(default_factory=dict)
    names: frozenset[Var] | None = None     # of the conditions, once asked for

    def mentions(self, names: set[Var], of: Callable[[Expr], frozenset[Var]]) -> bool:
        """True where a condition is about one of ``names``; ``of`` gives a condition's own."""
        if self.names is None:
            self.names = frozenset().union(*map(of, self.conditions))
        return not self.names.isdisjoint(names)


@dataclass(eq=False, slots=True)
class Store:
    """One array in units of ``unit`` bytes; the first is byte ``low``."""

    low: int
    unit: int
    must: Bits
    may: Bits
    vague: Bits  # written by somebody, perhaps, but no part says when
    parts: list[Part] = field(default_factory=list)
    by: dict[ir.Statement, Bits] = field(default_factory=dict)

    @classmethod
    def make(cls, low: int, high: int, unit: int) -> Store:
        """An array of which nothing is written."""
        count = max(0, (high - low) // unit)
        return cls(low, unit, np.zeros(count, bool), np.zeros(count, bool), np.zeros(count, bool))

    def places(self, offsets: Array, size: int) -> Array:
        """Units touched by ``size`` bytes from each offset; -1 outside of the array. The last axis is new."""
        first = (offsets - self.low) // self.unit
        found = first[..., None] + np.arange(size // self.unit)
        return np.where((found >= 0) & (found < self.must.size), found, -1)

    def write(self, statement: ir.Statement, places: Array, threads: Array, conditions: tuple[Expr, ...],
              uniform: bool, own: bool) -> None:
        """``places`` by (thread, repeat, unit) are written where ``conditions`` hold."""
        inside = places[places >= 0]
        self.may[inside] = True
        self._note(statement)[inside] = True
        if not conditions and not own:
            self.must[inside] = True
            return
        owner = np.full(self.must.size, -1, np.int32)
        who = np.broadcast_to(threads[:, None, None], places.shape)
        writers = who[places >= 0]
        owner[inside] = writers
        many: dict[int, tuple[int, ...]] = {}
        if not uniform:
            first = np.full(self.must.size, -1, np.int32)
            first[inside[::-1]] = writers[::-1]
            for unit in np.flatnonzero(first != owner).tolist():
                found = tuple(dict.fromkeys(writers[inside == unit].tolist())) if len(many) < MANY else ()
                if 0 < len(found) <= MANY:
                    many[unit] = found
                else:
                    self.vague[unit] = True
        self.parts.append(Part(conditions, uniform, owner, own, many))
        if own:
            self.vague[inside] = True

    def anywhere(self, statement: ir.Statement) -> None:
        """A write to bytes that are not known."""
        self.may[:] = True
        self.vague[:] = True
        self._note(statement)[:] = True

    def wrote(self, statement: ir.Statement, byte: int) -> bool:
        """True when ``statement`` may have written ``byte``."""
        return bool(self.by[statement][(byte - self.low) // self.unit])

    def _note(self, statement: ir.Statement) -> Bits:
        if statement not in self.by:
            self.by[statement] = np.zeros(self.must.size, bool)
        return self.by[statement]

    def missing(self, places: Array, covered: Callable[[Part, Array], Bits]) -> tuple[Bits, Bits, Part | None]:
        """(not surely written, surely not written) for each place, and a part that would help under its conditions.

        ``covered`` says where the conditions of a part surely held for the threads that wrote these places (or -1).
        """
        real = places >= 0
        lacking = real & ~self.must[places]
        if not lacking.any():
            return lacking, lacking, None
        helps: Part | None = None
        for part in self.parts:
            owner = part.owner[places].astype(np.int64)
            touched = lacking & (owner >= 0)
            if touched.any():
                lacking = lacking & ~covered(part, owner)
                if helps is None and (lacking & touched).any():
                    helps = part
        return lacking, lacking & ~self.may[places], helps

    def forget(self, names: set[Var], mentions: Callable[[Expr], frozenset[Var]]) -> None:
        """Conditions on values of an iteration that is over say nothing any more."""
        kept: list[Part] = []
        for part in self.parts:
            if part.mentions(names, mentions):
                self.vague |= part.owner >= 0
            else:
                kept.append(part)
        self.parts = kept

    def when(
        self, unit: int, thread: int, seen_by: Callable[[tuple[Expr, ...], int], tuple[Expr, ...] | None]
    ) -> list[tuple[Expr, ...]] | None:
        """The conditions under which something was written to a unit that ``thread`` reads; None: that is not known.

        ``seen_by`` says what conditions mean for another thread.
        """
        if self.vague[unit]:
            return None
        found: list[tuple[Expr, ...]] = []
        for part in self.parts:
            owner = int(part.owner[unit])
            if owner < 0:
                continue
            if part.own:
                return None
            for who in (thread,) if part.uniform else part.many.get(unit, (owner,)):
                conditions = part.conditions if who == thread else seen_by(part.conditions, who)
                if conditions is None:
                    return None
                found.append(conditions)
        return found

    def join(self, since: int, yes: tuple[Expr, ...], no: tuple[Expr, ...]) -> None:
        """After a branch: what both arms wrote is written whichever was taken. ``since``: parts there were before;
        ``yes`` and ``no``: the conditions that the arms added."""
        arms: tuple[dict[tuple[Expr, ...], list[Part]], ...] = ({}, {})
        for part in self.parts[since:]:
            for arm, suffix in zip(arms, (yes, no), strict=True):
                at = len(part.conditions) - len(suffix)
                if at >= 0 and part.conditions[at:] == suffix:
                    arm.setdefault(part.conditions[:at], []).append(part)
        for conditions, left in arms[0].items():
            right = arms[1].get(conditions, [])
            if not right:
                continue
            one, two = _all(left), _all(right)
            # Where threads may differ, the one that writes must be the same in both arms.
            both = (one.owner >= 0) & (two.owner >= 0)
            if not (one.uniform and two.uniform) or one.own or two.own:
                both &= one.owner == two.owner
            if not both.any():
                continue
            if conditions or one.own or two.own:
                uniform, own = one.uniform and two.uniform, one.own or two.own
                self.parts.append(Part(conditions, uniform, np.where(both, one.owner, -1), own))
            else:
                self.must |= both


def _all(parts: list[Part]) -> Part:
    """What parts under the same conditions write together."""
    owner = parts[0].owner.copy()
    for part in parts[1:]:
        owner = np.where(part.owner >= 0, part.owner, owner)
    return Part(parts[0].conditions, parts[0].uniform, owner, any(p.own for p in parts))
