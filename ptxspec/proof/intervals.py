"""Which accesses may happen at the same time: pairs with no barrier between them, from the structure of the kernel.

Barriers are met by all threads together (that is the obligation ``convergent``), so two threads are never more
than one barrier interval apart. A pair of accesses can overlap in time exactly when the kernel's control flow has a
path from one to the other without a barrier; loops that hold barriers are run in step, and a barrier-free way round such a
loop connects one iteration with the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ptxspec.proof.tree import Access, Branch, Claimed, Loop, Node, Step, Sync, has_barrier


@dataclass(frozen=True, eq=False, slots=True)
class Occurrence:
    """An access with the loops around it; ``first``/``last``: it is in that iteration of those loops."""

    access: Access
    loops: tuple[Loop, ...]
    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()


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
    """What a stretch of code looks like from outside: accesses before its first and after its last barrier."""

    before: list[Occurrence]
    behind: list[Occurrence]
    everything: list[Occurrence]
    through: bool


@dataclass(eq=False, slots=True)
class Intervals:
    """Collects ``pairs`` for barriers of the given kinds."""

    kinds: frozenset[str]
    pairs: list[Pair] = field(default_factory=list)

    def run(self, nodes: tuple[Node, ...]) -> list[Pair]:
        """All pairs of a kernel."""
        self._sequence(nodes, ())
        return self.pairs

    def _emit(self, left: list[Occurrence], right: list[Occurrence], depth: int, after: Loop | None = None) -> None:
        for one in left:
            for two in right:
                self.pairs.append(Pair(one, two, depth, after))

    def _all_pairs(self, items: list[Occurrence], depth: int) -> None:
        for k, one in enumerate(items):
            for two in items[k:]:
                self.pairs.append(Pair(one, two, depth, None))

    def _sequence(self, nodes: tuple[Node, ...], loops: tuple[Loop, ...]) -> Region:
        before: list[Occurrence] = []
        open_end: list[Occurrence] = []
        everything: list[Occurrence] = []
        through = True
        for node in nodes:
            region = self._node(node, loops)
            self._emit(open_end, region.before, len(loops))
            if through:
                before += region.before
            open_end = open_end + region.behind if region.through else list(region.behind)
            everything += region.everything
            through = through and region.through
        return Region(before, open_end, everything, through)

    def _node(self, node: Node, loops: tuple[Loop, ...]) -> Region:
        if isinstance(node, Sync):
            return Region([], [], [], node.statement.kind not in self.kinds)
        if isinstance(node, Claimed):
            return Region([], [], [], True)
        if isinstance(node, Step) or not has_barrier((node,), self.kinds):
            items = gather(node, loops)
            self._all_pairs(items, len(loops))
            return Region(items, items, items, True)
        if isinstance(node, Branch):
            yes, no = self._sequence(node.then, loops), self._sequence(node.orelse, loops)
            return Region(
                yes.before + no.before,
                yes.behind + no.behind,
                yes.everything + no.everything,
                yes.through or no.through,
            )
        assert isinstance(node, Loop)
        depth = len(loops)
        body = self._sequence(node.body, (*loops, node))
        if body.through:
            # Some way round the loop meets no barrier: any two iterations may overlap.
            self._all_pairs(body.everything, depth)
            return Region(body.everything, body.everything, body.everything, True)
        self._emit(body.behind, body.before, depth, node)
        first = [Occurrence(o.access, o.loops, o.first | {depth}, o.last) for o in body.before]
        last = [Occurrence(o.access, o.loops, o.first, o.last | {depth}) for o in body.behind]
        return Region(first, last, body.everything, True)  # the loop may not run at all


def gather(node: Node, loops: tuple[Loop, ...]) -> list[Occurrence]:
    """Every access under ``node``."""
    if isinstance(node, Step):
        return [Occurrence(a, loops) for a in node.memory if a.buffer.scope != "local"]
    if isinstance(node, Branch):
        return [o for n in (*node.then, *node.orelse) for o in gather(n, loops)]
    if isinstance(node, Loop):
        return [o for n in node.body for o in gather(n, (*loops, node))]
    return []
