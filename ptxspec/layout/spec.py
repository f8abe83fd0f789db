"""The notation of layouts: ``S[(extents) : (strides)] + R[extents : strides] + offset``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ptxspec.diagnostics import KernelError, Note, fail
from ptxspec.layout.axis import OnAxis
from ptxspec.layout.value import Like, Value, product, to_poly
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Expr, Poly, show


@dataclass(frozen=True, slots=True)
class Iter:
    """One factor of a layout: its index runs over ``extent`` and moves ``stride`` on ``axis`` a step."""

    extent: Poly
    stride: Poly
    axis: str = "m"

    def __repr__(self) -> str:
        return f"{show(self.extent)}:{OnAxis(self.stride, self.axis)!r}"


StrideLike: TypeAlias = Like | OnAxis
Nested: TypeAlias = "StrideLike | tuple[Nested, ...] | list[Nested]"


@dataclass(frozen=True, slots=True)
class Spec:
    """What ``S[...]``, ``R[...]`` and ``+`` collect for :class:`~ptxspec.layout.TileLayout`."""

    shard: tuple[Iter, ...] = ()
    replica: tuple[Iter, ...] = ()
    offset: tuple[tuple[str, Poly], ...] = ()

    def __add__(self, other: Spec | StrideLike) -> Spec:
        if isinstance(other, Spec):
            return Spec(self.shard + other.shard, self.replica + other.replica, merge(self.offset, other.offset))
        if isinstance(other, OnAxis):
            return Spec(self.shard, self.replica, merge(self.offset, ((other.axis, other.amount),)))
        if isinstance(other, (int, Expr, Value)):
            return Spec(self.shard, self.replica, merge(self.offset, (("m", to_poly(other, "an offset")),)))
        raise fail(KernelError, "K124", f"a layout cannot be added to {type(other).__name__}",
                   notes=[Note("help", "add an offset (`+ 3`, `+ 1 @ laneid`) or replicas (`+ R[2 : 4]`)")])

    def __radd__(self, other: StrideLike) -> Spec:
        return self + other


def merge(a: tuple[tuple[str, Poly], ...], b: tuple[tuple[str, Poly], ...]) -> tuple[tuple[str, Poly], ...]:
    """Sum of two offsets, one entry an axis, zero entries dropped."""
    result: dict[str, Poly] = {}
    for axis, amount in a + b:
        result[axis] = ix.add(result.get(axis, ix.ZERO), amount)
    return tuple((axis, amount) for axis, amount in result.items() if amount != ix.ZERO)


def flatten(value: object) -> Iterator[object]:
    """The leaves of a nested tuple or list, in order."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from flatten(item)
    else:
        yield value


def row_major(extents: tuple[Poly, ...]) -> tuple[Poly, ...]:
    """Strides of a dense array in C order."""
    return tuple(product(extents[k + 1:]) for k in range(len(extents)))


class _Notation:
    """``S`` or ``R``: subscripting builds a :class:`Spec`."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, key: object) -> Spec:
        extents, strides = (key.start, key.stop) if isinstance(key, slice) else (key, None)
        if isinstance(key, slice) and key.step is not None:
            raise self._wrong("two parts are expected, extents and strides, but there are three")
        if isinstance(key, tuple) and any(isinstance(k, slice) for k in key):
            raise self._wrong("one colon parts all extents from all strides")
        shape = tuple(to_poly(e, "an extent") for e in flatten(extents))
        for extent in shape:
            if extent.is_const and extent.const < 0:
                raise self._wrong(f"extent {extent.const} is negative")
        if strides is None:
            if self._name == "R":
                raise self._wrong("replicas need strides")
            placed = [OnAxis(s, "m") for s in row_major(shape)]
        else:
            placed = [s if isinstance(s, OnAxis) else OnAxis(to_poly(s, "a stride"), "m") for s in flatten(strides)]
        if len(placed) != len(shape):
            raise self._wrong(f"{len(shape)} extents have {len(placed)} strides")
        iters = tuple(Iter(e, s.amount, s.axis) for e, s in zip(shape, placed, strict=True))
        return Spec(shard=iters) if self._name == "S" else Spec(replica=iters)

    def _wrong(self, why: str) -> Exception:
        return fail(KernelError, "K122", f"{self._name}[...] is not a layout: {why}",
                    notes=[Note("help", f"write {self._name}[(8, 4) : (4, 1)], one stride for each extent")])

    def __repr__(self) -> str:
        return self._name


S = _Notation("S")
R = _Notation("R")
