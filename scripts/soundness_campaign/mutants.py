"""Every single mutation of a kernel's source, made on its syntax tree."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

#: How a change of one node is written: (what it is called, the node that takes its place; None drops it).
Change = tuple[str, ast.AST | None]

Node = TypeVar("Node", bound=ast.AST)

_COMPARE = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt,), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt,),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,),
}
_BINARY = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Add,), ast.Mod: (ast.FloorDiv,), ast.FloorDiv: (ast.Mod,),
    ast.BitXor: (ast.BitOr, ast.BitAnd), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.RShift: (ast.LShift,),
    ast.LShift: (ast.RShift,),
}
_THREAD = ("tid", "gid", "x", "y")
_VECTOR = {"": ".v2", ".v2": ".v4", ".v4": ".v2"}


def _call(node: ast.AST) -> str:
    """The last name of a called function."""
    if isinstance(node, ast.Expr):
        node = node.value
    if isinstance(node, ast.Call):
        return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return ""


def _with(node: Node, **changed: object) -> Node:
    twin = copy.copy(node)
    for name, value in changed.items():
        setattr(twin, name, value)
    return twin


def expressions(node: ast.AST, names: set[str]) -> Iterator[Change]:
    """Changes of one expression node."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        for value in dict.fromkeys((node.value + 1, node.value - 1, 2 * node.value)):
            if value != node.value:
                yield f"{node.value} becomes {value}", ast.Constant(value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _opcode(node.value)
    elif isinstance(node, ast.Compare):
        for other in _COMPARE.get(type(node.ops[0]), ()):
            yield f"comparison becomes {other.__name__}", _with(node, ops=[other(), *node.ops[1:]])
    elif isinstance(node, ast.BinOp):
        for operator in _BINARY.get(type(node.op), ()):
            yield f"operation becomes {operator.__name__}", _with(node, op=operator())
        yield "left operand alone", node.left
        if not isinstance(node.op, (ast.Mod, ast.FloorDiv)):
            yield "right operand alone", node.right
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"condition becomes {other_op.__name__}", _with(node, op=other_op())
        for k in range(len(node.values)):
            yield "part of a condition dropped", node.values[k]
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in _THREAD and node.id in names:
        for other_name in _THREAD:
            if other_name in names and other_name != node.id:
                yield f"{node.id} becomes {other_name}", ast.Name(other_name, ast.Load())
        yield f"{node.id} shifted", ast.BinOp(node, ast.Add(), ast.Constant(1))
        yield f"{node.id} becomes 0", ast.Constant(0)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and len(node.slice.elts) > 1:
        parts = node.slice.elts
        for k in range(len(parts) - 1):
            swapped = [*parts[:k], parts[k + 1], parts[k], *parts[k + 2 :]]
            yield "indices swapped", _with(node, slice=ast.Tuple(swapped, ast.Load()))
    elif isinstance(node, ast.Call):
        for k, keyword in enumerate(node.keywords):
            if keyword.arg in ("pred", "preserve_dst", "align", "layout", "scope"):
                kept = node.keywords[:k] + node.keywords[k + 1 :]
                yield f"{keyword.arg}= dropped", _with(node, keywords=kept)
            if keyword.arg == "pred":
                negated = ast.keyword("pred", _negated(keyword.value))
                yield "pred= negated", _with(node, keywords=[*node.keywords[:k], negated, *node.keywords[k + 1 :]])


def _negated(node: ast.expr) -> ast.expr:
    return ast.Compare(node, [ast.Eq()], [ast.Constant(False)]) if not isinstance(node, ast.Compare) else _flip(node)


def _flip(node: ast.Compare) -> ast.expr:
    opposite: dict[type[ast.cmpop], type[ast.cmpop]] = {
        ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    }
    return _with(node, ops=[opposite[type(node.ops[0])](), *node.ops[1:]])


def _opcode(text: str) -> Iterator[Change]:
    found = re.fullmatch(r"(ld|st)\.(global|shared|local)(\.v[24])?\.b(32|64)", text)
    if found is None:
        return
    kind, space, vector, bits = found[1], found[2], found[3] or "", found[4]
    yield "vector width", ast.Constant(f"{kind}.{space}{_VECTOR[vector]}.b{bits}")
    yield "element width", ast.Constant(f"{kind}.{space}{vector}.b{'64' if bits == '32' else '32'}")
    yield "direction", ast.Constant(f"{'st' if kind == 'ld' else 'ld'}.{space}{vector}.b{bits}")
    other = "shared" if space == "global" else "global"
    yield "space", ast.Constant(f"{kind}.{other}{vector}.b{bits}")


def lists(body: list[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Changes of one list of statements: drop, unwrap, swap with the next, insert a barrier twice."""
    for k, statement in enumerate(body):
        before, after = body[:k], body[k + 1 :]
        if _frame(statement):
            continue
        if not isinstance(statement, ast.Assign) or isinstance(statement.targets[0], ast.Subscript):
            yield f"dropped: {_short(statement)}", [*before, *after] or [ast.Pass()]
        if isinstance(statement, ast.If):
            yield "guard dropped", [*before, *statement.body, *after]
            yield "guard negated", [*before, _with(statement, test=_negated(statement.test)), *after]
            if statement.orelse:
                yield "else dropped", [*before, _with(statement, orelse=[]), *after]
        if isinstance(statement, ast.For):
            yield "loop body doubled", [*before, _with(statement, body=[*statement.body, *statement.body]), *after]
        if after and not _frame(after[0]) and not isinstance(statement, ast.Assign):
            yield "statements swapped", [*before, after[0], statement, *after[1:]]


def _frame(statement: ast.stmt) -> bool:
    """Launch and premises: other launches are made by their numbers, and other premises are other promises."""
    return _call(statement) in ("device_entry", "assume") or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))


def _short(statement: ast.stmt) -> str:
    return ast.unparse(statement).splitlines()[0][:80]


def mutants(text: str, name: str = "kernel") -> Iterator[tuple[str, str]]:
    """(what was changed, the whole source) for every single change, without repetition: in the function ``name`` and
    in the layouts defined outside of it."""
    tree = ast.parse(text)
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    seen = {ast.unparse(tree)}
    for place in [n for n in tree.body if n is function or isinstance(n, ast.Assign)]:
        for what, undo in _changes(place, names):
            changed = ast.unparse(tree)
            undo()
            if changed not in seen:
                seen.add(changed)
                yield what, changed + "\n"


def _changes(place: ast.stmt, names: set[str]) -> Iterator[tuple[str, Callable[[], None]]]:
    """Makes each change in place and yields a function that undoes it."""

    def visit(node: ast.AST) -> Iterator[tuple[str, Callable[[], None]]]:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                for what, new in list(lists(value)):
                    setattr(node, field, new)
                    yield what, lambda: setattr(node, field, value)  # noqa: B023 called before the loop goes on
                for statement in value:
                    if _call(statement) != "assume":
                        yield from visit(statement)
            elif isinstance(value, list):
                for k, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        for what, one in list(expressions(item, names)):
                            value[k] = one
                            yield what, lambda: value.__setitem__(k, item)  # noqa: B023
                        yield from visit(item)
            elif isinstance(value, ast.AST):
                if field in ("op", "ctx", "func", "annotation") and not isinstance(value, (ast.Call, ast.Attribute)):
                    continue
                for what, one in list(expressions(value, names)):
                    setattr(node, field, one)
                    yield what, lambda: setattr(node, field, value)  # noqa: B023
                yield from visit(value)

    yield from visit(place)


def mentions(text: str, name: str) -> str:
    """``text`` with its kernel ``name`` called ``kernel``, and nothing else of the file that is a kernel.

    Symbolic dimensions get sizes, because brute force needs them.
    """
    tree = _Sized().visit(ast.parse(text))
    kept: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(d) == "T.function" for d in node.decorator_list):
            if node.name != name:
                continue
            node.name = "kernel"
        kept.append(node)
    return ast.unparse(ast.Module(kept, [])) + "\n"


class _Sized(ast.NodeTransformer):
    """``T.dim("M")`` becomes a number: 12, 16, 20..."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}

    def visit_Call(self, node: ast.Call) -> ast.expr:  # noqa: N802 the name that ast asks for
        """A call of T.dim."""
        self.generic_visit(node)
        if _call(node) == "dim" and node.args and isinstance(node.args[0], ast.Constant):
            return ast.Constant(self.sizes.setdefault(str(node.args[0].value), 12 + 4 * len(self.sizes)))
        return node


def kernels_of(text: str) -> list[str]:
    """The names of a file's kernels."""
    return [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)
            and any(ast.unparse(d) == "T.function" for d in n.decorator_list)]
