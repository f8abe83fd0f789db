"""Warp's functions of numbers, as far as the kernel language computes them; sums and the like take tiles too."""

from __future__ import annotations

import math
from collections.abc import Callable

from ptxspec.compat.warp.values import Composite
from ptxspec.lang import scalars
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.scalars import plain
from ptxspec.lang.trace import intrinsic, where
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr, is_float

Two = Callable[[object, object], object]
One = Callable[[object], object]

min = scalars.min
max = scalars.max
abs = scalars.abs


def _number(value: object, name: str) -> Expr:
    item = plain(value, f"wp.{name}")
    return item if isinstance(item, Expr) else typed.literal(item, typed.default_dtype(item), where())


def _two(name: str, operation: str, text: str) -> Two:
    """``wp.NAME(a, b)``: element by element where one of them is a tile."""
    @intrinsic
    def work(a: object, b: object) -> object:
        for side, other, reflected in ((a, b, False), (b, a, True)):
            by_element = getattr(side, "ptxspec_binary", None)
            if by_element is not None:
                return by_element(operation, other, reflected)
        return binary(operation, a, b, name)

    return _named(work, name, text)


def binary(operation: str, a: object, b: object, name: str) -> Expr:
    """A typed operation of two numbers; C's division for integers."""
    x, y = plain(a, f"wp.{name}"), plain(b, f"wp.{name}")
    if not isinstance(x, Expr) and not isinstance(y, Expr):
        x = typed.literal(x, typed.default_dtype(y if isinstance(y, float) else x), where())
    if operation == "div" and not any(isinstance(v, float) or (isinstance(v, Expr) and is_float(v.dtype))
                                      for v in (x, y)):
        operation = "truncdiv"
    return typed.binary(operation, x, y, where())


def _one(name: str, work: Callable[[Expr], Expr], text: str, operation: str = "") -> One:
    @intrinsic
    def call(x: object) -> object:
        by_element = getattr(x, "ptxspec_unary", None) if operation else None
        return by_element(operation) if by_element is not None else work(_number(x, name))

    return _named(call, name, text)


def _named(function: Callable[..., object], name: str, text: str) -> Callable[..., object]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def _choose(condition: Expr, yes: Expr, no: Expr) -> Expr:
    return typed.select(condition, yes, no, where())


def _like(x: Expr, value: int) -> Expr:
    return typed.literal(value, x.dtype, where())


def _floating(x: Expr, name: str) -> Expr:
    if not is_float(x.dtype):
        refuse("K222", f"wp.{name} takes a float, not {x.dtype}", where())
    return x


def _infinite(x: Expr, name: str, comparison: str) -> Expr:
    magnitude = typed.unary("abs", _floating(x, name), where())
    return typed.compare(comparison, magnitude, typed.literal(math.inf, x.dtype, where()), where())


add = _two("add", "add", "``a + b``.")
sub = _two("sub", "sub", "``a - b``.")
mul = _two("mul", "mul", "``a * b``.")
div = _two("div", "div", "``a / b``; of integers the quotient rounded toward zero.")
floordiv = _two("floordiv", "floordiv", "``a // b``, rounded down.")
mod = _two("mod", "truncmod", "The remainder of a division of integers rounded toward zero.")
lshift = _two("lshift", "shl", "``a << b``.")
rshift = _two("rshift", "shr", "``a >> b``.")
bit_and = _two("bit_and", "and", "``a & b``.")
bit_or = _two("bit_or", "or", "``a | b``.")
bit_xor = _two("bit_xor", "xor", "``a ^ b``.")
neg = _one("neg", lambda x: typed.unary("neg", x, where()), "``-x``.", "neg")
pos = _one("pos", lambda x: x, "``x``.")
invert = _one("invert", lambda x: typed.unary("not", x, where()), "Every bit turned over.", "not")
unot = _one("unot", lambda x: typed.negate(x, where()), "True for zero and False.")
sign = _one("sign", lambda x: _choose(typed.compare("lt", x, 0, where()), _like(x, -1), _like(x, 1)),
            "-1 below zero, else 1.")
step = _one("step", lambda x: _choose(typed.compare("lt", x, 0, where()), _like(x, 1), _like(x, 0)),
            "1 below zero, else 0.")
nonzero = _one("nonzero", lambda x: _choose(typed.compare("ne", x, 0, where()), _like(x, 1), _like(x, 0)),
               "1 for anything but zero.")
isnan = _one("isnan", lambda x: typed.compare("ne", _floating(x, "isnan"), x, where()), "True for NaN.")
isinf = _one("isinf", lambda x: _infinite(x, "isinf", "eq"), "True for both infinities.")
isfinite = _one("isfinite", lambda x: _infinite(x, "isfinite", "lt"), "True for anything but infinities and NaN.")


@intrinsic
def clamp(x: object, low: object, high: object) -> Expr | int | float:
    """``min(max(low, x), high)``."""
    return scalars.min(scalars.max(_number(low, "clamp"), _number(x, "clamp")), _number(high, "clamp"))


@intrinsic
def where_(cond: object, value_if_true: object, value_if_false: object) -> object:
    """``value_if_true`` where ``cond`` holds, else ``value_if_false``; both are computed."""
    if not isinstance(cond, (Expr, bool, int)):
        refuse("K222", f"wp.where takes a condition, not {said(cond)}", where())
    if isinstance(value_if_true, Composite) and isinstance(value_if_false, Composite) \
            and value_if_true.shape == value_if_false.shape:
        return value_if_true.by_component(lambda a, b: typed.select(cond, a, b, where()), value_if_false.values)
    return typed.select(cond, _number(value_if_true, "where"), _number(value_if_false, "where"), where())
