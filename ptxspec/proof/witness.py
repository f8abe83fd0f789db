"""Plain-Python models: replay of a counterexample, and a quick search for values that satisfy a set of facts."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.proof.facts import Fact
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import BOOL, Expr, Op, Var, int_range, is_integer, variables, walk

#: Values tried for dimensions and scalar parameters when looking for a first model.
_TRIES = (0, 1, 2, 4, 64, 1024, 1 << 20)


def limits(var: Var) -> tuple[int | None, int | None]:
    """Declared bounds cut to the type."""
    low, high = var.lo, var.hi
    if var.dtype == BOOL:
        return 0, 1
    if is_integer(var.dtype):
        least, most = int_range(var.dtype)
        low = least if low is None else max(low, least)
        high = most if high is None else min(high, most)
    return low, high


def smallest(var: Var) -> int:
    """The value of ``var`` nearest to zero."""
    return clamp(var, 0)


def clamp(var: Var, value: int) -> int:
    """``value`` moved inside the bounds of ``var``."""
    low, high = limits(var)
    if low is not None and value < low:
        value = low
    if high is not None and value > high:
        value = high
    return value


def replay(env: dict[Expr, int], facts: Sequence[Fact], claim: Expr) -> str | None:
    """None when every bound and fact holds in ``env`` and ``claim`` does not; else what went wrong."""
    try:
        for name, value in env.items():
            if isinstance(name, Var):
                low, high = limits(name)
                if (low is not None and value < low) or (high is not None and value > high):
                    return f"{name.name} = {value} is outside its bounds"
        for fact in facts:
            if not evaluate(fact.condition, env, machine=True):
                return f"{fact.name} is false"
        if evaluate(claim, env, machine=True):
            return "the claim is true"
    except Unknown as problem:
        return str(problem)
    return None


def search(facts: Sequence[Fact], goal: Expr) -> dict[Expr, int] | None:
    """Values for which every fact and ``goal`` hold, from a handful of likely ones; None proves nothing."""
    names: set[Var] = set(variables(goal))
    free: list[Expr] = []
    for fact in facts:
        names.update(variables(fact.condition))
        free.extend(
            n
            for n in walk(fact.condition)
            if isinstance(n, Op) and n.dtype == BOOL and any(a.dtype.startswith(("float", "bfloat")) for a in n.args)
        )
    ordered = sorted(names, key=lambda v: v.uid)
    starts = {f.binds: f.start for f in facts if f.binds is not None and f.start is not None}
    for tried in _TRIES:
        env: dict[Expr, int] = dict.fromkeys(free, 1)
        for var in ordered:
            if var not in starts:
                env[var] = clamp(var, tried if var.role in ("dim", "param", "stride") else 0)
        try:
            for fact in facts:
                if fact.binds is not None and fact.start is not None and fact.binds not in env:
                    env[fact.binds] = evaluate(fact.start, env, machine=True)
            if any(not evaluate(f.condition, env, machine=True) for f in facts) or not evaluate(
                goal, env, machine=True
            ):
                continue
        except Unknown:
            continue
        if all(_inside(v, env[v]) for v in ordered if v in env):
            return env
    return None


def _inside(var: Var, value: int) -> bool:
    low, high = limits(var)
    return (low is None or value >= low) and (high is None or value <= high)
