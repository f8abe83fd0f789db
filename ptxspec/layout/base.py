"""What every layout answers."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.diagnostics import KernelError, fail
from ptxspec.layout.spec import flatten
from ptxspec.layout.value import product, recombined, show_shape, to_poly
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly


class Layout:
    """A map from logical indices to coordinates on physical axes.

    The logical index space is a shape whose product is :meth:`size`; it may be cut into other dimensions than the
    layout's own factors, as long as the element count is equal.
    """

    __slots__ = ()

    def place(self, index: Sequence[Poly], shape: Sequence[Poly]) -> dict[str, Poly]:
        """Coordinate on every axis of the element at ``index`` of an array of ``shape``; in elements on ``m``."""
        raise NotImplementedError

    def extents(self) -> tuple[Poly, ...]:
        """The extents of the layout's own factors, outermost first."""
        raise NotImplementedError

    def memory_range(self) -> tuple[Poly, Poly]:
        """Lowest coordinate on ``m`` (inclusive) and one past the highest, over all elements and replicas."""
        raise NotImplementedError

    def axes(self) -> tuple[str, ...]:
        """The axes other than ``m`` that the layout uses, in order of appearance."""
        raise NotImplementedError

    def size(self, axis: str | None = None) -> Poly:
        """Number of logical elements; with ``axis``, the product of the extents placed on it."""
        raise NotImplementedError

    def span(self, axis: str = "m") -> Poly:
        """Number of coordinates from the lowest to the highest used on ``axis``, ends included."""
        raise NotImplementedError

    def is_contiguous(self) -> bool:
        """True for a row-major memory layout without gaps, replicas or hardware axes, at any offset."""
        raise NotImplementedError

    def canonicalize(self) -> Layout:
        """The same map with unit factors dropped and neighbouring factors joined."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        # By name, and only in notebooks: reports stand above this floor.
        from importlib import import_module
        return str(import_module("ptxspec.report.notebook").layout(self))

    def apply(self, *coord: object, shape: Sequence[object] | None = None) -> dict[str, Poly]:
        """Physical coordinates of one element: ``layout.apply(i, j)["m"]``.

        One coordinate is a linear (row-major) index; otherwise one coordinate for each dimension of ``shape``, by
        default the layout's own factors. Raises KernelError K123 for another count.
        """
        index = tuple(to_poly(c, "a coordinate") for c in flatten(coord))
        dims = self.extents() if shape is None else tuple(to_poly(e) for e in flatten(shape))
        if len(index) == 1 and len(dims) != 1:
            dims = (product(dims),)
        if len(index) != len(dims):
            raise fail(KernelError, "K123", f"{len(index)} coordinates for a layout of shape {show_shape(dims)}")
        if product(dims) != self.size():
            raise fail(KernelError, "K123", f"shape {show_shape(dims)} has another number of elements than {self!r}")
        return self.place(index, dims)


def unravel(linear: Poly, shape: Sequence[Poly]) -> list[Poly]:
    """Row-major coordinates of ``linear``; the first one is not reduced, so excess shows there."""
    result: list[Poly] = []
    rest = linear
    for extent in reversed(shape[1:]):
        result.append(ix.floormod(rest, extent))
        rest = ix.floordiv(rest, extent)
    if shape:
        result.append(rest)
    result.reverse()
    return result


def ravel(index: Sequence[Poly], shape: Sequence[Poly]) -> Poly:
    """Row-major linear index."""
    result = ix.ZERO
    for position, extent in zip(index, shape, strict=True):
        result = ix.add(ix.mul(result, extent), position)
    return recombined(result)
