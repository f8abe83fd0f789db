"""Register tiles as the kernel's author handles them, with arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.tensor import ElementRef, TensorView
from ptxspec.lang.trace import Tracer
from ptxspec.layout import TileLayout
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr
from ptxspec.tiles import move
from ptxspec.tiles.copying import copy
from ptxspec.tiles.elementwise import PARTIAL, At, computed, read
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region
from ptxspec.tiles.shared import SharedTile


@dataclass(frozen=True)
class Emitted:
    """Statements of ``block`` that are written otherwise when their tile is used: a load and a store that became one
    copy, or an addition whose old values nobody had asked for. ``again`` writes them and gives the tile's registers."""

    block: list[ir.Statement]
    statements: tuple[ir.Statement, ...]
    again: Callable[[], TensorView]

    @classmethod
    def by(cls, tracer: Tracer, emit: Callable[[], None], again: Callable[[], TensorView]) -> Emitted:
        """What ``emit`` writes now."""
        tracer.settle()
        block = tracer.blocks[-1]
        start = len(block)
        emit()
        return cls(block, tuple(block[start:]), again)

    def rewritten(self, tracer: Tracer) -> TensorView:
        """Take the statements out; what :attr:`again` emits goes into their place."""
        tracer.settle()     # what waits belongs to the block being read, not to this one
        # Found by identity: places in the block shift when other operations are written anew.
        start = next((k for k, s in enumerate(self.block) if self.statements and s is self.statements[0]),
                     len(self.block))
        following = self.block[start + len(self.statements):]
        del self.block[start:]
        saved = tracer.blocks
        tracer.blocks = saved[: next(k for k, b in enumerate(saved) if b is self.block) + 1]
        try:
            cells = self.again()
        finally:
            tracer.blocks = saved
        self.block.extend(following)
        return cells


