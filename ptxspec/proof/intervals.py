"""Which accesses may happen at the same time: pairs with no barrier between them, from the structure of the kernel.

Barriers are met by all threads together (that is the obligation ``convergent``), so two threads are never more
than one barrier interval apart. A pair of accesses can overlap in time exactly when the kernel's control flow has a
path from one to the other without a barrier; loops that hold barriers are run in step, and a barrier-free way round
such a loop connects one iteration with the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ptxspec.proof import formula, normalise
from ptxspec.proof.tree import Access, Branch, Claimed, Loop, Node, Step, Sync, has_barrier
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import BOOL, Const, Expr, Op

#: Loops this short are looked at iteration by iteration where their barriers depend on the iteration.
FEW_TRIPS = 8


@dataclass(frozen=True, eq=False, slots=True)
class Occurrence:
    """An access with the loops around it.

    ``first``/``last``: it is in that iteration of those loops (by depth); ``fixed``: where the variable of the loop at
    a depth has that value. ``passing``: what must hold for a way without a barrier between it and the border of the
    stretch of code it is looked at from.
    """

    access: Access
    loops: tuple[Loop, ...]
    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    passing: Expr = formula.TRUE
    fixed: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two accesses by two threads that may overlap in time.

    Loops ``[:depth]`` around both are in step; with ``after`` the second is one iteration of ``after`` ahead;
    further common loops are independent.
    """

    one: Occurrence
    two: Occurrence
    depth: int
    after: Loop | None


@dataclass(eq=False, slots=True)
class Region:
    """What a stretch of code looks like from outside: accesses before its first and after its last barrier, and the
    condition under which one gets through it without a barrier."""

    before: list[Occurrence]
    behind: list[Occurrence]
    everything: list[Occurrence]
    through: Expr


def passed(items: list[Occurrence], condition: Expr) -> list[Occurrence]:
    """The same accesses, seen past code that is barrier-free under ``condition``."""
    if condition == formula.FALSE:
        return []
    if condition == formula.TRUE:
        return items
    return [replace(o, passing=formula.conj((o.passing, condition))) for o in items]


@dataclass(eq=False, slots=True)
class Intervals:
    """Collects ``pairs`` of the accesses in ``keep`` for barriers of the given kinds, within each part of them."""

    kinds: frozenset[str]
    keep: Mapping[Access, object]
    pairs: list[Pair] = field(default_factory=list)

    def run(self, nodes: tuple[Node, ...]) -> list[Pair]:
        """All pairs of a kernel."""
        self._sequence(nodes, ())
        return self.pairs

    def _emit(self, left: list[Occurrence], right: list[Occurrence], depth: int, after: Loop | None = None) -> None:
        if not left or not right:
            return
        others = self._parts(right)
        for one in left:
            self.pairs += [Pair(one, two, depth, after) for two in others.get(self.keep[one.access], ())]

    def _all_pairs(self, items: list[Occurrence], depth: int) -> None:
        for same in self._parts(items).values():
            for k, one in enumerate(same):
                self.pairs += [Pair(one, two, depth, None) for two in same[k:]]

    def _parts(self, items: list[Occurrence]) -> dict[object, list[Occurrence]]:
        """Occurrences by the part of an array that they touch."""
        found: dict[object, list[Occurrence]] = {}
        for occurrence in items:
            found.setdefault(self.keep[occurrence.access], []).append(occurrence)
        return found

    def _sequence(self, nodes: tuple[Node, ...], loops: tuple[Loop, ...]) -> Region:
        before: list[Occurrence] = []
        open_end: list[Occurrence] = []
        everything: list[Occurrence] = []
        through: Expr = formula.TRUE
        for node in nodes:
            region = self._node(node, loops)
            self._emit(open_end, region.before, len(loops))
            before += passed(region.before, through)
            open_end = passed(open_end, region.through) + region.behind
            everything += region.everything
            through = formula.conj((through, region.through))
        return Region(before, open_end, everything, through)

    def _node(self, node: Node, loops: tuple[Loop, ...]) -> Region:
        if isinstance(node, Sync):
            return Region([], [], [], formula.truth(node.statement.kind not in self.kinds))
        if isinstance(node, Claimed):
            return Region([], [], [], formula.TRUE)
        if isinstance(node, Step) or not has_barrier((node,), self.kinds):
            items = [o for o in gather(node, loops) if o.access in self.keep]
            self._all_pairs(items, len(loops))
            return Region(items, items, items, formula.TRUE)
        if isinstance(node, Branch):
            yes, no = self._sequence(node.then, loops), self._sequence(node.orelse, loops)
            condition = node.statement.condition
            for arm, surely in ((yes, condition), (no, formula.negate(condition))):
                if normalise.proved(surely, node.context):
                    return arm  # no thread goes the other way
            through = formula.disj(
                (formula.conj((condition, yes.through)), formula.conj((formula.negate(condition), no.through)))
            )
            return Region(yes.before + no.before, yes.behind + no.behind, yes.everything + no.everything, through)
        assert isinstance(node, Loop)
        depth = len(loops)
        body = self._sequence(node.body, (*loops, node))
        trips = few_trips(node)
        if body.through != formula.FALSE and trips is not None:
            return self._unrolled(node, body, trips, depth)
        if body.through != formula.FALSE:
            # Some way round the loop meets no barrier: any two iterations may overlap.
            free = [replace(o, passing=formula.TRUE) for o in body.everything]
            self._all_pairs(free, depth)
            return Region(free, free, free, formula.TRUE)
        self._emit(body.behind, body.before, depth, node)
        first = [replace(o, first=o.first | {depth}) for o in body.before]
        last = [replace(o, last=o.last | {depth}) for o in body.behind]
        runs = Op("lt", (node.statement.start, node.statement.stop), BOOL)
        empty = formula.FALSE if normalise.proved(runs, node.context) else formula.negate(runs)
        return Region(first, last, body.everything, empty)

    def _unrolled(self, node: Loop, body: Region, trips: range, depth: int) -> Region:
        """A short loop whose barriers depend on the iteration: its iterations one after the other."""
        var = node.statement.var
        before: list[Occurrence] = []
        open_end: list[Occurrence] = []
        through: Expr = formula.TRUE
        for value in trips:

            def at(items: list[Occurrence], value: int = value) -> list[Occurrence]:
                return [
                    replace(o, fixed=o.fixed | {(depth, value)}, passing=substitute(o.passing, {var: value}))
                    for o in items
                ]

            here, way = at(body.before), substitute(body.through, {var: value})
            self._emit(open_end, here, depth)
            before += passed(here, through)
            open_end = passed(open_end, way) + at(body.behind)
            through = formula.conj((through, way))
        return Region(before, open_end, body.everything, through)


def few_trips(node: Loop) -> range | None:
    """The values of the variable of a short constant loop."""
    parts = [node.statement.start, node.statement.stop, node.statement.step]
    if not all(isinstance(p, Const) for p in parts):
        return None
    start, stop, step = (int(p.value) for p in parts if isinstance(p, Const))
    trips = range(start, stop, step) if step > 0 else range(0)
    return trips if 0 < len(trips) <= FEW_TRIPS else None


def gather(node: Node, loops: tuple[Loop, ...]) -> list[Occurrence]:
    """Every access under ``node``."""
    if isinstance(node, Step):
        return [Occurrence(a, loops) for a in node.memory if a.buffer.scope != "local"]
    if isinstance(node, Branch):
        return [o for n in (*node.then, *node.orelse) for o in gather(n, loops)]
    if isinstance(node, Loop):
        return [o for n in node.body for o in gather(n, (*loops, node))]
    return []
