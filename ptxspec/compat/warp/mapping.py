"""``wp.tile_map`` over elements of every kind, and tiles filled with a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptxspec.compat.warp import elements
from ptxspec.compat.warp.elements import Load, Write
from ptxspec.compat.warp.state import extents, kind_of, marked
from ptxspec.compat.warp.types import Element
from ptxspec.compat.warp.values import Composite, Fields
from ptxspec.lang import ir
from ptxspec.lang.declare import alloc_shared
from ptxspec.lang.errors import refuse
from ptxspec.lang.locate import element_bytes
from ptxspec.lang.tensor import ElementRef, TensorView
from ptxspec.lang.trace import Tracer, current
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr, is_float
from ptxspec.tiles import mapped, move
from ptxspec.tiles.banks import watch
from ptxspec.tiles.barriers import insert
from ptxspec.tiles.build import registers
from ptxspec.tiles.elementwise import At, read, visit
from ptxspec.tiles.ownership import dealt_out
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import natural
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tape import TapedTile, Taping
from ptxspec.tiles.tile import RegisterTile

Function = Callable[[list[object]], object]
Tile = RegisterTile | SharedTile


def tile_map(function: Function, arguments: Sequence[object], load: Load, write: Write) -> object:
    """The tile of ``function(arguments)`` for each element. Where elements are, or become, vectors, matrices or
    structures, every thread has whole ones. Codes K230, K234, K241, K243."""
    tracer = current("tile_map")
    tiles = [a if kind_of(a) is not None else mapped.tiled(a, tracer) for a in arguments]
    if not tiles or tiles[0] is None or any(isinstance(t, TapedTile) for t in tiles):
        if any(isinstance(t, TapedTile) for t in tiles) and any(kind_of(t) is not None for t in tiles):
            refuse("K241", "a function of vectors, matrices or structures has no gradient here", tracer.place(),
                   help="functions of numbers that are linear have one")
        return mapped.tile_map(function, arguments)
    shape = extents(tiles[0])
    for tile in tiles:
        if tile is not None and extents(tile) != shape:
            refuse("K234", f"tiles of {list(shape)} and {list(extents(tile))} elements do not combine element by "
                           "element", tracer.place())
    return Mapping(tracer, function, arguments, tiles, shape, load, write).run()


class Mapping:
    """One call of ``tile_map``."""

    def __init__(self, tracer: Tracer, function: Function, arguments: Sequence[object], tiles: Sequence[object],
                 shape: tuple[int, ...], load: Load, write: Write) -> None:
        self.tracer = tracer
        self.function = function
        self.arguments = arguments
        self.shape = shape
        self.load = load
        self.write = write
        self.tiles = tiles
        numbers = [t for t in tiles if isinstance(t, RegisterTile) and kind_of(t) is None]
        plain = len(numbers) == sum(t is not None for t in tiles)
        self.plan = numbers[0].plan if plain else Plan(shape, len(shape) - 1, 1, tracer.threads)
        self.sources = [None if t is None else self._source(t) for t in tiles]
        self.cells: TensorView | None = None
        self.dealt = self.plan      # how the registers of the result are dealt out
        self.made: SharedTile | None = None
        self.kind: Element | None = None

    def _source(self, tile: object) -> TensorView:
        """Registers for numbers, and for vectors that one thread has whole; shared memory for anything else."""
        kind = kind_of(tile)
        if isinstance(tile, RegisterTile) and kind is None:
            return tile.under(self.plan)
        if isinstance(tile, RegisterTile):
            whole = tile.in_shared_memory is None and tile.plan == self._whole(kind)
            return tile.cells() if whole else marked(tile.seen_by_all(), kind)
        assert isinstance(tile, SharedTile)
        insert(self.tracer, "before the shared tile is read, for threads that changed elements of it")
        return tile

    def _whole(self, kind: Element | None) -> Plan | None:
        """How a tile of vectors is dealt out where every thread has whole ones; None where none is."""
        if kind is None or kind.struct is not None or len(kind.trailing) != 1 \
                or natural(kind.size, kind.bytes) != kind.size or self.plan.words != 1:
            return None
        return Plan((*self.shape, kind.size), len(self.shape), kind.size, self.tracer.threads)

    def run(self) -> Tile:
        """The tile: numbers, and vectors that one thread has whole, in registers, anything else in shared memory."""
        tracer = self.tracer
        tracer.settle()
        block = tracer.blocks[-1]
        place = len(block)
        visit(tracer, self.plan, self._element)
        if self.made is not None:
            if len(tracer.blocks) > 1:
                insert(tracer, "before the tile is filled again, for readers of an earlier trip")
                block.insert(place, block.pop())
            return marked(self.made.filled(), self.kind)
        assert self.cells is not None
        if self.plan.rest:      # what no thread computes is zero
            zeros = self._aside(lambda cells: move.clear(tracer, self.dealt, cells), self.cells)
            block[place:place] = zeros
        tile = RegisterTile(tracer, self.dealt.shape, self.cells.dtype, self.dealt, self.cells)
        return marked(tile, self.kind)

    def _aside(self, work: Callable[[TensorView], None], cells: TensorView) -> list[ir.Statement]:
        found: list[ir.Statement] = []
        saved, self.tracer.blocks = self.tracer.blocks, [*self.tracer.blocks, found]
        try:
            work(cells)
        finally:
            self.tracer.blocks = saved
        return found

    def _element(self, at: At, coordinates: tuple[Expr, ...]) -> None:
        value = self.function([self._argument(k, at, coordinates) for k in range(len(self.arguments))])
        span = self.tracer.place()
        whole = self._whole(value.kind) if isinstance(value, Composite) else None
        if isinstance(value, Composite) and whole is not None:
            if self.cells is None:
                self.kind, self.dealt = value.kind, whole
                self.cells = registers(self.tracer, (whole.repeats, whole.words), value.scalar, "tile")
            for k, component in enumerate(value.values):
                where = (at[0], typed.literal(k, "int32"))
                self.tracer.emit(ir.Store(self.cells.ir, where, value.typed(component), span))
            return
        if isinstance(value, (Composite, Fields)):
            if self.made is None:
                self.kind = value.kind
                full = (*self.shape, *self.kind.trailing)
                self.made = SharedTile(self.tracer, alloc_shared(full, self.kind.scalar, align=16))
                watch(self.tracer, self.made.ir.buffer)
            assert self.kind is not None
            row = self.made.sub[coordinates]
            if self.kind.struct is not None:
                clear(self.tracer, row)
            elements.write(row, self.kind, value, self.write)
            return
        number = mapped.number_of(value, span)
        if self.cells is None:
            self.cells = registers(self.tracer, (self.plan.repeats, self.plan.words), number.dtype, "tile")
        self.tracer.emit(ir.Store(self.cells.ir, at, number, span))

    def _argument(self, k: int, at: At, coordinates: tuple[Expr, ...]) -> object:
        source, kind = self.sources[k], kind_of(self.tiles[k])
        if source is None:
            return self.arguments[k]
        if kind is None:
            return read(self.tracer, source, at)
        if source.scope() == "local":
            return Composite(kind.scalar, kind.trailing, [
                read(self.tracer, source, (at[0], typed.literal(k, "int32"))) for k in range(kind.size)])
        return elements.read(source.sub[coordinates], kind, self.load)


def clear(tracer: Tracer, row: TensorView) -> None:
    """Zero in every word of one element, so that the bytes between its fields are something."""
    words = row.view(move.AS_NUMBERS[row.dtype]) if row.dtype in move.AS_NUMBERS else row
    for word in range(len(words)):
        at = (typed.literal(word, "int32"),)
        tracer.emit(ir.Store(words.ir, at, typed.literal(0, words.dtype), tracer.place()))


def put(element: ElementRef, number: object) -> None:
    """Write one component of an element of a tile; numbers are converted."""
    tracer = current("a tile")
    kind = element.view.dtype
    value = typed.cast(number, kind) if isinstance(number, Expr) else typed.literal(number, kind)  # type: ignore[arg-type]
    tracer.emit(ir.Store(element.view, element.index, value, tracer.place()))


def loaded(element: ElementRef) -> Expr:
    """Read one component."""
    return read(current("a tile"), TensorView(element.view), element.index)


def element_of(tile: RegisterTile | TensorView, at: tuple[Expr, ...]) -> object:
    """The element of a tile at ``at``, read now."""
    kind = kind_of(tile)
    shared = marked(tile.seen_by_all(), kind) if isinstance(tile, RegisterTile) else tile
    if isinstance(shared, SharedTile):
        shared.settled()
    if kind is None:
        found = shared[at]
        assert isinstance(found, ElementRef)
        return loaded(found)
    return elements.read(shared.sub[at], kind, loaded)


def filled(shape: tuple[int, ...], kind: Element, value: Composite | Fields) -> Tile:
    """A tile in shared memory that has ``value`` everywhere (K245 where that is no ``kind``)."""
    tracer = current("tile_full")
    full = (*shape, *kind.trailing)
    if isinstance(tracer, Taping) and is_float(kind.scalar):
        axis = len(full) - 1
        plan = dealt_out(tracer, full, axis, element_bytes(kind.scalar))
        return marked(TapedTile(tracer, full, kind.scalar, plan), kind)  # type: ignore[return-value]
    made = SharedTile.alloc(tracer, full, kind.scalar)
    visit(tracer, Plan(shape, len(shape) - 1, 1, tracer.threads), lambda _, at: _put(tracer, made, at, kind, value))
    return marked(made.filled(), kind)


def _put(tracer: Tracer, made: SharedTile, at: tuple[Expr, ...], kind: Element, value: Composite | Fields) -> None:
    row = made.sub[at]
    if kind.struct is not None:
        clear(tracer, row)
    elements.write(row, kind, value, put)


def per_thread(value: Composite | Fields, whole: bool) -> Tile:
    """The tile of all threads' values: with ``whole`` one element for each thread, else the components' axes first."""
    tracer = current("tile")
    kind = value.kind
    if isinstance(tracer, Taping):
        refuse("K240", "a tile of threads' vectors has no gradient", tracer.place())
    thread = tracer.linear_thread()
    if whole or isinstance(value, Fields):
        made = SharedTile.alloc(tracer, (tracer.threads, *kind.trailing), kind.scalar)
        _put(tracer, made, (thread,), kind, value)
        return marked(made.filled(), kind)
    made = SharedTile.alloc(tracer, (*kind.trailing, tracer.threads), kind.scalar)
    plain = made.sub[(*(slice(None) for _ in kind.trailing), thread)]
    elements.write(plain, kind, value, put)
    return made.filled()
