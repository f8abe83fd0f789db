"""Bounds of typed expressions as the machine computes them.

:func:`ptxspec.scalar.index.bounds` reasons about exact integers, which is right for indices (their no-wrap goals are
proved) but not for data: a product that wraps can be negative. Here an operation whose exact range leaves its type is
taken to give anything the type holds.
"""

from __future__ import annotations

from functools import lru_cache

from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BOOL, INDEX, Const, Expr, Op, Poly, Var, int_range, is_integer

Interval = tuple[int | None, int | None]


@lru_cache(maxsize=1 << 14)
def machine_bounds(expr: Expr) -> Interval:
    """Inclusive bounds that hold even where arithmetic wraps; None where none is known."""
    if isinstance(expr, Poly) or expr.dtype == INDEX:
        return ix.bounds(expr)
    if isinstance(expr, Const):
        return (None, None) if isinstance(expr.value, float) else (int(expr.value), int(expr.value))
    if expr.dtype == BOOL:
        return 0, 1
    if not is_integer(expr.dtype):
        return None, None
    least, most = int_range(expr.dtype)
    if isinstance(expr, Var):
        return (least if expr.lo is None else max(expr.lo, least)), (most if expr.hi is None else min(expr.hi, most))
    assert isinstance(expr, Op)
    lo, hi = _exact(expr)
    return (lo, hi) if lo is not None and hi is not None and least <= lo and hi <= most else (least, most)


def _exact(op: Op) -> Interval:
    """Bounds of the exact result on the operands' machine bounds."""
    if op.name not in ("add", "sub", "mul", "min", "max", "floordiv", "floormod", "truncdiv", "truncmod", "and", "or",
                       "xor", "shl", "shr", "select", "cast", "neg"):
        return None, None
    if any(not (is_integer(a.dtype) or a.dtype == BOOL) for a in op.args):
        return None, None
    ranges = [machine_bounds(a) for a in op.args]
    stand_ins: tuple[Expr, ...] = tuple(
        Var(f"v{k}", a.dtype, "bound", lo, hi) for k, (a, (lo, hi)) in enumerate(zip(op.args, ranges)))
    if op.name == "select":
        stand_ins = (op.args[0], *stand_ins[1:])
    if op.name in ("shl", "shr"):
        return _shift(op.name, ranges)
    return ix.bounds(ix.index(Op(op.name, stand_ins, op.dtype)))


def _shift(name: str, ranges: list[Interval]) -> Interval:
    (lo, hi), (least, most) = ranges
    if lo is None or hi is None or lo < 0 or least is None or most is None or least < 0 or most > 63:
        return None, None
    return (lo << least, hi << most) if name == "shl" else (lo >> most, hi >> least)
