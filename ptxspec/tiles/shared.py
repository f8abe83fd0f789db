"""Tiles in shared memory: tensors that every thread of the block sees, with arithmetic and element assignment.

Reads and writes of single elements bring barriers along as loads and stores of whole tiles do: one before an element
is written and one behind it, where all threads come by, and one before elements are read that may have been written.
Each is tried when the kernel is complete, and left out where nothing races without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptxspec.lang.declare import alloc_shared
from ptxspec.lang.tensor import ElementRef, TensorView
from ptxspec.lang.trace import Tracer
from ptxspec.lang.uniform import varying
from ptxspec.layout import Layout, TileLayout
from ptxspec.scalar import typed
from ptxspec.tiles import move
from ptxspec.tiles.banks import watch
from ptxspec.tiles.barriers import insert
from ptxspec.tiles.ownership import dealt_out
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region

if TYPE_CHECKING:
    from ptxspec.tiles.tile import RegisterTile


@dataclass
class Changes:
    """What all views of one tile know: ``some`` elements may have been assigned since the last barrier; ``written``
    tells the register tile that they show, before any is."""

    some: bool = False
    written: Callable[[], object] | None = None


class SharedTile(TensorView):
    """A tile of ``shape`` in shared memory. ``t[i, j]`` is an element, ``t[i, j] = x`` writes it, ``t * 2`` computes
    element by element and gives a tile in registers."""

    __slots__ = ("_changes", "_tracer")

    #: What kernels may use beyond a tensor's names.
    ptxspec_more = ("astype",)

    def __init__(self, tracer: Tracer, view: TensorView, changes: Changes | None = None) -> None:
        super().__init__(view.ir)
        self._tracer = tracer
        self._changes = changes or Changes()

    @classmethod
    def alloc(cls, tracer: Tracer, shape: tuple[int, ...], dtype: str, layout: Layout | None = None) -> SharedTile:
        """Fresh storage, its bank conflicts looked after; inside a loop, an earlier trip's readers are waited for."""
        tile = cls(tracer, alloc_shared(shape, dtype, align=16, layout=layout))
        watch(tracer, tile.ir.buffer)
        if len(tracer.blocks) > 1:
            insert(tracer, "before the tile is filled again, for readers of an earlier trip")
        return tile

    @classmethod
    def holding(cls, tracer: Tracer, shape: tuple[int, ...], dtype: str, plan: Plan, cells: TensorView) -> SharedTile:
        """Fresh storage with what the threads hold in ``cells``, visible to all of them."""
        tile = cls.alloc(tracer, shape, dtype)
        move.store(tracer, tile.whole(), plan, cells)
        return tile.filled()

    def shows(self, written: Callable[[], object]) -> SharedTile:
        """Itself, a copy of a register tile; ``written`` is called before elements change."""
        self._changes.written = written
        return self

    def filled(self) -> SharedTile:
        """Itself, after a barrier that makes what was written visible to all threads."""
        insert(self._tracer, "after the tile is filled, before other threads read it")
        return self

    def whole(self) -> Region:
        """All of it, as one end of a move."""
        extents = tuple(e for e in self.shape if isinstance(e, int))
        return Region(self._tracer, self, extents, (typed.literal(0, "int32"),) * len(extents), False)

    def seen_as(self, view: TensorView) -> SharedTile:
        """The same elements under other coordinates."""
        return SharedTile(self._tracer, view, self._changes)

    def dense(self) -> SharedTile:
        """The tile where its elements lie one behind the other in row-major order: itself, or a copy."""
        extents = tuple(e for e in self.shape if isinstance(e, int))
        if not self.ir.steps and self.layout == TileLayout.row_major(self.ir.shape):
            return self
        tile = self.registers()
        copy = SharedTile.alloc(self._tracer, extents, self.dtype)
        move.store(self._tracer, copy.whole(), tile.plan, tile.cells())
        return copy.filled()

    # --- single elements

    def __getitem__(self, key: object) -> TensorView | ElementRef:
        self.settled()
        return super().__getitem__(key)

    def settled(self) -> None:
        """A barrier, where elements may have been assigned since the last one and all threads come by."""
        if self._changes.some and together(self._tracer):
            insert(self._tracer, "before elements of the tile are read, for threads that assigned some")
            self._changes.some = False

    def ptxspec_assign(self, key: object, write: Callable[[object], None]) -> None:
        """``t[key] = x``: ``write`` emits the store of one element."""
        self.changing()
        everyone = together(self._tracer)
        if everyone:
            insert(self._tracer, "before an element is assigned, for threads that still read the tile")
        write(super().__getitem__(key))
        if everyone:
            insert(self._tracer, "after an element was assigned, before other threads read it")
        else:
            self._changes.some = True

    def changing(self) -> None:
        """Elements are about to be written: a register tile that is seen here lies here from now on (K242)."""
        if self._changes.written is not None:
            self._changes.written()

    # --- arithmetic

    def registers(self, plan: Plan | None = None) -> RegisterTile:
        """The tile as it is now, in registers."""
        from ptxspec.tiles.tile import RegisterTile
        insert(self._tracer, "before the shared tile is read, for threads that changed elements of it")
        inner = self.whole()
        axis = len(inner.shape) - 1 if self.ir.steps else inner.main_axis()     # views combine with plain tiles
        plan = plan or dealt_out(self._tracer, inner.shape, axis, inner.bytes)
        return RegisterTile(self._tracer, inner.shape, self.dtype, plan, move.load(self._tracer, inner, plan, "tile"))

    def ptxspec_binary(self, name: str, other: object, reflected: bool) -> RegisterTile:
        """``self name other`` element by element, in registers."""
        from ptxspec.tiles.tile import RegisterTile
        plan = other.plan if isinstance(other, RegisterTile) and other.shape == tuple(self.shape) else None
        return self.registers(plan).ptxspec_binary(name, other, reflected)

    def ptxspec_unary(self, name: str) -> RegisterTile:
        """``-self`` element by element, in registers."""
        return self.registers().ptxspec_unary(name)

    def astype(self, dtype: object) -> RegisterTile:
        """The tile with every element converted, in registers."""
        return self.registers().astype(dtype)


def from_shared(value: object, tracer: Tracer) -> object:
    """A tile in shared memory, or a view of one, as it is now in registers; anything else as it is."""
    if not isinstance(value, TensorView) or value.scope() != "shared":
        return value
    return (value if isinstance(value, SharedTile) else SharedTile(tracer, value)).registers()


def together(tracer: Tracer) -> bool:
    """True when no condition around this place can differ between the threads of a block."""
    return varying(tracer.guards, "cta", tracer.linear_thread()) is None
