"""Tiles whose rows (or columns, ...) are picked by a list of indices: gather, scatter, and atomic scatter."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.lang import ir
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.locate import locate
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer, current, intrinsic
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, INDEX, Const, Expr, Poly, Var, int_range, is_float
from ptxspec.tiles import move, tape
from ptxspec.tiles.access import atomic
from ptxspec.tiles.calls import array_of, extents_of, spread
from ptxspec.tiles.computed import ComputedTile
from ptxspec.tiles.ownership import dealt_out
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region, make_offset
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tile import RegisterTile

Indices = RegisterTile | TensorView | ComputedTile


class Picked(Region):
    """``array[..., offset[axis] + indices[i], ...]``: along one axis the place is read from memory, or computed."""

    def __init__(self, tracer: Tracer, array: TensorView, shape: tuple[int, ...], offset: tuple[Expr, ...],
                 indices: TensorView | ComputedTile, along: int) -> None:
        super().__init__(tracer, array, shape, offset, True)
        self.indices = indices
        self.along = along
        self._anywhere = Var("picked", INDEX, "word", None, None)
        self._read: dict[Expr | int, Expr] = {}

    def on(self, array: TensorView) -> Picked:
        """The same tile of another array of the same shape and layout."""
        return Picked(self.tracer, array, self.shape, self.offset, self.indices, self.along)

    def anew(self) -> Picked:
        """As it was made: indices are read again."""
        return self.on(self.array)

    def element(self, at: Sequence[Expr | int]) -> tuple[Expr, ...]:
        """Array indices of the tile's element ``at``; one from memory is read where this is first asked for."""
        found = list(super().element(at))
        found[self.along] = self._pick(at[self.along])
        return tuple(found)

    def _pick(self, at: Expr | int) -> Expr:
        if at not in self._read:
            value = self._index(at if isinstance(at, Expr) else typed.literal(at, "int32"))
            base = self.offset[self.along]
            zero = isinstance(base, Const) and base.value == 0
            self._read[at] = value if zero else typed.binary("add", typed.cast(base, "int64"),
                                                             typed.cast(value, "int64"))
        return self._read[at]

    def _index(self, at: Expr) -> Expr:
        if isinstance(self.indices, ComputedTile):
            return self.indices.formula(at)
        span = self.tracer.place()
        low, high = int_range(self.indices.dtype)
        value = Var("picked", self.indices.dtype, "value", low, high, span)
        self.tracer.emit(ir.Load(value, self.indices.ir, (at,), span))
        return value

    def byte(self, at: Sequence[Expr | int]) -> Poly:
        """The byte offset, the picked place being anywhere."""
        places: list[Expr | int] = [ix.add(ix.index(o), ix.index(c)) for o, c in zip(self.offset, at)]
        places[self.along] = self._anywhere
        return locate(self.array.ir, places).byte

    def merged(self) -> None:
        """Axes stay apart: one of them is picked."""

    def whole(self) -> Expr:
        """Never known: an index may be anything."""
        return Const(False, BOOL)


def tile_load_indexed(a: TensorView, indices: Indices, shape: int | tuple[int, ...],
                      offset: object = None, axis: int = 0, storage: str = "register") -> RegisterTile | TensorView:
    """The tile whose element i along ``axis`` comes from ``a`` at ``offset[axis] + indices[i]``.

    ``indices`` is a 1-D integer tile (or shared tensor, or ``T.tile_arange``) of ``shape[axis]`` elements. Elements
    outside the array read as zero, so an index of -1 stands for "nothing". Whole vectors are used where the unit-stride
    axis is another one and alignment is proved. Codes K230 to K236.
    """
    tracer = current("T.tile_load_indexed")
    array, extents = array_of(a, "tile_load_indexed", tracer), extents_of(shape, tracer)
    region = _picked(tracer, array, extents, offset, indices, axis, "tile_load_indexed")
    if storage not in ("register", "shared"):
        refuse("K232", f"storage is \"register\" or \"shared\", not {said(storage)}", tracer.place())
    main = region.main_axis()
    plan = dealt_out(tracer, extents, main, region.bytes)
    if isinstance(tracer, tape.Taping) and is_float(array.dtype):
        return tape.load(tracer, region, plan, extents)  # type: ignore[return-value]
    cells = move.load(tracer, region, plan, "tile")
    if storage == "register":
        return RegisterTile(tracer, extents, array.dtype, plan, cells)
    return SharedTile.holding(tracer, extents, array.dtype, plan, cells)


