"""Tiles that are not loaded: filled with one value."""

from __future__ import annotations

from ptxspec.lang.errors import refuse, said
from ptxspec.lang.locate import element_bytes
from ptxspec.lang.trace import current, intrinsic
from ptxspec.lang.types import DType, dtype_name
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr, is_float
from ptxspec.tiles import move, tape
from ptxspec.tiles.build import registers
from ptxspec.tiles.calls import extents_of
from ptxspec.tiles.elementwise import assigned
from ptxspec.tiles.ownership import dealt_out
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tile import RegisterTile


def tile_full(shape: int | tuple[int, ...], value: object, dtype: str | DType = "float32",
              storage: str = "register") -> RegisterTile | SharedTile:
    """A tile of ``shape`` with ``value`` everywhere; codes K231, K232."""
    tracer = current("T.tile_full")
    extents, kind = extents_of(shape, tracer), dtype_name(dtype)
    if storage not in ("register", "shared"):
        refuse("K232", f"storage is \"register\" or \"shared\", not {said(storage)}", tracer.place())
    if not isinstance(value, (Expr, int, float)):
        refuse("K231", f"a tile is filled with a number, not {said(value)}", tracer.place())
    axis = len(extents) - 1
    plan = dealt_out(tracer, extents, axis, element_bytes(kind))
    if isinstance(tracer, tape.Taping) and is_float(kind):
        return tape.TapedTile(tracer, extents, kind, plan)  # type: ignore[return-value]
    cells = registers(tracer, (plan.repeats, plan.words), kind, "tile")
    filling = typed.cast(value, kind) if isinstance(value, Expr) else typed.literal(value, kind)
    assigned(tracer, plan, cells, lambda _: filling)
    if storage == "register":
        return RegisterTile(tracer, extents, kind, plan, cells)
    return SharedTile.holding(tracer, extents, kind, plan, cells)


def zeros_of_bits(extents: tuple[int, ...], kind: str, storage: str) -> RegisterTile | SharedTile:
    """A tile of untyped words, all bits zero."""
    tracer = current("T.tile_zeros")
    axis = len(extents) - 1
    plan = dealt_out(tracer, extents_of(extents, tracer), axis, element_bytes(kind))
    cells = registers(tracer, (plan.repeats, plan.words), kind, "tile")
    move.clear(tracer, plan, cells)
    if storage != "shared":
        return RegisterTile(tracer, extents, kind, plan, cells)
    return SharedTile.holding(tracer, extents, kind, plan, cells)


def tile_zeros(shape: int | tuple[int, ...], dtype: str | DType = "float32",
               storage: str = "register") -> RegisterTile | SharedTile:
    """A tile of zeros; see :func:`tile_full`."""
    return tile_full(shape, 0, dtype, storage)


def tile_ones(shape: int | tuple[int, ...], dtype: str | DType = "float32",
              storage: str = "register") -> RegisterTile | SharedTile:
    """A tile of ones; see :func:`tile_full`."""
    return tile_full(shape, 1, dtype, storage)


intrinsic(tile_full)
intrinsic(tile_zeros)
intrinsic(tile_ones)
