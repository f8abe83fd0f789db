"""Scalar functions of the kernel language."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeVar

from ptxspec.lang import ir
from ptxspec.lang.cuda import LaunchConfig
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.trace import current, intrinsic, where
from ptxspec.lang.types import number
from ptxspec.layout.value import Value
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Const, Expr, Var, int_range, is_integer, show

Number = Expr | Value | int | float
Item = TypeVar("Item")
#: Up to so many values are joined from left to right, as they would be written.
FEW = 8


def plain(value: object, what: str) -> Expr | int | float | bool:
    """``value`` as a number or a kernel value (K222)."""
    if isinstance(value, Value):
        return value.expr
    value = number(value)
    if isinstance(value, (Expr, int, float)):
        return value
    refuse("K222", f"{what} takes numbers and kernel values, not {type(value).__name__}", where())


def fold_pairs(name: str, values: tuple[object, ...]) -> Expr | int | float:
    """``min`` or ``max`` of all values."""
    items = [plain(v, f"T.{name}") for v in values]
    if len(items) < 1:
        refuse("K207", f"T.{name} needs at least one value", where())

    def joined(a: Expr | int | float, b: Expr | int | float) -> Expr | int | float:
        if isinstance(a, Expr) or isinstance(b, Expr):
            return typed.binary(name, a, b, where())
        return builtins.min(a, b) if name == "min" else builtins.max(a, b)
    return balanced(items, joined, items[0])


def balanced(values: Sequence[Item], join: Callable[[Item, Item], Item], empty: Item) -> Item:
    """All values joined in order; many of them as a tree that is no deeper than it must be."""
    if len(values) <= FEW:
        return reduce(join, values) if values else empty
    middle = len(values) // 2
    return join(balanced(values[:middle], join, empty), balanced(values[middle:], join, empty))


@intrinsic
def min(*values: Number) -> Expr | int | float:
    """The smallest value."""
    return fold_pairs("min", values)


@intrinsic
def max(*values: Number) -> Expr | int | float:
    """The largest value."""
    return fold_pairs("max", values)


@intrinsic
def abs(value: Number) -> Expr | int | float:
    """The magnitude."""
    item = plain(value, "T.abs")
    return typed.unary("abs", item, where()) if isinstance(item, Expr) else builtins.abs(item)


@intrinsic
def Select(condition: Number, if_true: Number, if_false: Number) -> Expr:  # noqa: N802 - the reference's name
    """``if_true`` where ``condition`` holds, else ``if_false``; both are computed."""
    return typed.select(plain(condition, "T.Select"), plain(if_true, "T.Select"), plain(if_false, "T.Select"), where())


@intrinsic
def if_then_else(condition: Number, if_true: Number, if_false: Number) -> Expr:
    """As :func:`Select`; inside kernels ``a if c else b`` reads memory only on the side taken."""
    return Select(condition, if_true, if_false)


def _two(name: str, left: Number, right: Number) -> Expr | int:
    a, b = plain(left, f"T.{name}"), plain(right, f"T.{name}")
    if isinstance(a, Expr) or isinstance(b, Expr):
        return typed.binary(name, a, b, where())
    if not isinstance(a, int) or not isinstance(b, int):
        refuse("K222", f"T.{name} takes integers", where())
    return {"shl": lambda: a << b, "shr": lambda: a >> b, "and": lambda: a & b, "or": lambda: a | b,
            "xor": lambda: a ^ b, "floordiv": lambda: a // b, "floormod": lambda: a % b}[name]()


@intrinsic
def shift_left(value: Number, amount: Number) -> Expr | int:
    """``value << amount``."""
    return _two("shl", value, amount)


@intrinsic
def shift_right(value: Number, amount: Number) -> Expr | int:
    """``value >> amount``; arithmetic for signed types."""
    return _two("shr", value, amount)


@intrinsic
def bitwise_and(left: Number, right: Number) -> Expr | int:
    """``left & right``."""
    return _two("and", left, right)


@intrinsic
def bitwise_or(left: Number, right: Number) -> Expr | int:
    """``left | right``."""
    return _two("or", left, right)


@intrinsic
def bitwise_xor(left: Number, right: Number) -> Expr | int:
    """``left ^ right``."""
    return _two("xor", left, right)


@intrinsic
def floordiv(left: Number, right: Number) -> Expr | int:
    """``left // right``, rounding down."""
    return _two("floordiv", left, right)


@intrinsic
def floormod(left: Number, right: Number) -> Expr | int:
    """``left % right`` with the sign of ``right``."""
    return _two("floormod", left, right)


@intrinsic
def ceildiv(left: Number, right: Number) -> Expr | int:
    """``left / right`` rounded up."""
    a, b = plain(left, "T.ceildiv"), plain(right, "T.ceildiv")
    if isinstance(a, Expr) or isinstance(b, Expr):
        return typed.binary("floordiv", typed.binary("add", a, typed.binary("sub", b, 1, where())
                                                     if isinstance(b, Expr) else b - 1, where()), b, where())
    return -(-int(a) // int(b))


@intrinsic
def assume(condition: Number) -> None:
    """A fact that proofs may use. It is listed in the report and in the PTX; what only concerns parameters and
    dimensions is checked at launch."""
    tracer = current("T.assume")
    item = plain(condition, "T.assume")
    if not isinstance(item, Expr):
        if not item:
            refuse("K221", "T.assume of something that is false", tracer.place())
        return
    if item.dtype != BOOL:
        refuse("K222", f"T.assume takes a condition, not `{show(item)}` of type {item.dtype}", tracer.place(),
               help="compare it, for example T.assume(n > 0)")
    if isinstance(item, Const):
        if not item.value:
            refuse("K221", "T.assume of something that is false", tracer.place())
        return
    tracer.emit(ir.Assume(item, tracer.argument_text or show(item), tracer.place()))


@intrinsic
def device_entry(*, launch: LaunchConfig) -> None:
    """Where the device code begins, with its launch sizes; the first statement of every kernel."""
    tracer = current("T.device_entry")
    if not isinstance(launch, LaunchConfig):
        refuse("K218", f"launch= takes T.cuda.LaunchConfig(...), not {said(launch)}", tracer.place())
    tracer.entry(launch.resolve(tracer.place()), tracer.place())


def dim(name: str, dtype: str = "int32") -> Value:
    """A symbolic dimension, bound from the arrays at launch: ``M = T.dim("M")``. ``dtype`` is int32 or int64."""
    from ptxspec.lang.types import dtype_name
    kind = dtype_name(dtype)
    if not isinstance(name, str) or not name.isidentifier():
        refuse("K151", f"a dimension is named by an identifier, not {said(name)}", where())
    if not is_integer(kind):
        refuse("K151", f"a dimension is an integer, not {kind}", where())
    return Value(Var(name, kind, "dim", 0, int_range(kind)[1], where()))
