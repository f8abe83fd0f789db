"""Plain-Python models: replay of a counterexample, and a quick search for values that satisfy a set of facts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from ptxspec.proof.facts import Fact
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import BOOL, Const, Expr, Op, Poly, Var, int_range, is_integer, variables, walk

#: Values tried for dimensions and scalar parameters when looking for a first model.
_TRIES = (0, 1, 2, 4, 64, 1024, 1 << 20)
#: Random draws after those, from constants in the facts and around them.
RANDOM_TRIES = 60


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
    """Values for which every fact and ``goal`` hold, from a few likely and some random ones; None proves nothing."""
    names: set[Var] = set(variables(goal))
    free: dict[Expr, None] = {}
    constants: set[int] = {0, 1}
    for condition in (goal, *(f.condition for f in facts)):
        names.update(variables(condition))
        for node in walk(condition):
            if isinstance(node, Const) and not isinstance(node.value, float):
                constants.add(int(node.value))
            elif isinstance(node, Poly):
                constants.add(node.const)
            elif isinstance(node, Op) and node.dtype == BOOL and any(_floating(a) for a in node.args):
                free[node] = None
    ordered = sorted((v for v in names if not _floating(v)), key=lambda v: v.uid)
    starts = {f.binds: f.start for f in facts if f.binds is not None and f.start is not None}
    near = sorted({c + d for c in constants for d in (-1, 0, 1)}, key=lambda c: (abs(c), c))[:64]
    rng = random.Random(0)
    for number in range(len(_TRIES) + RANDOM_TRIES):
        likely = number < len(_TRIES)
        env: dict[Expr, int] = {n: 1 if likely else rng.randint(0, 1) for n in free}
        for var in ordered:
            if likely:
                value = _TRIES[number] if var.role in ("dim", "param", "stride") else 0
            else:
                value = rng.choice(near) if rng.random() < 0.7 else _anywhere(var, rng)
            if var not in starts or (not likely and rng.random() < 0.5):
                env[var] = clamp(var, value)
        if _satisfies(env, facts, goal) and all(_inside(v, env[v]) for v in ordered if v in env):
            return env
    return None


def extended(env: dict[Expr, int], facts: Sequence[Fact]) -> dict[Expr, int] | None:
    """``env`` with the further variables of ``facts`` at their nearest values, where all of ``facts`` hold then."""
    found = dict(env)
    starts = {f.binds for f in facts if f.binds is not None and f.start is not None}
    for fact in facts:
        for node in walk(fact.condition):
            if isinstance(node, Var) and node not in found and node not in starts and not _floating(node):
                found[node] = smallest(node)
            elif isinstance(node, Op) and node.dtype == BOOL and node not in found and any(map(_floating, node.args)):
                found[node] = 1
    if not _satisfies(found, facts, Const(True, BOOL)):
        return None
    return found if all(_inside(v, found[v]) for v in found if isinstance(v, Var)) else None


def _satisfies(env: dict[Expr, int], facts: Sequence[Fact], goal: Expr) -> bool:
    try:
        for fact in facts:
            if fact.binds is not None and fact.start is not None and fact.binds not in env:
                env[fact.binds] = evaluate(fact.start, env, machine=True)
            if not evaluate(fact.condition, env, machine=True):
                return False
        return bool(evaluate(goal, env, machine=True))
    except Unknown:
        return False


def _floating(expr: Expr) -> bool:
    return expr.dtype.startswith(("float", "bfloat"))


def _anywhere(var: Var, rng: random.Random) -> int:
    low, high = limits(var)
    if low is None or high is None or high < low:
        return rng.randint(-100, 100)
    return rng.randint(low, high) if high - low < 1 << 12 else rng.randint(max(low, -100), min(high, 100))


def _inside(var: Var, value: int) -> bool:
    low, high = limits(var)
    return (low is None or value >= low) and (high is None or value <= high)


_ROLES = {
    "tid.x": 0,
    "tid.y": 1,
    "tid.z": 2,
    "ctaid.x": 3,
    "ctaid.y": 4,
    "ctaid.z": 5,
    "group": 6,
    "loop": 7,
    "repeat": 8,
    "word": 9,
    "value": 10,
    "param": 11,
    "dim": 12,
    "stride": 13,
}


def order(claim: Expr, facts: Iterable[Fact]) -> tuple[Var, ...]:
    """The variables of a query in the order of minimisation: thread, block, loops, words, then runtime values."""
    found = set(variables(claim))
    for fact in facts:
        found.update(variables(fact.condition))
    return tuple(sorted(found, key=lambda v: (_ROLES.get(v.role.split("@")[0], 20), v.uid)))
