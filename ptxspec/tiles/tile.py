"""Tiles as the kernel's author handles them: register tiles with arithmetic, and the calls that load and store them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ptxspec.lang import ir
from ptxspec.lang.declare import alloc_shared
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer, current, intrinsic
from ptxspec.layout import TileLayout
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr, Var, int_range, is_integer
from ptxspec.tiles import move
from ptxspec.tiles.build import loop, registers
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region, make_offset

MAX_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class Fused:
    """A load and a store that were emitted as one copy: the statements ``block[start:end]``."""

    block: list[ir.Statement]
    start: int
    end: int
    source: Region
    target: Region

    @contextmanager
    def reopened(self, tracer: Tracer) -> Iterator[None]:
        """Take the copy out again; what is emitted meanwhile goes into its place."""
        following = self.block[self.end:]
        del self.block[self.start:]
        saved = tracer.blocks
        tracer.blocks = saved[: next(k for k, b in enumerate(saved) if b is self.block) + 1]
        try:
            yield
        finally:
            tracer.blocks = saved
        self.block.extend(following)


class RegisterTile:
    """A tile spread over the registers of a CTA. ``t * 2 + u`` computes element by element on tiles of one layout."""

    __slots__ = ("_cells", "_fused", "_load", "_tracer", "dtype", "plan", "shape")

    ptxspec_intrinsic = True

    def __init__(self, tracer: Tracer, shape: tuple[int, ...], dtype: str, plan: Plan,
                 cells: TensorView | None, load: Region | None = None) -> None:
        self._tracer = tracer
        self.shape = shape
        self.dtype = dtype
        self.plan = plan
        self._cells = cells
        self._load = load
        self._fused: Fused | None = None

    @property
    def layout(self) -> TileLayout:
        """Which thread holds which element, in groups: see :class:`ptxspec.tiles.plan.Plan`."""
        return self.plan.layout()

    @property
    def width(self) -> int:
        """Elements that one thread holds side by side."""
        return self.plan.words

    def __repr__(self) -> str:
        return f"tile of {self.dtype} {list(self.shape)}, {self.plan.words} neighbours a thread"

    def cells(self) -> TensorView:
        """The registers. A load that was put off happens now; one that became part of a copy is taken apart again."""
        if self._fused is not None:
            fused, self._fused = self._fused, None
            with fused.reopened(self._tracer):
                self._cells = move.load(self._tracer, fused.source, self.plan, "tile")
                move.store(self._tracer, fused.target, self.plan, self._cells)
        if self._cells is None:
            assert self._load is not None
            self._tracer.take_back(self)
            region, self._load = self._load, None
            self._cells = move.load(self._tracer, region, self.plan, "tile")
        return self._cells

    def copy_to(self, target: Region) -> bool:
        """Load and store in one, when the load is still waiting; False when it has happened."""
        if self._load is None or ((self._load.claimed or target.claimed) and not self._same_width(target)):
            return False
        if not self._tracer.take_back(self):
            return False
        source, self._load = self._load, None
        block = self._tracer.blocks[-1]
        start = len(block)
        move.copy(self._tracer, source, target, self._tracer.threads)
        self._fused = Fused(block, start, len(block), source, target)
        return True

    def _same_width(self, target: Region) -> bool:
        """A claimed width must show in the code, so it is not narrowed to the other end's."""
        assert self._load is not None
        return self._load.words(self.plan.axis) == target.words(self.plan.axis)

    def ptxspec_binary(self, name: str, other: object, reflected: bool) -> RegisterTile:
        """``self name other`` element by element; the other side is a tile of the same layout or a scalar."""
        span = self._tracer.place()
        if isinstance(other, RegisterTile) and (other.shape != self.shape or other.plan != self.plan):
            refuse("K234", f"tiles of {list(self.shape)} and {list(other.shape)} elements are laid out differently and "
                           "do not combine element by element", span, help="give both loads the same shape and alignment")
        if not isinstance(other, (RegisterTile, Expr, int, float)):
            refuse("K234", f"a tile combines with a tile or a number, not {said(other)}", span)
        mine = self.cells()
        theirs = other.cells() if isinstance(other, RegisterTile) else other

        def value(at: tuple[Expr, Expr]) -> Expr:
            a: Expr = self._read(mine, at)
            b = self._read(theirs, at) if isinstance(theirs, TensorView) else theirs
            assert isinstance(b, (Expr, int, float))
            return typed.binary(name, b, a, span) if reflected else typed.binary(name, a, b, span)

        return self._made(value)

    def ptxspec_unary(self, name: str) -> RegisterTile:
        """``-self`` element by element."""
        mine = self.cells()
        return self._made(lambda at: typed.unary(name, self._read(mine, at), self._tracer.place()))

    def astype(self, dtype: object) -> RegisterTile:
        """The tile with every element converted."""
        from ptxspec.lang.types import dtype_name
        to, mine = dtype_name(dtype), self.cells()
        return self._made(lambda at: typed.cast(self._read(mine, at), to, self._tracer.place()))

    def _made(self, value: Callable[[tuple[Expr, Expr]], Expr]) -> RegisterTile:
        tracer, plan = self._tracer, self.plan
        made: TensorView | None = None
        with loop(tracer, plan.repeats, "repeat", unroll=True) as repeat, \
                loop(tracer, plan.words, "word", unroll=True) as word:
            result = value((repeat, word))
            made = registers(tracer, (plan.repeats, plan.words), result.dtype, "tile")
            tracer.emit(ir.Store(made.ir, (repeat, word), result, tracer.place()))
        return RegisterTile(tracer, self.shape, made.dtype, plan, made)

    def _read(self, cells: TensorView, at: tuple[Expr, Expr]) -> Var:
        dtype, span = cells.dtype, self._tracer.place()
        low, high = int_range(dtype) if is_integer(dtype) else (None, None)
        result = Var("element", dtype, "value", low, high, span)
        self._tracer.emit(ir.Load(result, cells.ir, at, span))
        return result


