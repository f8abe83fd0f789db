"""race-free: no two threads touch one byte, one of them writing, without a barrier between. Blocks of one cluster have
only its barriers, other blocks none."""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.coherence import at_odds, stale
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.goals import Draft, Item
from ptxspec.proof.injective import Near, doubtful_parts, nearer, never_meet, separates
from ptxspec.proof.intervals import Intervals, Occurrence, Pair, gather
from ptxspec.proof.sift import Values
from ptxspec.proof.tree import Access, Loop, Node, Sync, has_barrier
from ptxspec.proof.twin import Source, Twin, sources
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BOOL, INDEX, Expr, Op, Poly, Var

BLOCK_BARRIERS = frozenset({"cta", "cluster"})
WARP_BARRIERS = frozenset({"cta", "cluster", "warp"})
CLUSTER_BARRIERS = frozenset({"cluster"})


@dataclass(frozen=True, slots=True)
class Clash:
    """Two accesses of two threads: what a race would be about. ``across``: of two blocks; ``cluster``: whether those
    are in one cluster, None where the launch has no clusters. ``stale``: the first is a read that no write of the
    kernel may come near, whenever and by whichever thread."""

    one: Access
    two: Access
    twin: Twin
    first: Poly
    second: Poly
    pair: Pair
    across: bool
    cluster: bool | None = None
    stale: bool = False

    @property
    def odds(self) -> str:
        """What is wrong beside the time of the accesses: atomics that know nothing of each other, a stale read."""
        if self.stale:
            return "this load may read past the coherent caches: nobody may write there while the kernel runs"
        if self.one.kind == self.two.kind == "combine":
            return at_odds(self.one, self.two, self.across, self.cluster)
        return ""


def race_drafts(walker: Walker) -> list[Draft]:
    """One obligation for each write, against every access it may meet."""
    drafts: dict[tuple[ir.Statement, int], Draft] = {}
    everything = [o for n in walker.nodes for o in gather(n, ())]
    for occurrence in everything:
        access = occurrence.access
        if access.kind == "read":
            continue
        drafts[(access.statement, access.operand)] = Draft(
            "race-free",
            access.span,
            access.what,
            [Item(formula.TRUE, access.context)],
            access.rules.get("race-free"),
            access.statement,
            access,
            access.context,
        )
    if not drafts:
        return []
    loads = sources(walker.nodes)
    for clash, context, claim in (
        *clashes(walker, walker.nodes, everything, loads),
        *_stale_reads(walker, everything, loads),
    ):
        owner = clash.one if clash.one.kind != "read" else clash.two
        drafts[(owner.statement, owner.operand)].items.append(
            Item(claim, context, clash, where=(clash.two if owner is clash.one else clash.one).span)
        )
    return list(drafts.values())


def clashes(
    walker: Walker, nodes: tuple[Node, ...], everything: list[Occurrence], loads: dict[Var, Source]
) -> list[tuple[Clash, Context, Expr]]:
    """The pairs that the quick injectivity test cannot tell apart, as claims."""
    found: list[tuple[Clash, Context, Expr]] = []
    accesses = [o.access for o in everything]
    if walker.threads.count > 1:
        keep = _doubtful(accesses, walker, loads, one_block=True)
        warps = has_barrier(nodes, frozenset({"warp"}))
        for pair in Intervals(BLOCK_BARRIERS, keep, walker.aliases).run(nodes):
            if _matters(pair.one.access, pair.two.access):
                found += _pair(walker, pair, loads, one_block=True, warp=False if warps else None)
        if warps:
            for pair in Intervals(WARP_BARRIERS, keep, walker.aliases).run(nodes):
                if _matters(pair.one.access, pair.two.access):
                    found += _pair(walker, pair, loads, one_block=True, warp=True)
    if any(v.lo != v.hi for v in walker.threads.ctaid):
        keep = _doubtful([a for a in accesses if a.buffer.scope == "global"], walker, loads, one_block=False)
        if walker.threads.cluster != (1, 1, 1):
            # Blocks of one cluster meet at its barriers.
            for pair in Intervals(CLUSTER_BARRIERS, keep, walker.aliases).run(nodes):
                if _matters(pair.one.access, pair.two.access, across=True, cluster=True):
                    found += _pair(walker, pair, loads, one_block=False, cluster=True)
            if _one_cluster(walker):
                return found
        parts: dict[tuple[ir.Buffer, int], list[Occurrence]] = {}
        for occurrence in everything:
            if occurrence.access in keep:
                parts.setdefault(keep[occurrence.access], []).append(occurrence)
        cluster = False if walker.threads.cluster != (1, 1, 1) else None
        for between in parts.values():
            for k, one in enumerate(between):
                for two in between[k:]:
                    if _matters(one.access, two.access, across=True, cluster=cluster):
                        found += _pair(walker, Pair(one, two, 0, None), loads, one_block=False, cluster=cluster)
    return found


