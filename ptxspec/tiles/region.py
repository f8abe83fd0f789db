"""One end of a tile copy: an array, the offset of the tile in it, and what is known of bounds and alignment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from ptxspec.lang import ir
from ptxspec.lang.affine import affine
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.locate import element_bytes, locate
from ptxspec.lang.shapes import to_typed
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer
from ptxspec.layout import S, TileLayout
from ptxspec.layout.value import Value, exact_div
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, INDEX, Const, Expr, Op, Poly, Var, int_range, is_integer
from ptxspec.tiles.access import WIDEST, widest
from ptxspec.tiles.facts import Known


class Region:
    """``array[offset[0] + i, offset[1] + j, ...]`` for the indices of a tile of ``shape``."""

    def __init__(self, tracer: Tracer, array: TensorView, shape: tuple[int, ...], offset: tuple[Expr, ...],
                 checked: bool) -> None:
        self.tracer = tracer
        self.array = array
        self.shape = shape
        self.offset = offset
        self.checked = checked
        self.known = Known(tracer)
        self.bytes = element_bytes(array.dtype)
        self._widths: dict[int, int] = {}
        self.claimed = False

    def on(self, array: TensorView) -> Region:
        """The same tile of another array of the same shape and layout."""
        return Region(self.tracer, array, self.shape, self.offset, self.checked)

    def without(self, assumption: ir.Assume) -> Region:
        """The region as it would be if ``assumption`` were not made."""
        other = self.on(self.array)
        other.known = Known(self.tracer, assumption)
        return other

    def anew(self) -> Region:
        """The region for code that is written again: nothing that was read before is known."""
        return self

    def claim(self, axis: int) -> None:
        """Take 16-byte accesses along ``axis`` as given: they are emitted, and the prover judges them."""
        self._widths[axis] = max(1, WIDEST // self.bytes)
        self.claimed = True

    # --- where the elements lie

    def element(self, at: Sequence[Expr | int]) -> tuple[Expr, ...]:
        """Array indices of the tile's element ``at``, typed."""
        add = _placed if self._compared else partial(typed.binary, "add")
        return tuple(add(o, c) for o, c in zip(self.offset, at))

    @cached_property
    def _compared(self) -> bool:
        """Indices are compared with bounds, so what all repeats have in common is worth a sum of its own."""
        return not isinstance(self.whole(), Const)

    def byte(self, at: Sequence[Expr | int]) -> Poly:
        """Byte offset of the tile's element ``at`` from the base of the storage."""
        return locate(self.array.ir, [ix.add(ix.index(o), ix.index(c)) for o, c in zip(self.offset, at)]).byte

    def unit_axis(self) -> int | None:
        """The axis along which elements are neighbours in memory; None where there is none."""
        zero = [0] * len(self.shape)
        for axis in reversed(range(len(self.shape))):
            if self.shape[axis] == 1:
                continue
            at: list[Expr | int] = list(zero)
            at[axis] = Var("c", INDEX, "word", 0, self.shape[axis] - 2)
            following = list(at)
            following[axis] = ix.add(at[axis], 1)
            if ix.sub(self.byte(following), self.byte(at)) == ix.constant(self.bytes):
                return axis
        return None

    def main_axis(self) -> int:
        """The axis along which neighbours go together: the unit axis, or the last one."""
        axis = self.unit_axis()
        return len(self.shape) - 1 if axis is None else axis

    def natural(self, axis: int) -> int:
        """Neighbours along ``axis`` that go together where arrays allow it: up to 16 bytes, by the tile's shape."""
        return natural(self.shape[axis], self.bytes)

    def words(self, axis: int) -> int:
        """How many neighbouring elements along ``axis`` one access can move: the widest that is surely aligned."""
        if axis not in self._widths:
            self._widths[axis] = self._words(axis)
        return self._widths[axis]

    def _words(self, axis: int) -> int:
        if self.unit_axis() != axis:
            return 1
        words = widest(self.array) // self.bytes
        while words > 1:
            if self.shape[axis] % words == 0 and self.aligned(axis, words):
                return words
            words //= 2
        return 1

    def aligned(self, axis: int, words: int) -> bool:
        """True when every group of ``words`` elements along ``axis`` surely starts at a multiple of its size."""
        size = words * self.bytes
        if self.array.data_alignment % size:
            return False
        at: list[Expr | int] = []
        for k, extent in enumerate(self.shape):
            groups = extent // words if k == axis else extent
            var: Expr | int = Var(f"c{k}", INDEX, "word", 0, groups - 1) if groups > 1 else 0
            at.append(ix.scale(var, words) if k == axis else var)
        return self.known.multiple(self.byte(at), size) or self._by_axes(axis, words, size)

    def _by_axes(self, axis: int, words: int, size: int) -> bool:
        """As :meth:`aligned`, from pitches that only a launch knows, each a multiple of ``size``."""
        if self.unit_axis() != axis:
            return False
        zero = [ix.ZERO] * len(self.shape)
        base = self.located(zero)
        for k in range(len(self.shape)):
            at = list(zero)
            at[k] = ix.constant(1)
            pitch = ix.sub(self.located(at), base)
            if k == axis:
                if not self.known.multiple(ix.index(self.offset[k]), words):
                    return False
            elif not self.known.multiple(pitch, size):
                return False
        return self.known.multiple(base, size)

    def located(self, at: list[Poly]) -> Poly:
        """Byte offset of the array's element ``at`` from the base of the storage."""
        return locate(self.array.ir, at).byte

    @cached_property
    def strides(self) -> tuple[Poly, tuple[Poly, ...]] | None:
        """Place of the array's first element and its strides, in elements; None where it has none, or parts of them."""
        at: list[Poly] = [ix.index(Var(f"c{k}", INDEX, "word", 0, None)) for k in range(len(self.shape))]
        zero = [ix.ZERO] * len(at)
        base = self.located(zero)
        steps = []
        for k in range(len(at)):
            one = list(zero)
            one[k] = ix.ONE
            steps.append(ix.sub(self.located(one), base))
        if self.located(at) != ix.add(base, *(ix.mul(c, s) for c, s in zip(at, steps, strict=True))):
            return None
        whole = [exact_div(p, ix.constant(self.bytes)) for p in (base, *steps)]
        found = [p for p in whole if p is not None]
        return (found[0], tuple(found[1:])) if len(found) == len(whole) else None

    def merged(self) -> Region | None:
        """The same elements with the last two axes as one, where the tile takes the last axis whole."""
        *outer, before, last = range(len(self.shape)) if len(self.shape) > 1 else (0, 0)
        whole = self.array.ir.shape[last]
        first = self.offset[last]
        if len(self.shape) < 2 or not whole.is_const or whole.const != self.shape[last] or self.claimed \
                or not (isinstance(first, Const) and first.value == 0):
            return None
        shape = (*(self.shape[k] for k in outer), self.shape[before] * whole.const)
        extents = (*(self.array.shape[k] for k in outer),
                   to_typed(ix.mul(self.array.ir.shape[before], whole))
                   if not self.array.ir.shape[before].is_const else self.array.ir.shape[before].const * whole.const)
        offset = self.offset[before]
        low, high = ix.bounds(ix.index(offset))
        if low is None or high is None or max(abs(low), abs(high)) * whole.const > 1 << 30:
            offset = typed.cast(offset, "int64")
        start = (*(self.offset[k] for k in outer), typed.binary("mul", offset, whole.const))
        result = Region(self.tracer, self._laid_out(extents), shape, start, self.checked)
        return result if result.unit_axis() == len(shape) - 1 else None

    def _laid_out(self, extents: tuple[int | Expr, ...]) -> TensorView:
        """The array with its last two axes merged: by plain strides where it has them, which keeps proofs simple."""
        view = self.array.ir
        plain = affine(view) if all(isinstance(s, ir.Relayout) for s in view.steps) else None
        if plain is None or plain.base != ix.ZERO or any(s % self.bytes for s in plain.strides) \
                or plain.strides[-2] != view.shape[-1].const * plain.strides[-1]:
            return self.array.view(*extents)
        strides = [s // self.bytes for s in plain.strides]
        return self.array.view(*extents, layout=TileLayout(S[tuple(extents):(*strides[:-2], strides[-1])]))

    # --- what lies inside

    @property
    def empty(self) -> bool:
        """True when the array surely has no element."""
        return any(e.is_const and e.const == 0 for e in self.array.ir.shape)

    def extent(self, axis: int) -> Expr:
        """The array's extent along ``axis``, typed."""
        extent = self.array.ir.shape[axis]
        return typed.literal(extent.const, "int32" if extent.const < 1 << 31 else "int64") if extent.is_const \
            else to_typed(extent)

    def inside(self, axis: int, first: Expr, count: int) -> Expr:
        """``0 <= first`` and ``first + count <= extent``, without what is surely true."""
        extent = self.array.ir.shape[axis]
        if self.known.at_most(ix.add(ix.index(first), count), 0) or \
                self.known.at_most(ix.add(extent, 1), ix.add(ix.index(first), count)) or \
                self.known.at_most(ix.add(extent, 1), count):
            return Const(False, BOOL)
        parts: list[Expr] = []
        if not self.known.at_most(0, ix.index(first)):
            parts.append(typed.compare("ge", first, 0))
        if not self.known.at_most(ix.add(ix.index(first), count), extent):
            room = typed.binary("sub", typed.cast(self.extent(axis), first.dtype), count)
            parts.append(typed.compare("le", first, room))
        result: Expr = Const(True, BOOL)
        for part in parts:
            result = typed.logical("land", result, part)
        return result

    def whole(self) -> Expr:
        """The condition that all of the tile lies in the array; constant true when that is sure or claimed."""
        result: Expr = Const(True, BOOL)
        if self.checked:
            for axis, extent in enumerate(self.shape):
                result = typed.logical("land", result, self.inside(axis, self.offset[axis], extent))
        return result

    @property
    def never_whole(self) -> bool:
        """True when no tile is known to lie inside as a whole."""
        inside = self.whole()
        return isinstance(inside, Const) and not inside.value

    def split_free(self, axis: int, words: int) -> bool:
        """True when a group of ``words`` along ``axis`` is surely inside or outside as a whole."""
        return self.known.multiple(ix.index(self.offset[axis]), words) and \
            self.known.multiple(self.array.ir.shape[axis], words)


def _placed(offset: Expr, at: Expr | int) -> Expr:
    """``offset + at``; what repeats add comes last, so that the sum before it is the same for all of them."""
    if isinstance(at, Op) and at.name == "add":
        return typed.binary("add", _placed(offset, at.args[0]), at.args[1])
    return typed.binary("add", offset, at)


def natural(extent: int, size: int) -> int:
    """Neighbours among ``extent`` elements of ``size`` bytes that go together: up to 16 bytes."""
    words = max(1, WIDEST // size)
    while extent % words:
        words //= 2
    return words


def make_offset(value: object, rank: int, what: str, tracer: Tracer) -> tuple[Expr, ...]:
    """The offset of a tile, typed; 64 bits wide where 32 may not hold offset and coordinate together."""
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(items) != rank:
        refuse("K231", f"{what} has {len(items)} offsets for an array of {rank} dimensions", tracer.place())
    result: list[Expr] = []
    for item in items:
        if isinstance(item, Value):
            item = item.expr
        if isinstance(item, Poly):
            item = item.const if item.is_const else to_typed(item)
        if isinstance(item, int) and not isinstance(item, bool):
            item = typed.literal(item, typed.default_dtype(item))
        if not isinstance(item, Expr) or not is_integer(item.dtype):
            refuse("K231", f"an offset is an integer, not {said(item)}", tracer.place())
        low, high = ix.bounds(ix.index(item))
        least, most = int_range(item.dtype)
        low, high = max(least, low if low is not None else least), min(most, high if high is not None else most)
        narrow = low >= -(1 << 30) and high <= 1 << 30
        result.append(typed.cast(item, "int32" if narrow and not item.dtype.endswith("64") else "int64"))
    return tuple(result)