def tile_store_indexed(a: TensorView, indices: Indices, t: RegisterTile | TensorView,
                       offset: object = None, axis: int = 0) -> None:
    """Write element i along ``axis`` of tile ``t`` to ``a`` at ``offset[axis] + indices[i]``; outside is skipped.

    Two equal indices would be two threads writing one element. Indices that are computed (``T.tile_arange(n) * 2``) are
    known to differ where they do; of indices from memory nothing is known, so the race obligation is refuted (P107)
    unless all elements of one place belong to one thread. Weakest sufficient: no two of the indices are equal.
    """
    tracer = current("T.tile_store_indexed")
    if isinstance(t, tape.TapedTile):
        _taped(t, a, indices, offset, axis, "tile_store_indexed", clears=True)
        return
    region, plan, cells = _scatter(tracer, a, indices, t, offset, axis, "tile_store_indexed")
    if isinstance(region.indices, TensorView):
        name = region.array.ir.buffer.name
        said = (f"tile_store_indexed writes `{name}` at indices from memory, which may be equal: the least that would "
                f"do is that no two of the {plan.shape[axis]} are equal, or that one thread writes all elements of a "
                "place; those of T.tile_arange are known to differ, and T.tile_atomic_add_indexed adds equal ones up")
        tracer.advice.append(("P107", str(tracer.place()), said))
        tracer.notes.append(f"{tracer.place()}: {said}")
    move.store(tracer, region, plan, cells)


def tile_atomic_add_indexed(a: TensorView, indices: Indices, t: RegisterTile | TensorView,
                            offset: object = None, axis: int = 0, vectors: bool = True) -> RegisterTile:
    """Add element i along ``axis`` of tile ``t`` atomically to ``a`` at ``offset[axis] + indices[i]``.

    Outside is skipped; equal indices add up. The result is the tile of what was there before, as in
    :func:`tile_atomic_add`. Codes K230 to K236.
    """
    tracer = current("T.tile_atomic_add_indexed")
    atomic(array_of(a, "tile_atomic_add_indexed", tracer), "tile_atomic_add_indexed", tracer)
    if isinstance(t, tape.TapedTile):
        _taped(t, a, indices, offset, axis, "tile_atomic_add_indexed", clears=False)
        return tape.TapedTile(t.tracer, t.shape, t.dtype, t.plan)
    region, plan, cells = _scatter(tracer, a, indices, t, offset, axis, "tile_atomic_add_indexed")
    return RegisterTile.old_values(tracer, region, plan, cells, vectors)


def _scatter(tracer: Tracer, a: object, indices: Indices, t: object, offset: object, axis: int,
             what: str) -> tuple[Picked, Plan, TensorView]:
    array = array_of(a, what, tracer)
    t = t.registers() if isinstance(t, ComputedTile) else t
    if not isinstance(t, RegisterTile) and not (isinstance(t, TensorView) and t.scope() == "shared"):
        refuse("K230", f"{what} writes a tile, not {said(t)}", tracer.place())
    if t.dtype != array.dtype:
        refuse("K233", f"a tile of {t.dtype} for an array of {array.dtype}", tracer.place(),
               help=f"convert it: t.astype(T.{array.dtype})")
    plan, cells = spread(t, tracer)
    return _picked(tracer, array, plan.shape, offset, indices, axis, what), plan, cells


def _taped(t: tape.TapedTile, a: object, indices: Indices, offset: object, axis: int, what: str, *,
           clears: bool) -> None:
    array = array_of(a, what, t.tracer)
    tape.store(t.tracer, _picked(t.tracer, array, t.shape, offset, indices, axis, what), t, clears=clears)


def _picked(tracer: Tracer, array: TensorView, extents: tuple[int, ...], offset: object,
            indices: Indices, axis: int, what: str) -> Picked:
    rank = len(extents)
    if rank != len(array.ir.shape):
        refuse("K231", f"a tile of {rank} dimensions of an array of {len(array.ir.shape)}", tracer.place(),
               help="give one extent for each axis of the array")
    if isinstance(axis, bool) or not isinstance(axis, int) or not 0 <= axis < rank:
        refuse("K236", f"axis is one of 0 to {rank - 1}, not {said(axis)}", tracer.place())
    if not isinstance(indices, (RegisterTile, TensorView, ComputedTile)) or indices.dtype not in ("int32", "int64"):
        refuse("K236", f"indices are a 1-D tile of int32, not {said(indices)}", tracer.place())
    if tuple(indices.shape) != (extents[axis],):
        refuse("K236", f"{list(indices.shape)} indices for {extents[axis]} elements along axis {axis}", tracer.place())
    offsets = make_offset(offset if offset is not None else (0,) * rank, rank, what, tracer)
    return Picked(tracer, array, extents, offsets, _seen_by_all(indices), axis)


def _seen_by_all(indices: Indices) -> TensorView | ComputedTile:
    """The indices where every thread can read them."""
    if isinstance(indices, (TensorView, ComputedTile)):
        return indices
    return indices.seen_by_all()


intrinsic(tile_load_indexed)
intrinsic(tile_store_indexed)
intrinsic(tile_atomic_add_indexed)
