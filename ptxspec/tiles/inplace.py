"""Tiles changed where they are: ``t += u``, and a tile copied into a part of another one."""

from __future__ import annotations

from ptxspec.lang.errors import refuse, said
from ptxspec.lang.trace import Tracer, current
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr
from ptxspec.tiles import move
from ptxspec.tiles.barriers import insert
from ptxspec.tiles.computed import ComputedTile
from ptxspec.tiles.elementwise import assigned, read
from ptxspec.tiles.shared import SharedTile, from_shared, together
from ptxspec.tiles.tape import TapedTile, Taping
from ptxspec.tiles.tile import RegisterTile


def updated(tile: RegisterTile | SharedTile | TapedTile, name: str, other: object) -> None:
    """``tile = tile name other``, element by element, for everyone who has the tile. Codes K234, K241, K246."""
    tracer = current("a tile")
    for_all(tracer)
    if isinstance(tile, TapedTile):
        _taped(tile, name, other)
        return
    if isinstance(tile, RegisterTile):
        tile.home()     # before the registers are used here
    result = tile.ptxspec_binary(name, other, False)
    assert isinstance(result, RegisterTile)
    if result.dtype != tile.dtype:
        result = result.astype(tile.dtype)
    overwritten(tracer, tile, result)


def overwritten(tracer: Tracer, tile: RegisterTile | SharedTile, by: RegisterTile) -> None:
    """Every element of ``tile`` becomes that of ``by``, which has its shape and type (K246)."""
    for_all(tracer)
    bits = tile.dtype.startswith("bits")        # moved only
    home = tile if isinstance(tile, SharedTile) else tile.moved() if bits else tile.home()
    if home is not None:
        into(tracer, home, by)
        return
    assert isinstance(tile, RegisterTile)
    mine, theirs = tile.changing(), by.under(tile.plan)
    assigned(tracer, tile.plan, mine, lambda at: read(tracer, theirs, at))


def for_all(tracer: Tracer) -> None:
    """Refuse a change under a condition that differs between the threads of a block (K246)."""
    if not together(tracer):
        refuse("K246", "a tile is changed under a condition that differs between the threads of a block",
               tracer.place(), help="let all threads agree on the condition, or change single elements: t[i] = x")


def into(tracer: Tracer, target: SharedTile, source: RegisterTile) -> None:
    """Every element of ``target`` becomes that of ``source``; other threads have read it before, and see it behind."""
    target.changing()
    cells = source.cells()
    insert(tracer, "before a tile is overwritten, for threads that still read it")
    move.store(tracer, target.whole(), source.plan, cells)
    insert(tracer, "after a tile was overwritten, before other threads read it")


def tile_assign(target: RegisterTile | SharedTile, items: tuple[object, ...], source: object) -> None:
    """Copy tile ``source`` into ``target.sub[items]``, of its shape; ``target`` lies in shared memory from then on.
    Overlapping parts of one tile are copied as if at once. Codes K230, K234, K240."""
    tracer = current("a tile")
    span = tracer.place()
    if isinstance(target, TapedTile) or isinstance(source, TapedTile):
        refuse("K240", "a part of a tile is assigned: only whole tiles have a gradient", span,
               help="store the parts to memory one by one")
    home = target.moved() if isinstance(target, RegisterTile) else target
    part = home.seen_as(home.sub[items])
    source = from_shared(source, tracer)
    source = source.registers() if isinstance(source, ComputedTile) else source
    if not isinstance(source, RegisterTile):
        refuse("K230", f"a tile is assigned to a part of a tile, not {said(source)}", span,
               help="make a tile of it: wp.tile_full(shape, value, dtype)")
    if tuple(part.shape) != source.shape:
        refuse("K234", f"a tile of {list(source.shape)} elements is assigned to {list(part.shape)} elements", span)
    into(tracer, part, source if source.dtype == part.dtype else source.astype(part.dtype))


# --- gradients

def _taped(tile: TapedTile, name: str, other: object) -> None:
    """The tile keeps its gradient; what was added gets it too, and what was multiplied is multiplied back."""
    tracer, span = tile.tracer, tile.tracer.place()
    if isinstance(other, TapedTile) and name in ("add", "sub") and other.shape == tile.shape:
        source = other.under(tile.plan)

        def change(g: Expr) -> Expr:
            return typed.cast(g if name == "add" else typed.unary("neg", g, span), source.dtype)

        tracer.record(lambda: source.add(tile.cells, change))
    elif isinstance(other, (Expr, int, float)) and name in ("add", "sub", "mul", "div"):
        if name in ("mul", "div"):
            tracer.record(lambda: _scaled(tracer, tile, name, other))
    else:
        refuse("K241", f"`{name}=` of a tile and {said(other)} is not linear, so its gradient needs the tile's values",
               span, help="tiles may be added and subtracted, and multiplied or divided by numbers")


def _scaled(tracer: Taping, tile: TapedTile, name: str, by: Expr | int | float) -> None:
    cells = tile.cells
    assigned(tracer, tile.plan, cells, lambda at: typed.cast(
        typed.binary(name, read(tracer, cells, at), by, tracer.place()), cells.dtype))
