"""Tiles under other coordinates, parts of tiles copied, elements converted: elements stay whole."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import NoReturn

from ptxspec import tiles
from ptxspec.compat.warp import elements, mapping, structures
from ptxspec.compat.warp.state import extents, has_views, inner, kind_of, marked, seen
from ptxspec.compat.warp.types import Element, element
from ptxspec.compat.warp.values import Composite
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import current, intrinsic
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr, is_integer
from ptxspec.tiles import RegisterTile, inplace, mapped, scatter, views
from ptxspec.tiles.calls import flags
from ptxspec.tiles.computed import ComputedTile
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tape import TapedTile


def _tuple(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


@intrinsic
def tile_transpose(a: object) -> object:
    """The tile with its two axes exchanged, without moving it."""
    more = inner(a)
    if not more:
        return seen(a, tiles.tile_transpose(a))  # type: ignore[arg-type]
    tracer, shape = current("wp.tile_transpose"), extents(a)
    if len(shape) != 2:
        refuse("K231", f"a tile of {len(shape)} dimensions has no transpose", tracer.place())
    return seen(a, marked(views.permuted(a, (1, 0, *range(2, 2 + len(more)))), kind_of(a)))


@intrinsic
def tile_reshape(t: object, shape: object) -> object:
    """The tile's elements, in row-major order, under other coordinates; one extent may be -1."""
    wanted = list(_tuple(shape))
    if inner(t) and wanted.count(-1) == 1:
        known = prod(n for n in wanted if isinstance(n, int) and n > 0)
        wanted[wanted.index(-1)] = prod(extents(t)) // known
    return seen(t, marked(tiles.tile_reshape(t, (*wanted, *inner(t))), kind_of(t)))  # type: ignore[arg-type]


@intrinsic
def tile_squeeze(t: object, axis: object = None) -> object:
    """The tile without its axes of extent 1, or without those of ``axis``."""
    shape = extents(t)
    if inner(t):
        chosen = [k for k, n in enumerate(shape) if n == 1] if axis is None else \
            [k + len(shape) if isinstance(k, int) and k < 0 else k for k in _tuple(axis)]
        if any(isinstance(k, int) and k >= len(shape) for k in chosen):
            refuse("K236", f"axis {said(axis)} of a tile of {list(shape)} has not extent 1", current("wp").place())
        axis = tuple(chosen[:len(shape) - 1] if len(chosen) == len(shape) else chosen)
    return seen(t, marked(tiles.tile_squeeze(t, axis), kind_of(t)))  # type: ignore[arg-type]


@intrinsic
def tile_broadcast(a: object, shape: object) -> object:
    """The tile repeated along new leading axes and along axes of extent 1, without being stored again."""
    made = tiles.tile_broadcast(a, (*_tuple(shape), *inner(a)))  # type: ignore[arg-type]
    return seen(a, marked(made, kind_of(a)))


@intrinsic
def tile_view(t: object, offset: object, shape: object = None) -> object:
    """The window of ``shape`` at ``offset`` of the tile, in the same memory; without ``shape``, ``t[offset]``."""
    if shape is None:
        return views.part(t, _tuple(offset))
    more = inner(t)
    return marked(tiles.tile_view(t, (*_tuple(offset), *(0 for _ in more)),  # type: ignore[arg-type]
                                  (*_tuple(shape), *more)), kind_of(t))  # type: ignore[arg-type]