def tile_load(a: TensorView, shape: int | tuple[int, ...], offset: object = None, storage: str = "register",
              bounds_check: bool = True, aligned: bool = False) -> RegisterTile | TensorView:
    """The tile ``a[offset[0] + i, offset[1] + j, ...]`` for i, j, ... below ``shape``; every thread takes part.

    Elements outside the array, at either end of any axis, read as zero. ``bounds_check=False`` claims that there are
    none, ``aligned=True`` that 16-byte accesses are possible throughout; both claims are proved, or the kernel is
    refused. ``storage="register"`` spreads the tile over the threads' registers; ``"shared"`` puts it where every
    thread sees all of it, as a tensor ``t[i, j]``. Codes K230 to K233.
    """
    tracer = current("T.tile_load")
    array, extents = _array(a, "tile_load", tracer), _extents(shape, tracer)
    if len(extents) != len(array.ir.shape):
        refuse("K231", f"a tile of {len(extents)} dimensions of an array of {len(array.ir.shape)}", tracer.place(),
               help="give one extent for each axis of the array")
    offsets = make_offset(offset if offset is not None else (0,) * len(extents), len(extents), "tile_load", tracer)
    if storage not in ("register", "shared"):
        refuse("K232", f"storage is \"register\" or \"shared\", not {said(storage)}", tracer.place())
    _flags(tracer, bounds_check=bounds_check, aligned=aligned)
    region = Region(tracer, array, extents, offsets, bounds_check and not aligned)
    axis = region.unit_axis()
    axis = len(extents) - 1 if axis is None else axis
    words = _claimed(region, axis, tracer) if aligned else region.words(axis)
    plan = Plan(extents, axis, words, tracer.threads)
    if storage == "register":
        tile = RegisterTile(tracer, extents, array.dtype, plan, None, region)
        tracer.put_off(tile)
        return tile
    shared = alloc_shared(extents, array.dtype, align=16)
    if len(tracer.blocks) > 1:
        tracer.emit(ir.Barrier("cta", tracer.place()))     # an earlier trip may still be reading
    inner = Region(tracer, shared, extents, (typed.literal(0, "int32"),) * len(extents), False)
    move.copy(tracer, region, inner, tracer.threads)
    tracer.emit(ir.Barrier("cta", tracer.place()))
    return shared


