"""convergent: every thread that must arrive at a barrier, or in a collective instruction, does."""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.goals import Draft, Item
from ptxspec.proof.tree import Branch, Claimed, Loop, Node, Step, Sync
from ptxspec.proof.twin import Source, Twin, sources
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Expr, Var, show

#: Threads that a barrier or scope brings together; None: all of the block (for a cluster: of each block).
UNITS: dict[str, int | None] = {"warp": 32, "warpgroup": 128, "cta": None, "cluster": None}


@dataclass(frozen=True, slots=True)
class Diverges:
    """A condition on the way that two threads may see differently."""

    condition: Expr
    second: Expr
    twin: Twin
    guard: ir.If | ir.For
    unit: str


def converge_drafts(walker: Walker, nodes: tuple[Node, ...] | None = None) -> list[Draft]:
    """One obligation for each barrier and each collective instruction."""
    found: list[Draft] = []
    nodes = walker.nodes if nodes is None else nodes
    _visit(nodes, (), walker, sources(nodes), found)
    return found


def _visit(
    nodes: tuple[Node, ...],
    path: tuple[tuple[Branch | Loop, bool], ...],
    walker: Walker,
    loads: dict[Var, Source],
    found: list[Draft],
) -> None:
    for node in nodes:
        if isinstance(node, Sync):
            found.append(barrier_draft(node, path, walker, loads))
        elif isinstance(node, Branch):
            _visit(node.then, (*path, (node, True)), walker, loads, found)
            _visit(node.orelse, (*path, (node, False)), walker, loads, found)
        elif isinstance(node, Loop):
            _visit(node.body, (*path, (node, True)), walker, loads, found)
        elif isinstance(node, Step) and isinstance(node.statement, ir.Apply) and node.statement.scope in UNITS:
            apply = node.statement
            draft = Draft(
                "convergent",
                apply.span,
                f"{apply.use.opcode} at {apply.scope} scope",
                statement=apply,
                context=node.outside,
            )
            draft.items.extend(_items(node.outside, path, apply.scope, walker, loads))
            found.append(draft)
        else:
            assert isinstance(node, (Step, Claimed))


def barrier_draft(
    node: Sync, path: tuple[tuple[Branch | Loop, bool], ...], walker: Walker, loads: dict[Var, Source]
) -> Draft:
    """All threads of the barrier's unit take the same way to it."""
    kind = node.statement.kind
    draft = Draft("convergent", node.statement.span, f"{kind} barrier", statement=node.statement, context=node.context)
    draft.items.append(Item(formula.TRUE, node.context))
    draft.items.extend(_items(node.context, path, kind, walker, loads))
    return draft


def _items(
    context: Context, path: tuple[tuple[Branch | Loop, bool], ...], unit: str, walker: Walker, loads: dict[Var, Source]
) -> list[Item]:
    """One claim for each guard on the way: where one thread arrives, every other one that came so far goes on."""
    items: list[Item] = []
    cluster = walker.threads.cluster
    blocks = unit == "cluster" and cluster != (1, 1, 1)  # threads of several blocks meet
    if walker.threads.count == 1 and not blocks:
        return items
    for depth, (node, taken) in enumerate(path):
        in_step = tuple(n for n, _ in path[:depth] if isinstance(n, Loop))
        statement = node.statement
        more: list[Fact] = []
        if isinstance(node, Loop):
            twin = Twin(walker.threads, loads, in_step, not blocks)
            assert isinstance(statement, ir.For)
            if all(twin.uniform(e) for e in (statement.start, statement.stop, statement.step)):
                continue
            if any(node.context.exact(e) is None for e in (statement.start, statement.stop, statement.step)):
                items.append(
                    Item(
                        formula.FALSE,
                        node.context,
                        where=statement.span,
                        unknown=f"the bounds of the loop over {statement.var.name} may wrap",
                    )
                )
                continue
            # Not about the variable, whose declared bounds hold inside the loop only: would iteration `count` exist?
            count = Var(f"iteration of {statement.var.name}", INDEX, "trip", 0, None)
            twin.share(count)
            reached = ix.add(statement.start, ix.mul(statement.step, count))
            here = formula.eq(statement.var, reached)
            more.append(Fact(f"iteration of {statement.var.name}", "", here, statement.span, "thread"))
            mine: Expr = formula.lt(reached, statement.stop)
        else:
            twin = Twin(walker.threads, loads, in_step, not blocks)
            assert isinstance(statement, ir.If)
            if twin.uniform(statement.condition):
                continue
            mine = statement.condition if taken else formula.negate(statement.condition)
        other = twin.rename(mine)
        if blocks:
            for k, var in enumerate(walker.threads.ctaid):
                mine_k, other_k = ix.floordiv(var, cluster[k]), ix.floordiv(twin.rename(var), cluster[k])
                more.append(Fact("one cluster", "", formula.eq(mine_k, other_k), None, "thread"))
        else:
            more.append(twin.differ(ordered=False))
        size = UNITS[unit]
        if size is not None:
            group = ix.floordiv(walker.threads.linear(), size)
            more.append(Fact(f"one {unit}", "", formula.eq(group, ix.index(twin.rename(group))), None, "thread"))
        both = twin.context(context, node.context, *more)
        items.append(Item(other, both, Diverges(mine, other, twin, statement, unit), where=statement.span))
    return items


def text_of(about: Diverges) -> str:
    """The condition in the user's words."""
    guard = about.guard
    return f"`if {show(guard.condition)}`" if isinstance(guard, ir.If) else f"the loop over {guard.var.name}"
