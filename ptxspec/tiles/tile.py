"""Register tiles as the kernel's author handles them, with arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ptxspec.lang import ir
from ptxspec.lang.declare import alloc_shared
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.tensor import ElementRef, TensorView
from ptxspec.lang.trace import Tracer
from ptxspec.layout import TileLayout
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr, Var, int_range, is_integer
from ptxspec.tiles import move
from ptxspec.tiles.banks import watch
from ptxspec.tiles.barriers import insert
from ptxspec.tiles.build import loop, registers
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region


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

    __slots__ = ("_cells", "_fused", "_load", "_owned", "_seen", "_tracer", "dtype", "plan", "shape")

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
        self._owned: dict[tuple[int, ...], tuple[tuple[Expr, ...], Expr, Expr]] = {}
        self._seen: tuple[list[ir.Statement], TensorView] | None = None

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

    # --- single elements

    def owned(self) -> list[tuple[Expr, ...]]:
        """The coordinates of the executing thread's own elements: ``for i, j in t.owned(): ... t[i, j]``.

        ``t[i, j]`` of such coordinates is the thread's register. The block size divides the tile (K239).
        """
        plan, tracer = self.plan, self._tracer
        if plan.rest:
            refuse("K239", f"{plan.groups} groups of {plan.words} elements over {plan.threads} threads: not every "
                           "thread owns equally many", tracer.place(),
                   help="choose a block size that divides the tile, or read t[i, j], which goes through shared memory")
        found: list[tuple[Expr, ...]] = []
        for repeat in range(plan.repeats):
            first = plan.at(plan.group(repeat, tracer.linear_thread()))
            for word in range(plan.words):
                at = tuple(typed.binary("add", c, word) if k == plan.axis and word else c for k, c in enumerate(first))
                self._owned[tuple(map(id, at))] = at, typed.literal(repeat, "int32"), typed.literal(word, "int32")
                found.append(at)
        return found

    def __getitem__(self, key: object) -> TensorView | ElementRef:
        at = key if isinstance(key, tuple) else (key,)
        own = self._owned.get(tuple(map(id, at)))
        if own is not None:
            return ElementRef(self.cells().ir, own[1:], self._tracer.place())
        return self.seen_by_all()[key]

    def seen_by_all(self) -> TensorView:
        """The tile in shared memory, put there when first needed; a barrier follows, so all threads must come here."""
        tracer = self._tracer
        if self._seen is None or not any(block is self._seen[0] for block in tracer.blocks):
            cells = self.cells()
            shared = alloc_shared(self.shape, self.dtype, align=16)
            watch(tracer, shared.ir.buffer)
            if len(tracer.blocks) > 1:
                insert(tracer, "before the tile is filled again, for readers of an earlier trip")
            whole = Region(tracer, shared, self.shape, (typed.literal(0, "int32"),) * len(self.shape), False)
            move.store(tracer, whole, self.plan, cells)
            insert(tracer, "after the tile is filled, before other threads read it")
            self._seen = tracer.blocks[-1], shared
        return self._seen[1]

    # --- moving

    def copy_to(self, target: Region) -> bool:
        """Load and store in one, when the load is still waiting; False when it has happened, and where the store could
        overwrite what is still to be loaded."""
        if self._load is not None and self._load.array.ir.buffer is target.array.ir.buffer:
            return False
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
                           "do not combine element by element", span,
                   help="give both loads the same shape and unit-stride axis")
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
