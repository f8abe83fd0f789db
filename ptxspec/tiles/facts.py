"""What is known where a tile operation stands: enough to choose widths, never what a proof rests on.

The choice uses the same normaliser as the prover; whatever it chooses is proved again, statement by statement.
"""

from __future__ import annotations

from ptxspec.lang import ir
from ptxspec.lang.trace import Tracer
from ptxspec.proof import formula
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.normalise import proved
from ptxspec.scalar.expr import Expr, Var, variables
from ptxspec.tiles.build import holding


class Known:
    """The assumptions in force at one place of a kernel."""

    def __init__(self, tracer: Tracer, leaving_out: ir.Assume | None = None) -> None:
        self._context = Context()
        self._bounded: set[Var] = set()
        for block in tracer.blocks:
            for statement in block:
                if isinstance(statement, ir.Assume) and statement is not leaving_out:
                    self._learn(statement.condition, statement.text)

    def _learn(self, condition: Expr, text: str) -> None:
        self._limits(condition)
        self._context = self._context.extend(Fact(text, text, condition, None, "assume"))

    def learn(self, fact: Expr) -> None:
        """Take ``fact`` as given, to see what it would do."""
        self._learn(fact, str(fact))

    def _limits(self, expr: Expr) -> None:
        """The symbolic limits of hardware ids and loop variables in ``expr``."""
        for var in variables(expr):
            if var in self._bounded:
                continue
            self._bounded.add(var)
            for limit in (formula.lt(var, var.hi_expr) if var.hi_expr is not None else None,
                          formula.le(var.lo_expr, var) if var.lo_expr is not None else None):
                if limit is not None:
                    self._learn(limit, str(limit))

    def sure(self, claim: Expr) -> bool:
        """True when ``claim`` surely holds here."""
        self._limits(claim)
        return proved(claim, self._context)

    def never(self, condition: Expr) -> bool:
        """True when ``condition`` surely fails inside the `when` blocks being written."""
        self._limits(condition)
        context = self._context
        for guard in holding:
            context = context.extend(Fact(str(guard), str(guard), guard, None, "guard"))
        return any(proved(formula.negate(part), context) for part in formula.conjuncts(condition))

    def multiple(self, value: Expr | int, of: int) -> bool:
        """True when ``value`` is surely a multiple of ``of``."""
        return self.sure(formula.divides(of, value))

    def at_most(self, left: Expr | int, right: Expr | int) -> bool:
        """True when ``left <= right`` surely holds."""
        return self.sure(formula.le(left, right))
