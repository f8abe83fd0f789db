"""Gradients of tiles seen under other coordinates: carried back through shared memory, copies are summed in order."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ptxspec.lang.locate import element_bytes
from ptxspec.lang.tensor import TensorView
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr
from ptxspec.tiles import move
from ptxspec.tiles.build import loop
from ptxspec.tiles.ownership import dealt_out
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tape import TapedTile


def rearranged(tile: TapedTile, shape: tuple[int, ...], back: Callable[[SharedTile], TensorView],
               plan: Plan | None = None) -> TapedTile:
    """The tile's elements under ``shape``; ``back`` sees a tile of that shape under the coordinates of ``tile``."""
    made = _new(tile, shape) if plan is None else TapedTile(tile.tracer, shape, tile.dtype, plan)

    def reverse() -> None:
        tile.receive(_read(tile, back(_shown(made))))

    tile.tracer.record(reverse)
    return made


def repeated(tile: TapedTile, shape: tuple[int, ...]) -> TapedTile:
    """The tile broadcast to ``shape``: its gradient is the sum over all copies, first to last."""
    made, tracer = _new(tile, shape), tile.tracer
    lead = len(shape) - len(tile.shape)
    copied = [k for k in range(len(shape)) if k < lead or (tile.shape[k - lead] == 1 and shape[k] > 1)]

    def reverse() -> None:
        shown = _shown(made)
        with loop(tracer, prod(shape[k] for k in copied), "copy", unroll=False) as copy:
            items: list[object] = [slice(0, n) for n in shape]
            below: Expr = copy
            for k in reversed(copied):
                place = typed.binary("floormod", below, shape[k])
                items[k] = place if k < lead else slice(place, typed.binary("add", place, 1))
                below = typed.binary("floordiv", below, shape[k])
            tile.receive(_read(tile, shown.sub[tuple(items)]))

    tracer.record(reverse)
    return made


def _new(tile: TapedTile, shape: tuple[int, ...]) -> TapedTile:
    axis = len(shape) - 1
    plan = dealt_out(tile.tracer, shape, axis, element_bytes(tile.dtype))
    return TapedTile(tile.tracer, shape, tile.dtype, plan)


def _shown(made: TapedTile) -> SharedTile:
    return SharedTile.holding(made.tracer, made.shape, made.dtype, made.plan, made.cells)


def _read(tile: TapedTile, view: TensorView) -> TensorView:
    zero = (typed.literal(0, "int32"),) * len(tile.shape)
    return move.load(tile.tracer, Region(tile.tracer, view, tile.shape, zero, False), tile.plan, "gradient")
