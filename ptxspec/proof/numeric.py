"""Fast evaluation of exact expressions over many points: each expression becomes one line of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from ptxspec.scalar.expr import BOOL, INDEX, Const, Expr, Op, Poly, Var, is_integer

_INFIX = {
    "floordiv": "//",
    "floormod": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "land": "and",
    "lor": "or",
}


class NotNumeric(Exception):
    """The expression has an unknown or an operation outside the fast subset."""


def source(expr: Expr, names: dict[Expr, str]) -> str:
    """``expr`` as Python text; typed integer operations other than conditions are refused (they may wrap)."""
    if expr in names:
        return names[expr]
    if isinstance(expr, Const):
        if isinstance(expr.value, float):
            raise NotNumeric(str(expr))
        return f"({int(expr.value)})"
    if isinstance(expr, Poly):
        parts = [str(expr.const)] if expr.const or not expr.terms else []
        parts += ["*".join([f"({c})", *(source(a, names) for a in m)]) for m, c in expr.terms]
        return f"({'+'.join(parts)})"
    if isinstance(expr, Var) or not isinstance(expr, Op):
        raise NotNumeric(str(expr))
    if expr.dtype not in (INDEX, BOOL) and not is_integer(expr.dtype):
        raise NotNumeric(str(expr))
    if is_integer(expr.dtype):
        raise NotNumeric(str(expr))
    args = [source(a, names) for a in expr.args]
    if expr.name in _INFIX:
        return f"({args[0]}{' ' + _INFIX[expr.name] + ' '}{args[1]})"
    if expr.name in ("min", "max"):
        return f"{expr.name}({args[0]},{args[1]})"
    if expr.name == "select":
        return f"({args[1]} if {args[0]} else {args[2]})"
    if expr.name == "lnot":
        return f"(not {args[0]})"
    raise NotNumeric(str(expr))


def compiled(exprs: Sequence[Expr], variables: Sequence[Var]) -> Callable[..., tuple[int, ...]]:
    """A function of the variables' values giving the values of ``exprs``; NotNumeric when that is not possible."""
    names: dict[Expr, str] = {v: f"v{k}" for k, v in enumerate(variables)}
    body = ",".join(source(e, names) for e in exprs)
    scope: dict[str, object] = {"min": min, "max": max, "__builtins__": {}}
    made: Callable[..., tuple[int, ...]] = eval(f"lambda {','.join(names.values())}: ({body},)", scope)
    return made


def points(variables: Sequence[Var], limit: int) -> list[tuple[int, ...]] | None:
    """Every combination of values of bounded variables; None when there are more than ``limit``."""
    total = 1
    for var in variables:
        if var.lo is None or var.hi is None:
            return None
        total *= max(0, var.hi - var.lo + 1)
    if total > limit:
        return None
    return list(product(*(range(v.lo or 0, (v.hi or 0) + 1) for v in variables)))
