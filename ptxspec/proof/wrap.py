"""no-wrap: the user's integer arithmetic, where its exact value is relied on."""

from __future__ import annotations

from dataclasses import replace

from ptxspec.proof import formula
from ptxspec.proof.facts import Context, divisions, typed_nodes
from ptxspec.proof.goals import Draft, Item, Positive, Wrap
from ptxspec.proof.interval import interval
from ptxspec.proof.tree import Loop, Step
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, Const, Expr, Op, int_range


def wrap_draft(step: Step) -> Draft | None:
    """no-wrap of the user's arithmetic that feeds an index, and divisors and shift amounts in range."""
    items: list[Item] = []
    seen: set[Expr] = set()
    for expr in step.typed:
        items.extend(wrap_items(expr, step.outside, seen))
        items.extend(division_items(expr, step.outside))
    if not items and not any(typed_nodes(e) for e in step.typed):
        return None
    return Draft(
        "no-wrap", step.statement.span, "index arithmetic", items, statement=step.statement, context=step.outside
    )


def wrap_items(expr: Expr, context: Context, seen: set[Expr]) -> list[Item]:
    """Every typed operation whose exact value is used stays in its type."""
    items: list[Item] = []
    for node in typed_nodes(expr):
        if node in seen:
            continue
        seen.add(node)
        low, high = int_range(node.dtype)
        value = ix.index(node)
        lo, hi = ix.bounds(value)
        if lo is not None and hi is not None and low <= lo and hi <= high:
            continue
        for claim in (formula.le(low, value), formula.le(value, high)):
            if not (isinstance(claim, Const) and claim.value):
                items.append(Item(claim, context, Wrap(node, value), where=node.span))
    return items


def division_items(expr: Expr, context: Context) -> list[Item]:
    """Divisors that are not plain constants differ from zero; shift amounts are inside the width."""
    items: list[Item] = []
    for node in divisions(expr):
        right = node.args[1]
        if node.name in ("shl", "shr"):
            width = BITS.get(node.dtype, 64)
            claim = formula.within(right, 0, width - 1)
            items.append(
                Item(
                    claim,
                    context,
                    Positive(right, f"the shift amount must lie in 0 to {width - 1}", node),
                    where=node.span,
                )
            )
        else:
            claim = formula.negate(formula.eq(right, 0))
            items.append(Item(claim, context, Positive(right, "the divisor must not be zero", node), where=node.span))
    return items


def before_division(context: Context, divisor: Expr) -> Context:
    """The facts of ``context`` without the parts that divide by ``divisor`` themselves; the same where none does."""
    by = ix.index(divisor)
    result, cut = Context(), False
    for fact in context.facts():
        parts = formula.conjuncts(fact.condition)
        kept = [p for p in parts if all(n.name in ("shl", "shr") or ix.index(n.args[1]) != by for n in divisions(p))]
        if len(kept) < len(parts):
            fact, cut = replace(fact, condition=formula.conj(kept)), True
        result = result.extend(fact)
    return result if cut else context


def loop_drafts(loop: Loop) -> list[Draft]:
    """A runtime step must move forward, and bounds that the loop variable's declared range rests on must not wrap."""
    statement = loop.statement
    var, step = statement.var, statement.step
    draft = Draft("no-wrap", statement.span, f"loop over {var.name}", statement=statement, context=loop.context)
    if not isinstance(step, Const):
        claim = Op("gt", (step, Const(0, step.dtype)), "bool")
        draft.items.append(Item(claim, loop.context, Positive(step, "the step of a loop must be positive", step)))
    low, high = interval(statement.start, {}, {})[0], interval(statement.stop, {}, {})[1]
    relied: list[Expr] = []
    if var.lo is not None and (low is None or low < var.lo):
        relied.append(statement.start)
    if var.hi is not None and (high is None or high - 1 > var.hi):
        relied.append(statement.stop)
    for expr in relied:
        draft.items.extend(wrap_items(expr, loop.context, set()))
    return [draft] if draft.items else []