@intrinsic
def tile_assign(dst: object, src: object, offset: object = None) -> None:
    """Copy ``src`` into ``dst`` at ``offset``; ``dst`` lies in shared memory from then on."""
    tracer = current("wp.tile_assign")
    if isinstance(dst, TapedTile) or isinstance(src, TapedTile):
        refuse("K240", "a part of a tile is assigned: only whole tiles have a gradient", tracer.place(),
               help="store the parts to memory one by one")
    if not isinstance(dst, (RegisterTile, TensorView)) or not isinstance(src, (RegisterTile, TensorView, ComputedTile)):
        refuse("K230", f"tile_assign copies a tile into a tile, not {said(src)} into {said(dst)}", tracer.place())
    starts = (0,) * len(extents(dst)) if offset is None else _tuple(offset)
    size = extents(src)
    if len(starts) != len(extents(dst)) or len(size) != len(starts):
        refuse("K231", f"a tile of {len(size)} dimensions at {len(starts)} offsets of a tile of {len(extents(dst))}",
               tracer.place(), help="give one offset for each axis")
    items = tuple(slice(o, typed.binary("add", o, n) if isinstance(o, Expr) else o + n)  # type: ignore[operator]
                  for o, n in zip(starts, size, strict=True))
    inplace.tile_assign(dst, items, src)  # type: ignore[arg-type]


@intrinsic
def tile_astype(t: object, dtype: object) -> object:
    """Every element converted."""
    kind = element(dtype)
    convert = getattr(t, "astype", None)
    if convert is None or kind.trailing or kind.struct is not None:
        refuse("K230", f"tile_astype converts a tile to a type of numbers, not {said(t)} to {said(dtype)}",
               current("wp").place())
    was = kind_of(t)
    return marked(convert(kind.scalar), None if was is None else Element(kind.scalar, was.trailing))


@intrinsic
def tile_axpy(alpha: object, src: object, dest: object) -> None:
    """``dest += alpha * src``, changing ``dest``."""
    tracer = current("wp.tile_axpy")
    work = getattr(src, "ptxspec_binary", None)
    if work is None or not isinstance(dest, (RegisterTile, TensorView, TapedTile)) or \
            not isinstance(alpha, (Expr, int, float)):
        refuse("K230", f"tile_axpy takes a number and two tiles, not {said(alpha)}, {said(src)} and {said(dest)}",
               tracer.place())
    change(dest, "add", work("mul", alpha, True))


def change(tile: object, name: str, other: object) -> None:
    """``tile = tile name other`` for everyone who has the tile (K240 where that are several names in an adjoint)."""
    if has_views(tile):
        refuse("K240", "a tile is changed that is seen under other coordinates too, whose gradients meet in another "
                       "order", current("wp").place(), help="make a new tile: t = t + u")
    work = inplace.updated if structures.untyped(tile) is None else structures.updated
    work(tile, name, other)     # type: ignore[arg-type]


@intrinsic
def tile_slice_indexed(t: object, indices: object) -> object:
    """``t[i, :]`` with a 1-D tile ``i`` of integers in the place of one axis: rows, or columns, picked. Below zero they
    count from the end; what is outside gives zero."""
    tracer = current("wp.tile_slice_indexed")
    items = _tuple(indices)
    if isinstance(t, TapedTile):
        refuse("K240", "rows of a tile picked by indices have no gradient", tracer.place(),
               help="load them with wp.tile_load_indexed")
    if not isinstance(t, (RegisterTile, TensorView, ComputedTile)):
        refuse("K230", f"tile_slice_indexed works on a tile, not {said(t)}", tracer.place())
    t = t.registers() if isinstance(t, ComputedTile) else t
    chosen = [k for k, i in enumerate(items) if picks(i)]
    if len(chosen) != 1 or len(items) > len(extents(t)) or \
            any(i != slice(None) for k, i in enumerate(items) if k != chosen[0]):
        refuse("K236", "one axis is picked by a 1-D tile of integers, and the others are whole: t[i, :]",
               tracer.place())
    shared = marked(views.shared_of(t, "tile_slice_indexed", tracer), kind_of(t))
    return marked(scatter.picked(shared, items[chosen[0]], chosen[0]), kind_of(t))


def picks(item: object) -> bool:
    """True for what picks rows: a 1-D tile."""
    return isinstance(item, ComputedTile) or (isinstance(item, (RegisterTile, TensorView)) and len(item.shape) == 1)


