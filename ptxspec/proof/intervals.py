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
from ptxspec.proof.state import bound_inside
from ptxspec.proof.tree import Access, Branch, Claimed, Loop, Node, Step, Sync, has_barrier
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import BOOL, Const, Expr, Op, variables

#: Loops this short are looked at iteration by iteration where their barriers depend on the iteration.
FEW_TRIPS = 8


@dataclass(frozen=True, eq=False, slots=True)
class Occurrence:
    """An access with the loops around it.

    ``first``/``last``: it is in that iteration of those loops (by depth); ``fixed``: where the variable of the loop at
    a depth has that value. ``passing``: what must hold for a way without a barrier between it and the border of the
    stretch of code it is looked at from. ``rough``: that is necessary, but there may be a barrier all the same.
    """

    access: Access
    loops: tuple[Loop, ...]
    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    passing: Expr = formula.TRUE
    fixed: frozenset[tuple[int, int]] = frozenset()
    rough: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """Two accesses by two threads that may overlap in time.

    Loops ``[:depth]`` around both are in step; with ``after`` the second is one iteration of ``after`` ahead, or with
    ``later`` at least one; further common loops are independent.
    """

    one: Occurrence
    two: Occurrence
    depth: int
    after: Loop | None
    later: bool = False

    @property
    def rough(self) -> bool:
        """There may be a barrier between them all the same."""
        return self.one.rough or self.two.rough


@dataclass(eq=False, slots=True)
class Region:
    """What a stretch of code looks like from outside: accesses before its first and after its last barrier, and the
    condition under which one gets through it without a barrier. ``rough``: that is necessary, but may not do."""

    before: list[Occurrence]
    behind: list[Occurrence]
    everything: list[Occurrence]
    through: Expr
    rough: bool = False


def passed(items: list[Occurrence], condition: Expr, rough: bool = False) -> list[Occurrence]:
    """The same accesses, seen past code that is barrier-free under ``condition``."""
    if condition == formula.FALSE:
        return []
    if condition == formula.TRUE and not rough:
        return items
    return [replace(o, passing=formula.conj((o.passing, condition)), rough=o.rough or rough) for o in items]


@dataclass(eq=False, slots=True)
class Intervals:
    """Collects ``pairs`` of the accesses in ``keep`` for barriers of the given kinds, within each part of them.
    ``aliases``: what values equal that were read from known cells."""

    kinds: frozenset[str]
    keep: Mapping[Access, object]
    aliases: Mapping[Expr, Expr | int]
    pairs: list[Pair] = field(default_factory=list)

    def run(self, nodes: tuple[Node, ...]) -> list[Pair]:
        """All pairs of a kernel."""
        self._sequence(nodes, ())
        return self.pairs

    def _emit(self, left: list[Occurrence], right: list[Occurrence], depth: int, after: Loop | None = None,
              later: bool = False) -> None:
        if not left or not right:
            return
        others = self._parts(right)
        for one in left:
            self.pairs += [Pair(one, two, depth, after, later) for two in others.get(self.keep[one.access], ())]

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
        rough = False
        for node in nodes:
            region = self._node(node, loops)
            self._emit(open_end, region.before, len(loops))
            before += passed(region.before, through, rough)
            open_end = passed(open_end, region.through, region.rough) + region.behind
            everything += region.everything
            through = formula.conj((through, region.through))
            rough = rough or region.rough
        return Region(before, open_end, everything, through, rough)

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
            if self.aliases:
                condition = substitute(condition, self.aliases)
            # What two reads find is not compared here, be it the same.
            values = any(v.role == "value" for v in variables(condition))
            for arm, surely in ((yes, condition), (no, formula.negate(condition))):
                if normalise.proved(surely, node.context):
                    return arm  # no thread goes the other way
            through = formula.disj(
                (formula.conj((condition, yes.through)), formula.conj((formula.negate(condition), no.through)))
            )
            return Region(yes.before + no.before, yes.behind + no.behind, yes.everything + no.everything, through,
                          values or yes.rough or no.rough)
        assert isinstance(node, Loop)
        depth = len(loops)
        body = self._sequence(node.body, (*loops, node))
        if body.through != formula.FALSE and normalise.proved(formula.negate(body.through), node.inside):
            body.through = formula.FALSE
        trips = few_trips(node)
        if body.through != formula.FALSE and trips is not None:
            return self._unrolled(node, body, trips, depth)
        runs = Op("lt", (node.statement.start, node.statement.stop), BOOL)
        empty = formula.FALSE if normalise.proved(runs, node.context) else formula.negate(runs)
        if body.through != formula.FALSE:
            return self._open(node, body, depth, empty)
        self._emit(body.behind, body.before, depth, node)
        first = [replace(o, first=o.first | {depth}) for o in body.before]
        last = [replace(o, last=o.last | {depth}) for o in body.behind]
        return Region(first, last, body.everything, empty)

    def _open(self, node: Loop, body: Region, depth: int, empty: Expr) -> Region:
        """A loop some way round which meets no barrier. ``empty``: when it has no iteration."""
        own = bound_inside(node) & set(variables(body.through))
        var = node.statement.var
        first = [replace(o, first=o.first | {depth}) for o in body.before]
        if not own:
            # All iterations have a barrier, or none of them has.
            free = [replace(o, passing=body.through, rough=True) for o in body.everything]
            self._all_pairs(free, depth)
            self._emit(body.behind, body.before, depth, node)
            last = [replace(o, last=o.last | {depth}) for o in body.behind]
            through = formula.disj((empty, body.through))
            return Region(first + free, last + free, body.everything, through, body.rough)
        # Of the iterations between two only this is known: the first one must be free to get past it.
        enter = substitute(body.through, {var: node.statement.start}) if own == {var} else formula.TRUE
        before = [replace(o, rough=True) for o in body.before]
        behind = [replace(o, rough=True) for o in body.behind]
        self._emit(behind, before, depth, node, later=True)
        return Region(first + passed(before, enter), behind, body.everything, formula.disj((empty, enter)), True)

    def _unrolled(self, node: Loop, body: Region, trips: range, depth: int) -> Region:
        """A short loop whose barriers depend on the iteration: its iterations one after the other."""
        var = node.statement.var
        before: list[Occurrence] = []
        open_end: list[Occurrence] = []
        through: Expr = formula.TRUE
        # What an iteration reads is its own: conditions on it cannot be held together with those of other iterations.
        vague = bool((bound_inside(node) - {var}) & set(variables(body.through)))
        each = formula.TRUE if vague else body.through
        for value in trips:

            def at(items: list[Occurrence], value: int = value) -> list[Occurrence]:
                return [
                    replace(o, fixed=o.fixed | {(depth, value)}, passing=substitute(o.passing, {var: value}))
                    for o in items
                ]

            here, way = at(body.before), substitute(each, {var: value})
            self._emit(open_end, here, depth)
            before += passed(here, through, vague)
            open_end = passed(open_end, way, vague) + at(body.behind)
            through = formula.conj((through, way))
        return Region(before, open_end, body.everything, through, vague or body.rough)


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
