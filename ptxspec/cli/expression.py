"""A small reader for layout expressions on the command line: names, numbers and operators of layouts, nothing else."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from ptxspec.cli.common import usage
from ptxspec.diagnostics import PtxspecError

if TYPE_CHECKING:
    from ptxspec.layout import Layout

_OPERATORS: dict[type[ast.operator], Callable[[object, object], object]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.MatMult: operator.matmul,
    ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow, ast.Mod: operator.mod, ast.LShift: operator.lshift,
}
_NAMES = ("S", "R", "TileLayout", "ComposeLayout")
_METHODS = ("permute_dims", "tile", "pack", "unpack", "canonicalize", "group")


def read(text: str) -> Layout:
    """The layout that ``text`` describes; a bare ``S[...]`` is wrapped in ``TileLayout``. Raises UsageError U150."""
    from ptxspec import layout as names
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise usage("U150", f"{text!r} is not a layout expression: {getattr(error, 'msg', error)}",
                    "for example 'S[(8, 4) : (4, 1)]'") from None
    try:
        value = _value(tree.body, vars(names))
        if isinstance(value, names.Spec):
            value = names.TileLayout(value)
    except PtxspecError as error:
        raise usage("U150", f"{text!r}: {error.diagnostics[0].message}") from None
    except (TypeError, ValueError, ArithmeticError, MemoryError, LookupError, AttributeError, RecursionError) as error:
        raise usage("U150", f"{text!r} is not a layout expression: {error}") from None
    if not isinstance(value, names.Layout):
        raise usage("U150", f"{text!r} is a {type(value).__name__}, not a layout", "for example 'S[(8, 4) : (4, 1)]'")
    return value


def _value(node: ast.expr, names: dict[str, object]) -> object:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        from ptxspec import layout
        if node.id in _NAMES or node.id in layout.AXES:
            return names[node.id]
        raise ValueError(f"`{node.id}` is not a name of layouts")
    if isinstance(node, (ast.Tuple, ast.List)):
        return tuple(_value(e, names) for e in node.elts)
    if isinstance(node, ast.Slice):
        parts = [None if p is None else _value(p, names) for p in (node.lower, node.upper, node.step)]
        return slice(*parts)
    if isinstance(node, ast.Subscript):
        return _value(node.value, names)[_value(node.slice, names)]   # type: ignore[index]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, names)   # type: ignore[operator]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, names), _value(node.right, names)
        if any(isinstance(v, int) and abs(v) >> 64 for v in (left, right)) or (
                isinstance(node.op, (ast.Pow, ast.LShift)) and isinstance(right, int) and right > 64):
            raise ValueError("the number is too large")
        if isinstance(left, tuple) or isinstance(right, tuple):
            raise TypeError("arithmetic on tuples is not allowed here")   # (1,) * 10**9 would fill the memory
        return _OPERATORS[type(node.op)](left, right)
    if isinstance(node, ast.Call):
        return _call(node, names)
    raise ValueError(f"`{ast.unparse(node)}` is not allowed here")


def _call(node: ast.Call, names: dict[str, object]) -> object:
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
        target = getattr(_value(node.func.value, names), node.func.attr)
    else:
        target = _value(node.func, names)
    if not callable(target):
        raise ValueError(f"`{ast.unparse(node.func)}` cannot be called")
    if any(k.arg is None for k in node.keywords):
        raise ValueError("** is not allowed here")
    arguments = [_value(a, names) for a in node.args]
    result: object = target(*arguments, **{str(k.arg): _value(k.value, names) for k in node.keywords})
    return result
