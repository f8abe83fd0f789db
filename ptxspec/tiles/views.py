"""Other views of a tile: its elements under other coordinates, in the same shared memory."""

from __future__ import annotations

from math import prod

from ptxspec.lang.errors import refuse, said
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer, current, intrinsic
from ptxspec.layout import S, TileLayout
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr
from ptxspec.tiles import taped
from ptxspec.tiles.calls import extents_of
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tape import TapedTile
from ptxspec.tiles.tile import RegisterTile


def shared_of(t: object, what: str, tracer: Tracer) -> SharedTile:
    """The tile where all threads see it; a register tile is put there (K230)."""
    if isinstance(t, RegisterTile):
        return t.seen_by_all()
    if not isinstance(t, TensorView) or t.scope() != "shared":
        refuse("K230", f"{what} works on a tile, not {said(t)}", tracer.place())
    return t if isinstance(t, SharedTile) else SharedTile(tracer, t)


def shape_of(t: object, what: str, tracer: Tracer) -> tuple[int, ...]:
    """The extents of a tile (K230 for what is none)."""
    if not isinstance(t, (RegisterTile, TapedTile)) and not (isinstance(t, TensorView) and t.scope() == "shared"):
        refuse("K230", f"{what} works on a tile, not {said(t)}", tracer.place())
    return tuple(n for n in t.shape if isinstance(n, int))


def _as(t: object, own: tuple[int, ...], new: tuple[int, ...], what: str, tracer: Tracer) -> SharedTile:
    """The tile's elements in row-major order under ``new``."""
    if isinstance(t, TapedTile):
        return taped.rearranged(t, new, lambda s: s.view(*own))  # type: ignore[return-value]
    shared = shared_of(t, what, tracer)
    return shared.seen_as(shared.view(*new))


def tile_transpose(t: RegisterTile | SharedTile) -> SharedTile:
    """The tile with its two axes exchanged, without moving it; code K231 for other ranks."""
    tracer = current("T.tile_transpose")
    own = shape_of(t, "tile_transpose", tracer)
    if len(own) != 2:
        refuse("K231", f"a tile of {len(own)} dimensions has no transpose", tracer.place())
    return permuted(t, (1, 0))


def permuted(t: object, order: tuple[int, ...]) -> SharedTile:
    """The tile with axis ``order[k]`` as its axis k, without moving it."""
    tracer = current("a tile")
    if isinstance(t, TapedTile):
        back = tuple(order.index(k) for k in range(len(order)))
        return taped.rearranged(t, tuple(t.shape[k] for k in order),  # type: ignore[return-value]
                                lambda s: s.permute(*back))
    shared = shared_of(t, "tile_transpose", tracer)
    return shared.seen_as(shared.permute(*order))


def part(t: object, items: tuple[object, ...]) -> SharedTile:
    """``t[items]``: ranges keep their axis, numbers drop it."""
    tracer = current("T.tile_view")
    if isinstance(t, TapedTile):
        refuse("K240", "a window of a tile has no gradient", tracer.place(), help="load the window by itself")
    shared = shared_of(t, "tile_view", tracer)
    shared.settled()
    return shared.seen_as(shared.sub[items])


def tile_reshape(t: RegisterTile | SharedTile, shape: int | tuple[int, ...]) -> SharedTile:
    """The tile's elements, in row-major order, under other coordinates; code K231 where the counts differ."""
    tracer = current("T.tile_reshape")
    extents = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    own = shape_of(t, "tile_reshape", tracer)
    total = prod(own)
    if extents.count(-1) == 1:
        known = prod(n for n in extents if n != -1)
        extents[extents.index(-1)] = total // known if known else 0
    new = extents_of(tuple(extents), tracer)
    if prod(new) != total:
        refuse("K231", f"{list(own)} elements do not make {list(new)}", tracer.place())
    return _as(t, own, new, "tile_reshape", tracer)


def tile_squeeze(t: RegisterTile | SharedTile, axis: int | tuple[int, ...] | None = None) -> SharedTile:
    """The tile without its axes of extent 1, or without those of ``axis`` (K236 for others)."""
    tracer = current("T.tile_squeeze")
    shape = shape_of(t, "tile_squeeze", tracer)
    given = [k for k, n in enumerate(shape) if n == 1] if axis is None \
        else list(axis) if isinstance(axis, (tuple, list)) else [axis]
    if any(isinstance(k, bool) or not isinstance(k, int) for k in given):
        refuse("K236", f"an axis is an integer, known while the kernel is read; not {said(axis)}", tracer.place())
    dropped = {k + len(shape) if k < 0 else k for k in given}
    if any(not 0 <= k < len(shape) or shape[k] != 1 for k in dropped):
        refuse("K236", f"axis {said(axis)} of a tile of {list(shape)} has not extent 1", tracer.place())
    kept = tuple(n for k, n in enumerate(shape) if k not in dropped) or (1,)
    return _as(t, shape, kept, "tile_squeeze", tracer)


def tile_broadcast(t: RegisterTile | SharedTile, shape: int | tuple[int, ...]) -> SharedTile:
    """The tile repeated along new leading axes and along axes of extent 1, without being stored again (K231)."""
    tracer = current("T.tile_broadcast")
    extents = extents_of(shape, tracer)
    own = shape_of(t, "tile_broadcast", tracer)
    lead = len(extents) - len(own)
    if lead < 0 or any(n not in (1, e) for n, e in zip(own, extents[lead:], strict=True)):
        refuse("K231", f"a tile of {list(own)} does not broadcast to {list(extents)}", tracer.place())
    if isinstance(t, TapedTile):
        return taped.repeated(t, extents)
    dense = shared_of(t, "tile_broadcast", tracer).dense()
    strides, below = [0] * len(extents), 1
    for k in reversed(range(len(own))):
        strides[lead + k] = below if own[k] > 1 else 0
        below *= own[k]
    return dense.seen_as(dense.view(*extents, layout=TileLayout(S[extents:tuple(strides)])))


def tile_view(t: RegisterTile | SharedTile, offset: int | tuple[object, ...],
              shape: int | tuple[int, ...] | None = None) -> SharedTile:
    """The window of ``shape`` at ``offset`` of the tile, in the same memory; bounds are obligations. Without ``shape``
    each offset drops its axis, and the axes behind them are whole. Code K231."""
    tracer = current("T.tile_view")
    if isinstance(t, TapedTile):
        refuse("K240", "a window of a tile has no gradient", tracer.place(), help="load the window by itself")
    shared = shared_of(t, "tile_view", tracer)
    starts = offset if isinstance(offset, (tuple, list)) else (offset,)
    extents = () if shape is None else extents_of(shape, tracer)
    if len(starts) > shared.ndim or (extents and len(extents) != len(starts)):
        refuse("K231", f"a view at {len(starts)} offsets of a tile of {shared.ndim} dimensions", tracer.place(),
               help="give one offset and one extent for each axis")
    firsts = [typed.literal(o, "int32") if isinstance(o, int) else o for o in starts]
    if any(not isinstance(o, Expr) for o in firsts):
        refuse("K231", f"an offset is an integer, not {said(offset)}", tracer.place())
    if not extents:
        return shared.seen_as(shared.sub[tuple(firsts)])
    items = tuple(slice(o, typed.binary("add", o, n))
                  for o, n in zip(firsts, extents, strict=True) if isinstance(o, Expr))
    return shared.seen_as(shared.sub[items])


intrinsic(tile_view)
intrinsic(tile_transpose)
intrinsic(tile_reshape)
intrinsic(tile_squeeze)
intrinsic(tile_broadcast)