def _one_cluster(walker: Walker) -> bool:
    """The whole grid is one cluster."""
    sizes = [ix.index(g) for g in walker.kernel.launch.grid]
    return all(g.is_const and g.const == c for g, c in zip(sizes, walker.threads.cluster, strict=True))


def _doubtful(
    accesses: list[Access], walker: Walker, loads: dict[Var, Source], *, one_block: bool
) -> dict[Access, tuple[ir.Buffer, int]]:
    """The accesses that the digits of their addresses alone do not keep apart from other threads', each with its part:
    accesses of different parts never meet."""
    by_buffer: dict[ir.Buffer, list[Access]] = {}
    for access in accesses:
        by_buffer.setdefault(access.buffer, []).append(access)
    twin = Twin(walker.threads, loads, (), one_block)
    return {
        access: (buffer, number)
        for buffer, same in by_buffer.items()
        for number, part in enumerate(doubtful_parts(same, twin, walker.threads))
        for access in part
    }


def _stale_reads(
    walker: Walker, everything: list[Occurrence], loads: dict[Var, Source]
) -> list[tuple[Clash, Context, Expr]]:
    """Reads past the coherent caches against every write of the kernel, by any thread and at any time."""
    found: list[tuple[Clash, Context, Expr]] = []
    for one in everything:
        if not stale(one.access):
            continue
        for two in everything:
            read, write = one.access, two.access
            if write.buffer is read.buffer and write.kind != "read":
                twin = Twin(walker.threads, loads, (), one_block=False)
                first, second = read.words[0], ix.index(twin.rename(write.words[0]))
                clash = Clash(read, write, twin, first, second, Pair(one, two, 0, None), False, None, True)
                claim = apart(first, read.size, second, write.size)
                found.append((clash, twin.context(read.context, write.context), claim))
    return found


def _matters(one: Access, two: Access, *, across: bool = False, cluster: bool | None = None) -> bool:
    if one.buffer is not two.buffer:
        return False  # different arrays never overlap: the host checks that, and emission lays shared ones apart
    kinds = {one.kind, two.kind}
    return kinds != {"read"} and (kinds != {"combine"} or bool(at_odds(one, two, across, cluster)))


def _pair(
    walker: Walker,
    pair: Pair,
    loads: dict[Var, Source],
    *,
    one_block: bool,
    warp: bool | None = None,
    cluster: bool | None = None,
) -> list[tuple[Clash, Context, Expr]]:
    one, two = pair.one.access, pair.two.access
    in_step = pair.one.loops[: pair.depth] if one_block or cluster else ()
    twin = Twin(walker.threads, loads, in_step, one_block)
    if separates((one, two), twin, walker.threads) or never_meet(one, two, twin, *_iterations(pair, twin)):
        return []
    first, second = one.words[0], ix.index(twin.rename(two.words[0]))
    more: list[Fact] = [twin.differ(ordered=one is two and pair.after is None)]
    more += _relations(pair, twin)
    if warp is not None:
        mine, other = (
            ix.floordiv(walker.threads.linear(), 32),
            ix.index(twin.rename(ix.floordiv(walker.threads.linear(), 32))),
        )
        same = formula.eq(mine, other)
        more.append(
            Fact("one warp" if warp else "two warps", "", same if warp else formula.negate(same), None, "thread")
        )
    if cluster is not None:
        same = formula.conj(
            formula.eq(ix.floordiv(v, c), ix.floordiv(twin.rename(v), c))
            for v, c in zip(walker.threads.ctaid, walker.threads.cluster, strict=True)
        )
        name = "one cluster" if cluster else "two clusters"
        more.append(Fact(name, "", same if cluster else formula.negate(same), None, "thread"))
    context = twin.context(one.context, two.context, *more)
    claim = formula.disj(part for near in nearer(one, two, twin) for part in _missed(near, twin))
    return [(Clash(one, two, twin, first, second, pair, not one_block, cluster), context, claim)]


def _missed(near: Near, twin: Twin) -> list[Expr]:
    """The claims any of which keeps two threads' accesses from meeting by one measure."""
    here, there = near.rests
    return [*(formula.negate(formula.eq(a, ix.index(twin.rename(b)))) for a, b in near.rows),
            apart(here, near.sizes[0], ix.index(twin.rename(there)), near.sizes[1])]


def apart(first: Poly, size: int, second: Poly, other: int) -> Expr:
    """``size`` places from ``first`` on and ``other`` places from ``second`` on have none in common."""
    return formula.disj([formula.le(ix.add(first, size), second), formula.le(ix.add(second, other), first)])


