"""Single elements of a tile that threads write, or add to, together; rows picked by indices; diagonals."""

from __future__ import annotations

from collections.abc import Callable

from ptxspec.lang import ir
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.trace import Tracer, current
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const, Expr
from ptxspec.tiles import move
from ptxspec.tiles.access import RED, atomic
from ptxspec.tiles.barriers import insert
from ptxspec.tiles.build import registers, when
from ptxspec.tiles.computed import ComputedTile
from ptxspec.tiles.elementwise import computed, read, visit
from ptxspec.tiles.indexed import tile_load_indexed
from ptxspec.tiles.shared import SharedTile, from_shared
from ptxspec.tiles.tape import TapedTile
from ptxspec.tiles.tile import RegisterTile


def scattered(t: RegisterTile | SharedTile, condition: Expr, write: Callable[[SharedTile], None]) -> None:
    """``write(home)`` by the threads for which ``condition`` holds; the tile lies in shared memory from then on, and
    all threads see what was written."""
    tracer = current("a tile")
    home = t.moved() if isinstance(t, RegisterTile) else t
    insert(tracer, "before elements are written, for threads that still read the tile")
    with when(tracer, condition):
        write(home)
    insert(tracer, "after elements were written, before other threads read them")


def add_at(tracer: Tracer, home: SharedTile, at: tuple[Expr, ...], number: Expr, together: bool) -> None:
    """Add to one element; atomically, where other threads may add to it ``together`` (K235 for types without)."""
    value = typed.cast(number, home.dtype, tracer.place())
    if not together:
        total = typed.binary("add", read(tracer, home, at), value, tracer.place())
        tracer.emit(ir.Store(home.ir, at, typed.cast(total, home.dtype), tracer.place()))
        return
    atomic(home, "tile_scatter_add", tracer)
    cell = registers(tracer, (1,), home.dtype, "added")
    tracer.emit(ir.Store(cell.ir, (typed.literal(0, "int32"),), value, tracer.place()))
    move.transfer(tracer, RED, home.whole(), (cell,), at, len(at) - 1, 1)


def picked(shared: SharedTile, indices: object, axis: int) -> RegisterTile:
    """The tile whose element i along ``axis`` is that of ``shared`` at ``indices[i]``; below zero they count from the
    end, and what is outside gives zero. Codes K230, K236."""
    tracer = current("tile_slice_indexed")
    indices = from_shared(indices, tracer)
    if not isinstance(indices, (RegisterTile, ComputedTile)) or indices.dtype not in ("int32", "int64"):
        refuse("K236", f"indices are a 1-D tile of int32, not {said(indices)}", tracer.place())
    extents = [n for n in shared.shape if isinstance(n, int)]
    extent, kind = extents[axis], indices.dtype
    values = [indices.formula(k) for k in range(indices.shape[0])] if isinstance(indices, ComputedTile) else []
    if not values or any(not isinstance(v, Const) or v.value < 0 for v in values):
        rows = indices.registers() if isinstance(indices, ComputedTile) else indices
        mine = rows.cells()

        def forward(at: tuple[Expr, Expr]) -> Expr:
            index = read(tracer, mine, at)
            end = typed.cast(typed.binary("add", index, extent), kind)
            return typed.select(typed.compare("lt", index, 0), end, index, tracer.place())

        made = computed(tracer, rows.plan, forward, careful=True)
        indices = RegisterTile(tracer, rows.shape, made.dtype, rows.plan, made)
    insert(tracer, "before the shared tile is read, for threads that changed elements of it")
    shape = tuple(indices.shape[0] if k == axis else n for k, n in enumerate(extents))
    found = tile_load_indexed(shared, indices, shape, axis=axis)
    assert isinstance(found, RegisterTile)
    return found


def with_diagonal(a: RegisterTile | SharedTile, d: RegisterTile | SharedTile) -> SharedTile:
    """``a`` with ``d[k]`` added to ``a[k, k]``; axes behind those two are inside the elements. Codes K234, K240."""
    tracer = current("tile_diag_add")
    if isinstance(a, TapedTile) or isinstance(d, TapedTile):
        refuse("K240", "a diagonal of a tile has no gradient", tracer.place())
    shape, row = tuple(a.shape), tuple(d.shape)
    if len(shape) < 2 or shape[0] != shape[1] or row != shape[1:] or a.dtype != d.dtype:
        refuse("K234", f"tile_diag_add takes a square tile and one of its diagonal's length and type, not "
                       f"{list(shape)} {a.dtype} and {list(row)} {d.dtype}", tracer.place())
    square, more = (t if isinstance(t, RegisterTile) else t.registers() for t in (a, d))
    more.numbers(tracer.place())
    made = SharedTile.alloc(tracer, square.shape, square.dtype)
    move.store(tracer, made.whole(), square.plan, square.cells())
    made.filled()
    cells = more.cells()
    visit(tracer, more.plan, lambda at, c: add_at(tracer, made, (c[0], *c), read(tracer, cells, at), False))
    return made.filled()
