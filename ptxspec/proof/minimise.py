"""The smallest model of a query, variable by variable: what a counterexample is shown with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptxspec.scalar.expr import Var

if TYPE_CHECKING:
    import z3

    from ptxspec.proof.encode import Encoder


def smallest(solver: z3.Solver, encoder: Encoder, names: Sequence[Var], part: int, whole: int) -> z3.ModelRef:
    """The lexicographically smallest model of what is asserted, which has one, as far as ``part`` (Z3's resource units)
    for each question shows. ``whole`` is the solver's limit afterwards."""
    import z3

    model = solver.model()
    solver.set("rlimit", part)
    for var in (v for v in names if v in encoder.terms):
        term = encoder.term(var)
        if z3.is_bool(term):
            if solver.check(z3.Not(term)) == z3.sat:
                model = solver.model()
                solver.add(z3.Not(term))
            else:
                solver.add(term)
            continue
        current = value(model, term)
        low = var.lo
        sign = 1
        if low is None or low < 0:
            low = 0
            if current < 0:
                if solver.check(term >= 0) == z3.sat:
                    model = solver.model()
                    current = value(model, term)
                else:
                    sign = -1  # as close to zero as it gets from below
        size = current * sign
        reach = 1  # gallop from the low end: answers are mostly small
        while size > low:
            middle = min(low + reach - 1, (low + size - 1) // 2) if reach else (low + size - 1) // 2
            outcome = solver.check(z3.And(term * sign <= middle, term * sign >= low))
            if outcome == z3.sat:
                model = solver.model()
                size = value(model, term) * sign
                reach = 0
            elif outcome == z3.unsat:
                low = middle + 1
                reach *= 2
            else:
                break
        solver.add(term == size * sign)
    solver.set("rlimit", whole)
    if solver.check() == z3.sat:
        model = solver.model()
    return model


def value(model: z3.ModelRef, term: z3.ExprRef) -> int:
    """The value of a term; a truth is 0 or 1."""
    import z3

    found = model.eval(term, model_completion=True)
    if z3.is_bool(found):
        return int(z3.is_true(found))
    return int(found.as_long())