def tile_store(a: TensorView, t: RegisterTile | TensorView, offset: object = None, bounds_check: bool = True,
               aligned: bool = False) -> None:
    """Write tile ``t`` to ``a[offset[0] + i, ...]``; elements outside the array, at either end, are skipped.

    The claims ``bounds_check=False`` and ``aligned=True`` are proved. Codes K230 to K233.
    """
    tracer = current("T.tile_store")
    array = _array(a, "tile_store", tracer)
    if not isinstance(t, RegisterTile) and not (isinstance(t, TensorView) and t.scope() == "shared"):
        refuse("K230", f"tile_store writes a tile, not {said(t)}", tracer.place())
    extents = t.shape if isinstance(t, RegisterTile) else tuple(e for e in t.shape if isinstance(e, int))
    if len(extents) != len(array.ir.shape):
        refuse("K231", f"a tile of {len(extents)} dimensions for an array of {len(array.ir.shape)}", tracer.place())
    if t.dtype != array.dtype:
        refuse("K233", f"a tile of {t.dtype} for an array of {array.dtype}", tracer.place(),
               help=f"convert it: t.astype(T.{array.dtype})")
    offsets = make_offset(offset if offset is not None else (0,) * len(extents), len(extents), "tile_store", tracer)
    _flags(tracer, bounds_check=bounds_check, aligned=aligned)
    region = Region(tracer, array, extents, offsets, bounds_check and not aligned)
    if aligned:
        _claimed(region, region.unit_axis() or len(extents) - 1, tracer)
    if isinstance(t, TensorView):
        inner = Region(tracer, t, extents, (typed.literal(0, "int32"),) * len(extents), False)
        move.copy(tracer, inner, region, tracer.threads)
        return
    if not t.copy_to(region):
        move.store(tracer, region, t.plan, t.cells())


def _claimed(region: Region, axis: int, tracer: Tracer) -> int:
    """The width that ``aligned=True`` claims: it is used, and the prover judges it."""
    words = max(1, 16 // region.bytes)
    if region.shape[axis] % words:
        refuse("K233", f"aligned=True needs rows of whole 16-byte vectors; {region.shape[axis]} elements of "
                       f"{region.bytes} bytes are not", tracer.place(), help="drop aligned=True")
    region.claim(axis)
    return words


def _array(a: object, what: str, tracer: Tracer) -> TensorView:
    if not isinstance(a, TensorView) or a.scope() == "local":
        refuse("K230", f"{what} works on an array in memory, not {said(a)}", tracer.place())
    return a


def _extents(shape: object, tracer: Tracer) -> tuple[int, ...]:
    items = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    found = tuple(i for i in items if isinstance(i, int) and not isinstance(i, bool) and i > 0)
    total = 1
    for extent in found:
        total *= extent
    if len(found) != len(items) or not found or total > MAX_ELEMENTS:
        refuse("K231", f"a tile's shape is made of positive integers known while the kernel is read, {MAX_ELEMENTS} "
                       f"elements at most; not {said(shape)}", tracer.place())
    return found


def _flags(tracer: Tracer, **flags: object) -> None:
    for name, value in flags.items():
        if not isinstance(value, bool):
            refuse("K232", f"{name} is True or False, known while the kernel is read; not {said(value)}",
                   tracer.place())


intrinsic(tile_load)
intrinsic(tile_store)