class RegisterTile:
    """A tile spread over the registers of a CTA. ``t * 2 + u`` computes element by element on tiles of one layout."""

    __slots__ = ("_block", "_cells", "_emitted", "_home", "_load", "_owned", "_seen", "_touched", "_tracer", "_written",
                 "dtype", "plan", "shape")

    ptxspec_intrinsic = True

    def __init__(self, tracer: Tracer, shape: tuple[int, ...], dtype: str, plan: Plan,
                 cells: TensorView | None, load: Region | None = None) -> None:
        self._tracer = tracer
        self.shape = shape
        self.dtype = dtype
        self.plan = plan
        self._cells = cells
        self._load = load
        self._emitted: Emitted | None = None
        self._owned: dict[tuple[int, ...], tuple[tuple[Expr, ...], Expr, Expr]] = {}
        self._seen: tuple[list[ir.Statement], SharedTile] | None = None
        self._home: SharedTile | None = None    # where the elements are, once one was assigned that is not the thread's
        self._block = tracer.blocks[-1]
        self._touched: list[list[ir.Statement]] = []    # blocks with code inside that uses the registers
        self._written: list[tuple[list[ir.Statement], ...]] = []    # the blocks around each place that assigns some

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
        if self._home is not None:
            return self._home.registers(self.plan).cells()
        self._touched.extend(self._tracer.blocks)
        if self._emitted is not None:
            emitted, self._emitted = self._emitted, None
            self._cells = emitted.rewritten(self._tracer)
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
            first = plan.at(repeat, tracer.linear_thread())
            for word in range(plan.words):
                at = plan.word(first, word)
                self._owned[tuple(map(id, at))] = at, typed.literal(repeat, "int32"), typed.literal(word, "int32")
                found.append(at)
        return found

    def __iter__(self) -> NoReturn:
        refuse("K216", "a tile cannot be iterated over", self._tracer.place(),
               help="visit the thread's own elements: `for i, j in t.owned():`")

    def __getitem__(self, key: object) -> TensorView | ElementRef:
        if self._home is None and not self._shown():
            own = self._own(key)
            if own is not None:
                return own
        return self.seen_by_all()[key]

    def _own(self, key: object) -> ElementRef | None:
        """The thread's register for coordinates that :meth:`owned` gave."""
        own = self._owned.get(tuple(map(id, key if isinstance(key, tuple) else (key,))))
        return None if own is None else ElementRef(self.cells().ir, own[1:], self._tracer.place())

    def ptxspec_assign(self, key: object, write: Callable[[object], None]) -> None:
        """``t[key] = x``. The thread's own elements stay in registers; for any other one the tile moves to shared
        memory and stays there, with the barriers that this takes (K242 where code before it uses the registers)."""
        if self._home is None and not self._shown():
            own = self._own(key)
            if own is not None:
                self._written.append(tuple(self._tracer.blocks))
                write(own)
                return
        self.moved().ptxspec_assign(key, write)

    def home(self) -> SharedTile | None:
        """Where the elements are in shared memory, if they are there, or in use there, so that changes go there."""
        return self.moved() if self._shown() else self._home

    @property
    def in_shared_memory(self) -> SharedTile | None:
        """The tile in shared memory, where it lies or is in use there."""
        return self._home or (self._seen[1] if self._seen is not None and self._shown() else None)

    def moved(self) -> SharedTile:
        """The tile in shared memory, where it stays (K242 where code before this place uses the registers)."""
        if self._home is None:
            self._home = self._moved()
        return self._home

    def changing(self) -> TensorView:
        """The registers, about to be written."""
        self._written.append(tuple(self._tracer.blocks))
        return self.cells()

    def _shown(self) -> bool:
        """True where a copy in shared memory is in use, which must not differ from the registers."""
        return self._seen is not None and any(block is self._seen[0] for block in self._tracer.blocks)

    def _moved(self) -> SharedTile:
        """The tile in shared memory, written where it was made, so that it is complete on every way to here."""
        tracer = self._tracer
        tracer.settle()
        inner = self._inner()
        if any(block is touched for block in inner for touched in self._touched) or self._elsewhere(self._block) or \
                (self._shown() and self._seen is not None and any(block is self._seen[0] for block in inner)):
            refuse("K242", "an element is assigned in a loop or branch that uses the tile's registers before",
                   tracer.place(), help="load the tile with storage=\"shared\", or assign the thread's own elements: "
                                        "for i, j in t.owned()")
        if self._shown() and self._seen is not None:
            return self._seen[1]
        return self._filled(len(inner))

    def _inner(self) -> list[list[ir.Statement]]:
        """The open blocks inside the one that the tile was made in."""
        blocks = self._tracer.blocks
        return blocks[next((k for k, block in enumerate(blocks) if block is self._block), len(blocks) - 1) + 1:]

    def _elsewhere(self, block: list[ir.Statement]) -> bool:
        """True where the other side of a branch assigns registers, and what is written at the end of ``block`` now
        comes before that branch."""
        for stack in self._written:
            k = next((k for k, b in enumerate(stack) if b is block), len(stack))
            inside = stack[k + 1] if k + 1 < len(stack) else None
            if inside is not None and not any(inside is b for b in self._tracer.blocks) and not _part(inside, block):
                return True
        return False

    def _filled(self, out: int) -> SharedTile:
        """The tile in shared memory, filled ``out`` blocks further out than here: before the loop or branch there."""
        tracer = self._tracer
        tracer.settle()
        saved = tracer.blocks
        tracer.blocks = saved[:len(saved) - out]
        try:
            return SharedTile.holding(tracer, self.shape, self.dtype, self.plan, self.cells())
        finally:
            tracer.blocks = saved

    def seen_by_all(self) -> SharedTile:
        """The tile in shared memory, put there when first needed, with a barrier behind.

        That happens where the tile was made, or last changed: as far out of loops and branches around this place as
        that allows, for all threads must come there.
        """
        if self._home is not None:
            return self._home
        if not self._shown():
            inner = self._inner()
            written = [b for stack in self._written for b in stack]
            changed = [k for k, block in enumerate(inner, 1) if any(block is b for b in written)]
            out = len(inner) - max(changed, default=0)
            while out and self._elsewhere(self._tracer.blocks[len(self._tracer.blocks) - 1 - out]):
                out -= 1
            block = self._tracer.blocks[len(self._tracer.blocks) - 1 - out]
            self._seen = block, self._filled(out).shows(self.moved)
        assert self._seen is not None
        return self._seen[1]

    # --- moving

    def copy_to(self, target: Region) -> bool:
        """Load and store in one, when the load is still waiting; False when it has happened, and where the store could
        overwrite what is still to be loaded."""
        if self._home is not None:
            return False
        if self._load is not None and self._load.array.ir.buffer is target.array.ir.buffer:
            return False
        if self._load is None or ((self._load.claimed or target.claimed) and not self._same_width(target)):
            return False
        if not self._tracer.take_back(self):
            return False
        tracer, source, self._load = self._tracer, self._load, None

        def apart() -> TensorView:
            cells = move.load(tracer, source, self.plan, "tile")
            move.store(tracer, target, self.plan, cells)
            return cells

        self._emitted = Emitted.by(tracer, lambda: copy(tracer, source, target, tracer.threads), apart)
        return True

    def _same_width(self, target: Region) -> bool:
        """A claimed width must show in the code, so it is not narrowed to the other end's."""
        assert self._load is not None
        return self._load.words(self.plan.axis) == target.words(self.plan.axis)

    @classmethod
    def old_values(cls, tracer: Tracer, region: Region, plan: Plan, cells: TensorView, vectors: bool) -> RegisterTile:
        """Add ``cells`` to the array; the tile of what was there before, which costs nothing unless it is used."""
        tile = cls(tracer, plan.shape, region.array.dtype, plan, None)
        tile._emitted = Emitted.by(tracer, lambda: move.add(tracer, region, plan, cells, vectors=vectors),
                                   lambda: move.exchange(tracer, region.anew(), plan, cells, vectors=vectors))
        return tile

    def ptxspec_binary(self, name: str, other: object, reflected: bool) -> RegisterTile:
        """``self name other`` element by element; the other side is a tile of the same layout or a scalar."""
        span = self._tracer.place()
        if isinstance(other, SharedTile) and tuple(other.shape) == self.shape:
            other = other.registers(self.plan)
        elif not isinstance(other, TensorView) and hasattr(other, "registers"):
            other = other.registers()       # formulas
        if isinstance(other, RegisterTile) and other.shape != self.shape:
            refuse("K234", f"tiles of {list(self.shape)} and {list(other.shape)} elements do not combine element by "
                           "element", span, help="give both the same shape")
        if not isinstance(other, (RegisterTile, Expr, int, float)):
            refuse("K234", f"a tile combines with a tile or a number, not {said(other)}", span)
        self.numbers(span)
        theirs = other.under(self.plan) if isinstance(other, RegisterTile) else other
        mine = self.cells()

        def value(at: At) -> Expr:
            a: Expr = read(self._tracer, mine, at)
            b = read(self._tracer, theirs, at) if isinstance(theirs, TensorView) else theirs
            assert isinstance(b, (Expr, int, float))
            return typed.binary(name, b, a, span) if reflected else typed.binary(name, a, b, span)

        return self._made(value, name in PARTIAL)

    def under(self, plan: Plan) -> TensorView:
        """The registers, dealt out as ``plan`` says; through shared memory where they are not dealt out so already."""
        return self.cells() if plan == self.plan else self.seen_by_all().registers(plan).cells()

    def numbers(self, span: Span) -> None:
        """Refuse tiles of untyped bits (K234)."""
        if self.dtype.startswith("bits"):
            refuse("K234", f"a tile of {self.dtype} has no arithmetic: untyped bits are only moved", span,
                   help="view the array as numbers first: A.view(\"uint32\")")

    def ptxspec_unary(self, name: str) -> RegisterTile:
        """``-self`` element by element."""
        self.numbers(self._tracer.place())
        mine = self.cells()
        return self._made(lambda at: typed.unary(name, read(self._tracer, mine, at), self._tracer.place()))

    def astype(self, dtype: object) -> RegisterTile:
        """The tile with every element converted."""
        from ptxspec.lang.types import dtype_name
        to, mine = dtype_name(dtype), self.cells()
        return self._made(lambda at: typed.cast(read(self._tracer, mine, at), to, self._tracer.place()))

    def _made(self, value: Callable[[At], Expr], careful: bool = False) -> RegisterTile:
        made = computed(self._tracer, self.plan, value, careful=careful)
        return RegisterTile(self._tracer, self.shape, made.dtype, self.plan, made)


def _part(inside: list[ir.Statement], block: list[ir.Statement]) -> bool:
    """True where the branch or loop that has the statements ``inside`` stands in ``block`` already."""
    parts = [part for s in block if isinstance(s, (ir.If, ir.For))
             for part in ((s.then, s.orelse) if isinstance(s, ir.If) else (s.body,))]
    return bool(inside) and any(part and part[-1] is inside[-1] for part in parts)
