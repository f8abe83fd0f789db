"""Affine layouts: factors with strides on memory and hardware axes, an offset and replicas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ptxspec.diagnostics import KernelError, Note, fail
from ptxspec.layout.base import Layout, ravel, unravel
from ptxspec.layout.spec import Iter, Spec, flatten, merge, row_major
from ptxspec.layout.value import Like, exact_div, product, show_shape, to_poly
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly, show


class TileLayout(Layout):
    """``TileLayout(S[(8, 4) : (4, 1)] + 3)``: every factor adds index times stride on its axis.

    ``shard`` holds the factors of distinct elements, ``replica`` those of copies, ``offset`` the origin on each axis.
    Strides may be zero, negative, interleaved or symbolic. Immutable; equal when all three parts are equal.
    """

    __slots__ = ("_groups", "_hash", "offset", "replica", "shard")

    shard: tuple[Iter, ...]
    replica: tuple[Iter, ...]
    offset: tuple[tuple[str, Poly], ...]

    def __init__(self, spec: Spec | TileLayout) -> None:
        if not isinstance(spec, (Spec, TileLayout)):
            raise fail(KernelError, "K122", f"TileLayout is made from S[...], not from {type(spec).__name__}",
                       notes=[Note("help", "write TileLayout(S[(8, 4) : (4, 1)])")])
        self.shard = spec.shard
        self.replica = spec.replica
        self.offset = merge(spec.offset, ())
        self._groups: dict[tuple[Poly, ...], tuple[tuple[Iter, ...], ...] | None] = {}
        self._hash = hash((self.shard, self.replica, self.offset))

    @staticmethod
    def from_iters(shard: Iterable[Iter], replica: Iterable[Iter] = (),
                   offset: Mapping[str, Like] | None = None) -> TileLayout:
        """A layout from ready-made factors."""
        placed = tuple((axis, to_poly(amount, "an offset")) for axis, amount in (offset or {}).items())
        return TileLayout(Spec(tuple(shard), tuple(replica), placed))

    @staticmethod
    def row_major(shape: Sequence[Poly]) -> TileLayout:
        """The dense C-order layout of ``shape``."""
        extents = tuple(shape)
        return TileLayout(Spec(tuple(Iter(e, s) for e, s in zip(extents, row_major(extents), strict=True))))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, TileLayout) and (self.shard, self.replica, self.offset)
                                 == (other.shard, other.replica, other.offset))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"TileLayout({describe(self.shard, self.replica, self.offset)})"

    # --- queries

    def extents(self) -> tuple[Poly, ...]:
        return tuple(i.extent for i in self.shard)

    def axes(self) -> tuple[str, ...]:
        names = [i.axis for i in self.shard + self.replica] + [axis for axis, _ in self.offset]
        return tuple(dict.fromkeys(n for n in names if n != "m"))

    def size(self, axis: str | None = None) -> Poly:
        return product([i.extent for i in self.shard if axis is None or i.axis == axis])

    def range_on(self, axis: str) -> tuple[Poly, Poly]:
        """Lowest and one past the highest coordinate on ``axis``; an array without elements has an empty range."""
        low = high = dict(self.offset).get(axis, ix.ZERO)
        for factor in self.shard + self.replica:
            if factor.axis != axis:
                continue
            reach = ix.mul(ix.sub(factor.extent, 1), factor.stride)
            least, most = ix.bounds(factor.stride)
            if least is not None and least >= 0:
                high = ix.add(high, reach)
            elif most is not None and most <= 0:
                low = ix.add(low, reach)
            else:
                low, high = ix.add(low, ix.binary("min", reach, 0)), ix.add(high, ix.binary("max", reach, 0))
        return low, ix.add(high, 1)

    def memory_range(self) -> tuple[Poly, Poly]:
        return self.range_on("m")

    def span(self, axis: str = "m") -> Poly:
        low, high = self.range_on(axis)
        return ix.sub(high, low)

    def is_contiguous(self) -> bool:
        if self.replica or self.axes():
            return False
        factors = self.canonicalize().shard
        return not factors or (len(factors) == 1 and factors[0].stride == ix.ONE)

    # --- the map

    def place(self, index: Sequence[Poly], shape: Sequence[Poly]) -> dict[str, Poly]:
        result: dict[str, Poly] = {"m": ix.ZERO} | dict(self.offset)
        for factor, position in self._positions(tuple(index), tuple(shape)):
            result[factor.axis] = ix.add(result.get(factor.axis, ix.ZERO), ix.mul(position, factor.stride))
        return result

    def _positions(self, index: tuple[Poly, ...], shape: tuple[Poly, ...]) -> list[tuple[Iter, Poly]]:
        if shape == self.extents():
            return list(zip(self.shard, index, strict=True))
        groups = self.groups(shape)
        if groups is None:
            return list(zip(self.shard, unravel(ravel(index, shape), self.extents()), strict=True))
        result: list[tuple[Iter, Poly]] = []
        for position, factors in zip(index, groups, strict=True):
            result.extend(zip(factors, unravel(position, [f.extent for f in factors]), strict=True))
        return result

    def groups(self, shape: Sequence[Poly]) -> tuple[tuple[Iter, ...], ...] | None:
        """The factors of each dimension of ``shape``, splitting factors where needed; None where they do not nest."""
        key = tuple(shape)
        if key not in self._groups:
            self._groups[key] = _group(self.shard, key)
        return self._groups[key]

    # --- new layouts

    def group(self, shape: Sequence[Like]) -> tuple[TileLayout, list[int]]:
        """The layout with factors split so that each dimension of ``shape`` has its own run, and the runs' ends.

        Raises KernelError K125 where a dimension's border falls inside a factor that it does not divide.
        """
        dims = tuple(to_poly(e) for e in flatten(tuple(shape)))
        groups = self.groups(dims)
        if groups is None:
            raise fail(KernelError, "K125", f"{self!r} cannot be grouped by {show_shape(dims)}")
        ends = [0]
        for factors in groups:
            ends.append(ends[-1] + len(factors))
        return TileLayout(Spec(tuple(f for factors in groups for f in factors), self.replica, self.offset)), ends

    def canonicalize(self) -> TileLayout:
        copies = tuple(r for r in self.replica if r.extent != ix.ONE)
        return TileLayout(Spec(joined(self.shard), copies, self.offset))

    def permute_dims(self, order: Sequence[int], shape: Sequence[Like] | None = None) -> TileLayout:
        """New dimension ``k`` is old dimension ``order[k]``; dimensions are those of ``shape`` or the factors."""
        dims = self.extents() if shape is None else tuple(to_poly(e) for e in flatten(tuple(shape)))
        if sorted(order) != list(range(len(dims))):
            raise fail(KernelError, "K123", f"{tuple(order)} is not an order of {len(dims)} dimensions")
        grouped, ends = self.group(dims)
        factors = [f for k in order for f in grouped.shard[ends[k]:ends[k + 1]]]
        return TileLayout(Spec(tuple(factors), self.replica, self.offset))

    def tile(self, outer: TileLayout, outer_shape: Sequence[Like], inner_shape: Sequence[Like]) -> TileLayout:
        """This layout repeated by ``outer``: dimension ``d`` becomes ``outer_shape[d] * inner_shape[d]``.

        The outer strides count whole copies: on each axis they are scaled by this layout's span there.
        """
        above, above_ends = outer.group(outer_shape)
        below, below_ends = self.group(inner_shape)
        if len(above_ends) != len(below_ends):
            raise fail(KernelError, "K123", "outer and inner shape of a tiled layout must have one rank")
        factors: list[Iter] = []
        for d in range(len(above_ends) - 1):
            factors += [Iter(f.extent, ix.mul(f.stride, self.span(f.axis)), f.axis)
                        for f in above.shard[above_ends[d]:above_ends[d + 1]]]
            factors += below.shard[below_ends[d]:below_ends[d + 1]]
        moved = tuple((axis, ix.mul(amount, self.span(axis))) for axis, amount in outer.offset)
        copies = tuple(Iter(r.extent, ix.mul(r.stride, self.span(r.axis)), r.axis) for r in outer.replica)
        return TileLayout(Spec(tuple(factors), copies + self.replica, merge(moved, self.offset)))

    def pack(self, count: int) -> TileLayout:
        """The layout of elements ``count`` times as large; ``count`` divides a last factor of unit stride."""
        if count == 1:
            return self
        scaled: list[Iter] = []
        for k, factor in enumerate(self.shard):
            last = k == len(self.shard) - 1
            extent = exact_div(factor.extent, ix.constant(count)) if last else factor.extent
            stride = factor.stride if last or factor.axis != "m" else exact_div(factor.stride, ix.constant(count))
            if extent is None or stride is None or (last and (factor.axis != "m" or factor.stride != ix.ONE)):
                raise fail(KernelError, "K126", f"{self!r} cannot be packed by {count}: every group of {count} "
                                                "elements must be consecutive and start at a multiple of it")
            scaled.append(Iter(extent, stride, factor.axis))

        def divided(amount: Poly, axis: str) -> Poly | None:
            return amount if axis != "m" else exact_div(amount, ix.constant(count))

        copies = tuple(Iter(r.extent, stride, r.axis) for r in self.replica
                       if (stride := divided(r.stride, r.axis)) is not None)
        kept = tuple((axis, less) for axis, amount in self.offset if (less := divided(amount, axis)) is not None)
        if not self.shard or len(copies) != len(self.replica) or len(kept) != len(self.offset):
            raise fail(KernelError, "K126", f"{self!r} cannot be packed by {count}")
        return TileLayout(Spec(tuple(scaled), copies, kept))

    def unpack(self, count: int) -> TileLayout:
        """The layout of elements ``count`` times as small; the last dimension grows by ``count``."""
        if count == 1:
            return self

        def grown(i: Iter) -> Iter:
            return Iter(i.extent, ix.scale(i.stride, count), i.axis) if i.axis == "m" else i

        factors = [grown(f) for f in self.shard] + [Iter(ix.constant(count), ix.ONE)]
        if len(factors) > 1 and factors[-2].axis == "m" and factors[-2].stride == ix.constant(count):
            factors[-2:] = [Iter(ix.scale(factors[-2].extent, count), ix.ONE)]
        offset = tuple((axis, ix.scale(amount, count) if axis == "m" else amount) for axis, amount in self.offset)
        return TileLayout(Spec(tuple(factors), tuple(grown(r) for r in self.replica), offset))


def joined(factors: Iterable[Iter]) -> tuple[Iter, ...]:
    """``factors`` without unit ones, neighbours joined where the outer one continues the inner one."""
    kept: list[Iter] = []
    for factor in factors:
        if factor.extent == ix.ONE:
            continue
        if kept and kept[-1].axis == factor.axis and kept[-1].stride == ix.mul(factor.extent, factor.stride):
            kept[-1] = Iter(ix.mul(kept[-1].extent, factor.extent), factor.stride, factor.axis)
        else:
            kept.append(factor)
    return tuple(kept)


def _group(factors: tuple[Iter, ...], shape: tuple[Poly, ...]) -> tuple[tuple[Iter, ...], ...] | None:
    """Factors of each dimension, taken from the innermost outwards."""
    remaining = [f for f in factors if f.extent != ix.ONE]
    result: list[tuple[Iter, ...]] = []
    for extent in reversed(shape):
        need = extent
        taken: list[Iter] = []
        while need != ix.ONE:
            if not remaining:
                return None
            factor = remaining.pop()
            whole = exact_div(need, factor.extent)
            if whole is not None:
                taken.append(factor)
                need = whole
                continue
            outer = exact_div(factor.extent, need)
            if outer is None:
                return None
            taken.append(Iter(need, factor.stride, factor.axis))
            remaining.append(Iter(outer, ix.mul(factor.stride, need), factor.axis))
            need = ix.ONE
        result.append(joined(reversed(taken)) or (Iter(ix.ONE, ix.ZERO),))
    return None if remaining else tuple(reversed(result))


def describe(shard: Sequence[Iter], replica: Sequence[Iter], offset: Sequence[tuple[str, Poly]]) -> str:
    """The parts in the notation a user would write."""
    from ptxspec.layout.axis import OnAxis

    def bracket(name: str, factors: Sequence[Iter]) -> str:
        strides = ", ".join(repr(OnAxis(f.stride, f.axis)) for f in factors)
        comma = "," if len(factors) == 1 else ""
        return f"{name}[{show_shape([f.extent for f in factors])} : ({strides}{comma})]"

    parts = [bracket("S", shard)]
    if replica:
        parts.append(bracket("R", replica))
    parts += [show(amount) if axis == "m" else f"{show(amount, 11)} @ {axis}" for axis, amount in offset]
    return " + ".join(parts)
