"""Symbolic integers on the Python side of a kernel: dimensions and what is computed from them.

Shapes, strides and launch sizes may be written with symbolic dimensions in annotations and layouts, outside any kernel
body, where plain Python evaluates the operators. :class:`Value` carries the typed expression and offers them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TypeAlias

from ptxspec.diagnostics import KernelError, Note, fail
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import INDEX, Expr, Op, Poly, is_integer, show


class Value:
    """A kernel value with Python operators; ``expr`` is the typed expression behind it."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    def __repr__(self) -> str:
        return show(self.expr)

    def __hash__(self) -> int:
        return hash(self.expr)

    def __bool__(self) -> bool:
        raise fail(KernelError, "K121", f"`{self!r}` has no value yet, so Python cannot decide on it",
                   notes=[Note("help", "decide inside the kernel, or use a plain Python number")])

    def __add__(self, other: Scalar) -> Value:
        return _binary("add", self, other)

    def __radd__(self, other: int) -> Value:
        return _binary("add", other, self)

    def __sub__(self, other: Scalar) -> Value:
        return _binary("sub", self, other)

    def __rsub__(self, other: int) -> Value:
        return _binary("sub", other, self)

    def __mul__(self, other: Scalar) -> Value:
        return _binary("mul", self, other)

    def __rmul__(self, other: int) -> Value:
        return _binary("mul", other, self)

    def __floordiv__(self, other: Scalar) -> Value:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: int) -> Value:
        return _binary("floordiv", other, self)

    def __mod__(self, other: Scalar) -> Value:
        return _binary("floormod", self, other)

    def __rmod__(self, other: int) -> Value:
        return _binary("floormod", other, self)

    def __lshift__(self, other: Scalar) -> Value:
        return _binary("shl", self, other)

    def __rshift__(self, other: Scalar) -> Value:
        return _binary("shr", self, other)

    def __neg__(self) -> Value:
        return Value(typed.unary("neg", self.expr))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self.expr == other.expr


Scalar: TypeAlias = int | Value


def _plain(value: object) -> Expr | int:
    if isinstance(value, Value):
        return value.expr
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise fail(KernelError, "K120", f"a dimension cannot be combined with {type(value).__name__} {value!r}",
                   notes=[Note("help", "use integers and dimensions only")]) from None


def _binary(name: str, left: object, right: object) -> Value:
    return Value(typed.binary(name, _plain(left), _plain(right)))


#: What an extent, a stride or an index may be given as.
Like: TypeAlias = int | Expr | Value


def to_poly(value: object, what: str = "an extent") -> Poly:
    """``value`` as an exact integer; anything but an integer or an integer kernel value is refused (K120)."""
    if isinstance(value, Poly):
        return value
    if isinstance(value, Value):
        value = value.expr
    if isinstance(value, Expr):
        if value.dtype == INDEX or is_integer(value.dtype):
            return ix.index(value)
        raise fail(KernelError, "K120", f"{what} must be an integer, not `{show(value)}` of type {value.dtype}",
                   getattr(value, "span", None))
    try:
        if isinstance(value, bool):
            raise TypeError
        return ix.constant(operator.index(value))  # type: ignore[arg-type]
    except TypeError:   # an array has __index__, and refuses
        raise fail(KernelError, "K120", f"{what} must be an integer, not {type(value).__name__} {value!r}") from None


def product(values: Sequence[Poly]) -> Poly:
    """The product of all ``values``; 1 for none."""
    result = ix.ONE
    for value in values:
        result = ix.mul(result, value)
    return result


def exact_div(a: Poly, b: Poly) -> Poly | None:
    """``a / b`` where that is an integer polynomial for all values of the variables, else None."""
    if a == b:
        return ix.ONE
    if b.is_const:
        if b.const == 0 or a.const % b.const or any(c % b.const for _, c in a.terms):
            return None
        return Poly(a.const // b.const, tuple((m, c // b.const) for m, c in a.terms))
    if b.const or len(b.terms) != 1 or a.const:
        return None
    (divisor, factor), = b.terms
    result = ix.ZERO
    for monomial, coefficient in a.terms:
        rest = list(monomial)
        if coefficient % factor:
            return None
        for part in divisor:
            if part not in rest:
                return None
            rest.remove(part)
        term = ix.constant(coefficient // factor)
        for part in rest:
            term = ix.mul(term, ix.atom(part))
        result = ix.add(result, term)
    return result


def recombined(poly: Poly) -> Poly:
    """``poly`` with every ``k*c*(a // c) + k*(a % c)`` put back together as ``k*a``: split indices that meet again."""
    while True:
        for monomial, k in poly.terms:
            part = monomial[0]
            if len(monomial) != 1 or not isinstance(part, Op) or part.name != "floormod" or part.dtype != INDEX:
                continue
            a, c = part.args
            pair = ix.scale(ix.mul(ix.atom(Op("floordiv", (a, c), INDEX)), c), k)
            if pair.terms and pair.terms[0] in poly.terms and not pair.const and len(pair.terms) == 1:
                poly = ix.add(poly, ix.neg(pair), ix.scale(ix.atom(part), -k), ix.scale(a, k))
                break
        else:
            return poly


def show_shape(shape: Sequence[Poly]) -> str:
    """``shape`` as a Python tuple would be written."""
    inner = ", ".join(show(e) for e in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