@intrinsic
def tile_diag_add(a: object, d: object) -> object:
    """A square tile with the elements of a 1-D tile added to its diagonal."""
    tracer = current("wp.tile_diag_add")
    given = [t.registers() if isinstance(t, ComputedTile) else t if isinstance(t, (RegisterTile, TapedTile))
             else views.shared_of(t, "tile_diag_add", tracer) for t in (a, d)]
    return marked(scatter.with_diagonal(*given), kind_of(a))  # type: ignore[arg-type]


@intrinsic
def tile_scatter_masked(a: object, *args: object) -> None:
    """``tile_scatter_masked(a, i, value, has_value)``: each thread for which ``has_value`` holds writes ``value`` to
    ``a[i]``; two threads that write one element are a race, and refused."""
    home, at, value, condition = _scattered(a, args, "tile_scatter_masked")
    kind = kind_of(a)

    def write(tile: SharedTile) -> None:
        elements.write(tile.sub[at], kind or Element(tile.dtype, ()), value, mapping.put)

    scatter.scattered(home, condition, write)


@intrinsic
def tile_scatter_add(a: object, *args: object, atomic: bool = True) -> None:
    """``tile_scatter_add(a, i, value, has_value, atomic)``: each thread for which ``has_value`` holds adds ``value`` to
    ``a[i]``. ``atomic=False`` claims that no two threads add to one element, which is proved."""
    rank, what = len(extents(a)), "tile_scatter_add"
    if len(args) == rank + 3:
        *args, atomic = args  # type: ignore[assignment]
    home, at, value, condition = _scattered(a, tuple(args), "tile_scatter_add")
    flags(current("wp.tile_scatter_add"), atomic=atomic)
    kind = kind_of(a)
    if kind is not None and (not isinstance(value, Composite) or value.shape != kind.trailing):
        refuse("K245", f"an element of {'x'.join(map(str, kind.trailing))} {kind.scalar} is added to, but "
                       f"{elements.said_value(value)} is given", current("wp").place(),
               help="give a value of that kind")

    def write(tile: SharedTile) -> None:
        tracer = current("wp.tile_scatter_add")
        if kind is None:
            scatter.add_at(tracer, tile, at, mapped.number_of(value, tracer.place(), f"{what} is given"), atomic)
            return
        assert isinstance(value, Composite)
        for k, inside in enumerate(product(*(range(n) for n in kind.trailing))):
            scatter.add_at(tracer, tile, (*at, *(typed.literal(i, "int32") for i in inside)),
                           value.typed(value.values[k]), atomic)

    scatter.scattered(home, condition, write)


def _scattered(a: object, args: tuple[object, ...],
               what: str) -> tuple[RegisterTile | SharedTile, tuple[Expr, ...], object, Expr]:
    """The tile, the place in it, the value, and the condition of a scatter."""
    tracer = current(f"wp.{what}")
    if isinstance(a, TapedTile):
        refuse("K240", "elements of a tile are written one by one: only whole tiles have a gradient", tracer.place())
    if not isinstance(a, RegisterTile):
        a = views.shared_of(a, what, tracer)
    rank = len(extents(a))
    if len(args) != rank + 2:
        refuse("K207", f"{what} takes a tile, {rank} indices for it, a value and a condition", tracer.place())
    *at, value, condition = args
    places = [typed.literal(i, "int32") if isinstance(i, int) and not isinstance(i, bool) else i for i in at]
    if any(not isinstance(i, Expr) or not is_integer(i.dtype) for i in places):
        refuse("K141", f"an index is an integer, not {said(at[0] if rank == 1 else tuple(at))}", tracer.place())
    if not isinstance(condition, (bool, int, Expr)):
        refuse("K222", f"has_value is a condition, not {said(condition)}", tracer.place())
    return a, tuple(places), value, typed.truth(condition, tracer.place())  # type: ignore[arg-type]


@intrinsic
def tile_extract(a: object, *at: object) -> NoReturn:
    """``a[at]``: the element, or a component of it."""
    raise AssertionError("the reader of Warp kernels reads elements")