def _iterations(pair: Pair, twin: Twin) -> tuple[Values, Values]:
    """What the pair says of loop variables: values of the first thread's, and of the second's by its own names."""
    mine: dict[Expr, Expr | int] = {}
    other: dict[Expr, Expr | int] = {}
    for occurrence, values in ((pair.one, mine), (pair.two, other)):
        for depth, value in occurrence.fixed:
            var = occurrence.loops[depth].statement.var
            values[twin.rename(var) if values is other else var] = value
    if pair.after is not None:
        again = pair.after.statement
        if _steps(pair.after, twin) and not pair.later:
            other[twin.rename(again.var)] = ix.add(again.var, again.step)
    return mine, other


def _steps(loop: Loop, twin: Twin) -> bool:
    """Both threads go through the same values of the loop's variable, and the step does not wrap."""
    statement = loop.statement
    fixed = loop.context.exact(statement.step) is not None
    return fixed and twin.uniform(statement.start) and twin.uniform(statement.step)


def _relations(pair: Pair, twin: Twin) -> list[Fact]:
    """Iterations of common loops: one ahead of the other, or fixed to the first or last."""
    facts: list[Fact] = []
    if pair.after is not None:
        facts += _ahead(pair.after, pair.later, twin)
    for occurrence, other in ((pair.one, False), (pair.two, True)):
        for depth, value in sorted(occurrence.fixed):
            var = occurrence.loops[depth].statement.var
            here = formula.eq(var, value)
            facts.append(
                Fact(f"iteration of {var.name}", "", twin.rename(here) if other else here, var.span, "thread")
            )
        if occurrence.passing != formula.TRUE:
            passing = twin.rename(occurrence.passing) if other else occurrence.passing
            facts.append(Fact("no barrier on the way", "", passing, None, "thread"))
        for depth in occurrence.first:
            facts.append(_edge(occurrence.loops[depth], other, twin, first=True))
        for depth in occurrence.last:
            loop = occurrence.loops[depth]
            if (
                loop.context.exact(loop.statement.step) is not None
                and loop.context.exact(loop.statement.stop) is not None
            ):
                facts.append(_edge(loop, other, twin, first=False))
    return facts


def _ahead(loop: Loop, later: bool, twin: Twin) -> list[Fact]:
    """The second thread is in the next iteration of ``loop``, or in a ``later`` one."""
    statement = loop.statement
    name = f"{'a later' if later else 'next'} iteration of {statement.var.name}"
    if _steps(loop, twin):
        second, ahead = ix.index(twin.rename(statement.var)), ix.add(statement.var, statement.step)
        claim = formula.le(ahead, second) if later else formula.eq(second, ahead)
        return [Fact(name, "", claim, statement.span, "thread")]
    if not followed(loop):
        return []
    # Threads that start elsewhere are told apart by the number of the iteration.
    count = Var(f"iteration of {statement.var.name}", INDEX, "trip", 0, None)
    further: Poly | Var = Var(f"iterations of {statement.var.name} ahead", INDEX, "trip", 1, None) if later else ix.ONE
    twin.share(count)
    if isinstance(further, Var):
        twin.share(further)
    mine, other = (
        formula.eq(statement.var, ix.add(statement.start, ix.mul(statement.step, number)))
        for number in (ix.index(count), ix.add(count, further))
    )
    return [Fact(f"iteration of {statement.var.name}", "", mine, statement.span, "thread"),
            Fact(name, "", twin.rename(other), statement.span, "thread")]


def followed(loop: Loop) -> bool:
    """The values of the loop's variable are told by the number of the iteration: start and step do not wrap."""
    return all(loop.context.exact(e) is not None for e in (loop.statement.start, loop.statement.step))


def _edge(loop: Loop, second: bool, twin: Twin, *, first: bool) -> Fact:
    statement = loop.statement
    if first:
        condition: Expr = Op("eq", (statement.var, statement.start), BOOL)
        name = f"first iteration of {statement.var.name}"
    else:
        # Compared exactly: the typed sum could wrap in the last iteration.
        condition = formula.le(ix.index(statement.stop), ix.add(statement.var, statement.step))
        name = f"last iteration of {statement.var.name}"
    return Fact(name, "", twin.rename(condition) if second else condition, statement.span, "thread")


def with_barrier(nodes: tuple[Node, ...], before: ir.Statement, context: Context, kind: str) -> tuple[Node, ...]:
    """The tree with a barrier of ``kind`` in front of one statement, for testing a remedy."""
    from ptxspec.proof.tree import Branch, Step

    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Step) and node.statement is before:
            result.append(Sync(ir.Barrier(kind, before.span), context))
        elif isinstance(node, Branch):
            node = Branch(
                node.statement,
                node.context,
                node.then_context,
                with_barrier(node.then, before, context, kind),
                node.else_context,
                with_barrier(node.orelse, before, context, kind),
            )
        elif isinstance(node, Loop):
            node = Loop(node.statement, node.context, node.inside, with_barrier(node.body, before, context, kind))
        result.append(node)
    return tuple(result)
