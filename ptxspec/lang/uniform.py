"""Which conditions are the same for all threads of a group: what may guard a cooperative instruction."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Expr, Op, Var, walk

#: Threads that act together at each scope; None: the whole CTA.
UNITS: dict[str, int | None] = {"thread": 1, "warp": 32, "warpgroup": 128, "cta": None, "cluster": None}


def varying(guards: Sequence[Expr], scope: str, linear: Expr) -> Expr | None:
    """The first guard that may differ between threads of one group, or None.

    ``linear`` is the thread's linear index. Anything but block ids, launch-time values, loop variables (their bounds
    are guards of their own) and whole groups' numbers counts as varying.
    """
    unit = UNITS[scope]
    if unit == 1:
        return None
    return next((g for g in guards if not _same(g, unit, ix.index(linear), {})), None)


def _same(expr: Expr, unit: int | None, linear: Expr, memo: dict[Expr, bool]) -> bool:
    if expr not in memo:
        memo[expr] = _decide(expr, unit, linear, memo)
    return memo[expr]


def _decide(expr: Expr, unit: int | None, linear: Expr, memo: dict[Expr, bool]) -> bool:
    if isinstance(expr, Var):
        return expr.role.startswith("ctaid") or expr.role in ("dim", "param", "loop")
    if unit is not None and isinstance(expr, Op) and expr.name == "floordiv":
        divisor = ix.index(expr.args[1])
        if divisor.is_const and divisor.const > 0 and divisor.const % unit == 0 and ix.index(expr.args[0]) == linear:
            return True
    return all(_same(child, unit, linear, memo) for child in expr.children())


def loads(expr: Expr) -> bool:
    """True when the value depends on memory."""
    return any(isinstance(n, Var) and n.role == "value" for n in walk(expr))
