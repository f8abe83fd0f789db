"""Counterexamples among launches of a few sizes: with these as numbers, products of unknowns become linear.

Only a search: it says "refuted", with values that were replayed, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from ptxspec.proof import witness
from ptxspec.proof.facts import Context, Fact
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import Const, Expr, Op, Poly, Var, variables, walk

#: Extents that are tried for all sizes at once, moved into their bounds, after those of a model of linear facts: some
#: that tiles divide, and some that they do not.
SIZES = (65, 129, 200, 256, 1000, 3)
#: Larger numbers in a kernel are no steps.
LARGEST = 4096
LAUNCH = ("param", "dim", "stride")

#: Sizes that counterexamples are made smaller to, in this order.
SMALL = (0, 1, 2, 3, 4, 5, 8, 16, 32, 33, 64, 65, 96, 128, 129)

Env = dict[Expr, int]
Sizes = dict[Var, int]
Ask = Callable[[Expr, Context], Env | None]


def sizes(claim: Expr, facts: Sequence[Fact]) -> tuple[Var, ...]:
    """What a launch chooses and stands in a product of unknowns, or in a divisor."""
    found: set[Var] = set()
    for expr in (claim, *(f.condition for f in facts)):
        found |= _factors(expr)
    return tuple(sorted(found, key=lambda v: v.uid))


@lru_cache(maxsize=1 << 14)
def _factors(expr: Expr) -> frozenset[Var]:
    found: set[Var] = set()
    for node in walk(expr):
        parts: Sequence[Expr] = ()
        if isinstance(node, Poly):
            parts = [part for monomial, _ in node.terms if len(monomial) > 1 for part in monomial]
        elif isinstance(node, Op) and node.name == "mul":
            parts = node.args
        elif isinstance(node, Op) and node.name in ("floordiv", "floormod", "truncdiv", "truncmod"):
            parts = node.args[1:]
        if not any(isinstance(p, Const) for p in parts):
            found.update(v for p in parts for v in variables(p) if v.role in LAUNCH)
    return frozenset(found)


def search(claim: Expr, facts: Sequence[Fact], hint: Env, ask: Ask) -> Env | None:
    """Values for which all facts hold and ``claim`` does not. ``hint``: values to begin with. ``ask`` gives such values
    for the other variables of a claim and its facts, or None."""
    chosen = sizes(claim, facts)
    for values in _tries(chosen, hint, _far(claim, facts)):
        found = _with(values, claim, facts, ask)
        if found is not None:
            return _smaller(values, found, claim, facts, ask)
    return None


def _with(values: Sizes, claim: Expr, facts: Sequence[Fact], ask: Ask) -> Env | None:
    """A model with these sizes."""
    context = Context()
    numbers: dict[Expr, Expr | int] = dict(values.items())
    for fact in facts:
        condition = substitute(fact.condition, numbers)
        if isinstance(condition, Const) and not condition.value:
            return None
        start = None if fact.start is None else substitute(fact.start, numbers)
        context = context.extend(replace(fact, condition=condition, start=start))
    found = ask(substitute(claim, numbers), context)
    if found is None:
        return None
    model = found | dict[Expr, int](values.items())
    return model if witness.replay(model, facts, claim) is None else None


def _smaller(values: Sizes, model: Env, claim: Expr, facts: Sequence[Fact], ask: Ask) -> Env:
    """A model with sizes that are easier to look at, where there is one: each made smaller, the others left."""
    for var in values:
        for size in SMALL:
            if size >= values[var]:
                break
            fewer = {**values, var: size}
            found = _with(fewer, claim, facts, ask) if witness.clamp(var, size) == size else None
            if found is not None:
                values, model = fewer, found
                break
    return model


def _far(claim: Expr, facts: Sequence[Fact]) -> tuple[int, ...]:
    """Sizes at which steps of the kernel come around: the product of the two largest numbers in it, and one more."""
    numbers: set[int] = set()
    for expr in (claim, *(f.condition for f in facts)):
        numbers |= _numbers(expr)
    far = prod(sorted(numbers)[-2:])
    return far, far + 1


@lru_cache(maxsize=1 << 14)
def _numbers(expr: Expr) -> frozenset[int]:
    found: set[int] = set()
    for node in walk(expr):
        if isinstance(node, Const) and not isinstance(node.value, float):
            found.add(abs(int(node.value)))
        elif isinstance(node, Poly):
            found.update(abs(n) for n in (node.const, *(c for _, c in node.terms)))
    return frozenset(n for n in found if n <= LARGEST)


def _tries(chosen: Sequence[Var], hint: Env, far: Sequence[int]) -> Iterator[Sizes]:
    seen: set[tuple[int, ...]] = set()
    for size in (None, *SIZES, *far):
        values = tuple(witness.clamp(v, hint.get(v, 1) if size is None else size) for v in chosen)
        if values and values not in seen:
            seen.add(values)
            yield dict(zip(chosen, values, strict=True))
