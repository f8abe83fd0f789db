"""What tests of rules about numbers share: a quick Z3, and accesses of which nothing but bounds is known."""

from __future__ import annotations

from dataclasses import dataclass

import z3

from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly


def proved(claim: z3.BoolRef, *facts: z3.BoolRef) -> bool:
    """True when Z3 proves the claim from the facts."""
    solver = z3.SimpleSolver()
    solver.set("rlimit", 20_000_000)
    solver.add(*facts, z3.Not(claim))
    return bool(solver.check() == z3.unsat)


class Bounds:
    """A context that knows nothing but the bounds of variables."""

    def interval(self, value: Poly) -> tuple[int | None, int | None]:
        """The bounds of a value."""
        return ix.bounds(value)


@dataclass(frozen=True)
class Access:
    """An access with such a context."""

    context: Bounds
