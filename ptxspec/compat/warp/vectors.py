"""Warp's functions of vectors and matrices that are sums and products of components."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from ptxspec.compat.warp.elements import said_value
from ptxspec.compat.warp.values import Composite, binary
from ptxspec.lang.errors import refuse
from ptxspec.lang.trace import intrinsic, where
from ptxspec.scalar.expr import Expr


def _pair(a: object, b: object, name: str, rank: int = 0) -> tuple[Composite, Composite]:
    if not isinstance(a, Composite) or not isinstance(b, Composite) or a.shape != b.shape \
            or (rank and len(a.shape) != rank):
        what = ("vectors or matrices", "vectors", "matrices")[rank]
        refuse("K222", f"wp.{name} takes two {what} of one shape, not {said_value(a)} and {said_value(b)}", where())
    return a, b


def _sum(values: list[Expr]) -> Expr:
    return reduce(lambda x, y: binary("add", x, y), values)


def _products(a: Composite, b: Composite) -> list[Expr]:
    return [binary("mul", a.typed(x), y) for x, y in zip(a.values, b.values, strict=True)]


@intrinsic
def dot(a: object, b: object) -> Expr:
    """The sum of the products of components, from first to last."""
    return _sum(_products(*_pair(a, b, "dot", 1)))


@intrinsic
def ddot(a: object, b: object) -> Expr:
    """As :func:`dot`, of two matrices."""
    return _sum(_products(*_pair(a, b, "ddot", 2)))


@intrinsic
def length_sq(a: object) -> Expr:
    """The square of a vector's length."""
    return _sum(_products(*_pair(a, a, "length_sq", 1)))


def _by_component(name: str, operation: str) -> Callable[[object, object], Composite]:
    @intrinsic
    def work(a: object, b: object) -> Composite:
        x, y = _pair(a, b, name)
        return x.by_component(lambda p, q: binary(operation, p, q), y.values)

    work.__name__ = work.__qualname__ = name
    work.__doc__ = f"`{operation}` component by component."
    return work


cw_mul = _by_component("cw_mul", "mul")
cw_div = _by_component("cw_div", "div")


@intrinsic
def cross(a: object, b: object) -> Composite:
    """The vector product of two vectors of three components."""
    x, y = _pair(a, b, "cross", 1)
    if x.shape != (3,):
        refuse("K222", f"wp.cross takes vectors of three components, not {x!r}", where())
    p, q = [x.typed(v) for v in x.values], y.values
    return Composite(x.scalar, (3,), [
        binary("sub", binary("mul", p[i], q[j]), binary("mul", p[j], q[i])) for i, j in ((1, 2), (2, 0), (0, 1))])


@intrinsic
def transpose(a: object) -> Composite:
    """A matrix with rows and columns exchanged."""
    if not isinstance(a, Composite) or len(a.shape) != 2:
        refuse("K222", f"wp.transpose takes a matrix, not {said_value(a)}", where())
    rows, columns = a.shape
    values = [a.values[i * columns + j] for j in range(columns) for i in range(rows)]
    return Composite(a.scalar, (columns, rows), values)
