"""What kernels call: ``wp.tid`` and the tile operations, over the kernel language's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from ptxspec import tiles
from ptxspec.compat.warp import structures
from ptxspec.compat.warp.making import whole_shape
from ptxspec.compat.warp.state import LaunchState, inner, kind_of, launching, marked
from ptxspec.lang import cuda
from ptxspec.lang.errors import refuse
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import current, intrinsic
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr
from ptxspec.tiles import RegisterTile


@dataclass(frozen=True, slots=True)
class ThreadIndex:
    """``wp.tid()`` before it is known how many indices the caller takes."""

    ptxspec_intrinsic = True

    def take(self, count: int) -> tuple[Expr, ...]:
        """``count`` coordinates of the thread: of its block first, then the thread in the block for tiled launches."""
        tracer = current("wp.tid")
        state = launching.get()
        assert state is not None
        wanted = len(state.dim)
        if count == wanted:
            return coordinates(state)
        if state.tiled and count == wanted + 1:
            return (*coordinates(state), tracer.linear_thread())
        refuse("K237", f"wp.tid() gives {wanted} indices for a launch of {list(state.dim)}"
                       f"{f', or {wanted + 1} with the thread in its block' if state.tiled else ''}, not {count}",
               tracer.place(), help="launch with as many dimensions as the kernel takes indices")


def coordinates(state: LaunchState) -> tuple[Expr, ...]:
    """Position of the block (tiled) or of the thread in ``dim``, last axis fastest."""
    tracer = current("wp.tid")
    if state.tiled and fits_grid(state.dim):
        found = [tracer.hardware_id("ctaid", "xyz"[len(state.dim) - 1 - k]) for k in range(len(state.dim))]
        return tuple(typed.literal(0, "int32") if n == 1 else v for n, v in zip(state.dim, found))
    linear: Expr = tracer.hardware_id("ctaid", "x")
    if not state.tiled:
        linear = typed.binary("add", typed.binary("mul", linear, tracer.threads), tracer.linear_thread())
    result: list[Expr] = []
    below = 1
    for k in reversed(range(len(state.dim))):
        value = typed.binary("floordiv", linear, below) if below > 1 else linear
        if k:
            value = typed.binary("floormod", value, state.dim[k])
        result.append(value)
        below *= state.dim[k]
    return tuple(reversed(result))


def fits_grid(dim: tuple[int, ...]) -> bool:
    """True when the blocks can lie on the grid's own axes, last axis on x."""
    return len(dim) <= 3 and all(extent <= 65535 for extent in dim[:-1])


@intrinsic
def tid() -> ThreadIndex:
    """The indices of the thread, or of its block in a tiled launch: ``i, j = wp.tid()``."""
    return ThreadIndex()


@intrinsic
def block_dim() -> Expr:
    """Threads of a block, as the launch names them."""
    state = launching.get()
    return typed.literal(state.block, "int32") if state is not None and state.block else cuda.block_dim("x")


def _offset(value: object, more: tuple[int, ...]) -> object:
    if value is None:
        return None
    return (*(value if isinstance(value, (tuple, list)) else (value,)), *(0 for _ in more))


def _start(offset: object, a: TensorView) -> object:
    return (0,) * (a.ndim - 1) if offset is None else offset


@intrinsic
def tile_load(a: TensorView, shape: object, offset: object = None, storage: str = "register",
              bounds_check: bool = True, aligned: bool = False) -> RegisterTile | TensorView:
    """:func:`ptxspec.tiles.tile_load`; arrays of vectors and matrices are loaded whole elements at a time."""
    more = inner(a)
    return marked(tiles.tile_load(a, whole_shape(shape, more), _offset(offset, more),  # type: ignore[arg-type]
                                  storage, bounds_check, aligned), kind_of(a))


@intrinsic
def tile_store(a: TensorView, t: RegisterTile | TensorView, offset: object = None, bounds_check: bool = True,
               aligned: bool = False) -> None:
    """:func:`ptxspec.tiles.tile_store`."""
    tiles.tile_store(a, t, _offset(offset, inner(a)), bounds_check, aligned)


@intrinsic
def tile_atomic_add(a: TensorView, t: RegisterTile | TensorView, offset: object = None, bounds_check: bool = True,
                    aligned: bool = False) -> RegisterTile | None:
    """:func:`ptxspec.tiles.tile_atomic_add`: the tile of the old values. Of structures of several types, fields that
    have an atomic addition are added, and nothing is given back."""
    if structures.untyped(a) is not None:
        if aligned is not False:
            refuse("K232", "fields of structures are added one by one, so aligned=True cannot be",
                   current("wp").place())
        structures.atomic_add(a, t, lambda array, tile: tiles.tile_atomic_add(
            array, tile, _offset(_start(offset, a), (1,)), bounds_check))
        return None
    return marked(tiles.tile_atomic_add(a, t, _offset(offset, inner(a)), bounds_check, aligned), kind_of(a))


@intrinsic
def tile_load_indexed(a: TensorView, indices: RegisterTile | TensorView, shape: object, offset: object = None,
                      axis: int = 0, storage: str = "register") -> RegisterTile | TensorView:
    """:func:`ptxspec.tiles.tile_load_indexed`."""
    more = inner(a)
    return marked(tiles.tile_load_indexed(a, indices, whole_shape(shape, more),  # type: ignore[arg-type]
                                          _offset(offset, more), axis, storage), kind_of(a))


@intrinsic
def tile_store_indexed(a: TensorView, indices: RegisterTile | TensorView, t: RegisterTile | TensorView,
                       offset: object = None, axis: int = 0) -> None:
    """:func:`ptxspec.tiles.tile_store_indexed`."""
    tiles.tile_store_indexed(a, indices, t, _offset(offset, inner(a)), axis)


@intrinsic
def tile_atomic_add_indexed(a: TensorView, indices: RegisterTile | TensorView, t: RegisterTile | TensorView,
                            offset: object = None, axis: int = 0) -> RegisterTile | None:
    """:func:`ptxspec.tiles.tile_atomic_add_indexed`."""
    if structures.untyped(a) is not None:
        structures.atomic_add(a, t, lambda array, tile: tiles.tile_atomic_add_indexed(
            array, indices, tile, _offset(_start(offset, a), (1,)), axis))
        return None
    return marked(tiles.tile_atomic_add_indexed(a, indices, t, _offset(offset, inner(a)), axis), kind_of(a))


@intrinsic
def tile_map(op: object, *args: object) -> NoReturn:
    """The tile of ``op(a, ...)`` for each element of tiles of one shape, and of numbers that are the same for all."""
    raise AssertionError("the reader of Warp kernels maps functions")
