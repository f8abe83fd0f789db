"""What kernels call: ``wp.tid`` and the tile operations, over the kernel language's own."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field

from ptxspec import tiles
from ptxspec.compat.warp.types import element
from ptxspec.lang import cuda, ir, scalars
from ptxspec.lang.errors import refuse
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import current, intrinsic
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Expr, is_integer
from ptxspec.tiles import RegisterTile


@dataclass(frozen=True)
class LaunchState:
    """How the kernel being read is launched: ``dim`` as the caller gave it, one block for each element when ``tiled``,
    in blocks of ``block`` threads (a plain launch of fewer starts as many as it needs); ``trailing`` are the axes
    inside one element of each array parameter."""

    dim: tuple[int, ...]
    tiled: bool
    block: int = 0
    trailing: dict[ir.Buffer, tuple[int, ...]] = field(default_factory=dict)


launching: ContextVar[LaunchState | None] = ContextVar("ptxspec_warp_launch", default=None)


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


def _inner(a: object) -> tuple[int, ...]:
    state = launching.get()
    if state is None or not isinstance(a, TensorView):
        return ()
    return state.trailing.get(a.ir.buffer, ())


def _shape(value: object, inner: tuple[int, ...]) -> tuple[object, ...]:
    return (*(value if isinstance(value, (tuple, list)) else (value,)), *inner)


def _offset(value: object, inner: tuple[int, ...]) -> object:
    if value is None:
        return None
    return (*(value if isinstance(value, (tuple, list)) else (value,)), *(0 for _ in inner))


class _TileType:
    """The annotation ``wp.tile[float, M, N]`` of a function's parameter; what is passed is what counts."""

    def __getitem__(self, key: object) -> _TileType:
        return self

    def __call__(self, *args: object, **kwargs: object) -> _TileType:
        return self


tile = _TileType()


@intrinsic
def tile_full(shape: object, value: object, dtype: object = None, storage: str = "register") -> object:
    """:func:`ptxspec.tiles.tile_full`; elements of vectors and matrices are filled throughout."""
    kind = element(float if dtype is None else dtype)
    return tiles.tile_full(_shape(shape, kind.trailing), value, kind.scalar, storage)  # type: ignore[arg-type]


@intrinsic
def tile_zeros(shape: object, dtype: object = float, storage: str = "register") -> object:
    """A tile of zeros."""
    return tile_full(shape, 0, dtype, storage)


@intrinsic
def tile_ones(shape: object, dtype: object = float, storage: str = "register") -> object:
    """A tile of ones."""
    return tile_full(shape, 1, dtype, storage)


@intrinsic
def tile_empty(shape: object, dtype: object = float, storage: str = "register") -> object:
    """A tile whose values mean nothing yet (zeros, so that results never depend on old registers)."""
    return tile_full(shape, 0, dtype, storage)


@intrinsic
def tile_load(a: TensorView, shape: object, offset: object = None, storage: str = "register",
              bounds_check: bool = True, aligned: bool = False) -> RegisterTile | TensorView:
    """:func:`ptxspec.tiles.tile_load`; arrays of vectors and matrices are loaded whole elements at a time."""
    inner = _inner(a)
    return tiles.tile_load(a, _shape(shape, inner), _offset(offset, inner),  # type: ignore[arg-type]
                           storage, bounds_check, aligned)


@intrinsic
def tile_store(a: TensorView, t: RegisterTile | TensorView, offset: object = None, bounds_check: bool = True,
               aligned: bool = False) -> None:
    """:func:`ptxspec.tiles.tile_store`."""
    tiles.tile_store(a, t, _offset(offset, _inner(a)), bounds_check, aligned)


@intrinsic
def tile_atomic_add(a: TensorView, t: RegisterTile | TensorView, offset: object = None, bounds_check: bool = True,
                    aligned: bool = False) -> RegisterTile:
    """:func:`ptxspec.tiles.tile_atomic_add`: the tile of the old values."""
    return tiles.tile_atomic_add(a, t, _offset(offset, _inner(a)), bounds_check, aligned)


@intrinsic
def tile_load_indexed(a: TensorView, indices: RegisterTile | TensorView, shape: object, offset: object = None,
                      axis: int = 0, storage: str = "register") -> RegisterTile | TensorView:
    """:func:`ptxspec.tiles.tile_load_indexed`."""
    inner = _inner(a)
    return tiles.tile_load_indexed(a, indices, _shape(shape, inner), _offset(offset, inner),  # type: ignore[arg-type]
                                   axis, storage)


@intrinsic
def tile_store_indexed(a: TensorView, indices: RegisterTile | TensorView, t: RegisterTile | TensorView,
                       offset: object = None, axis: int = 0) -> None:
    """:func:`ptxspec.tiles.tile_store_indexed`."""
    tiles.tile_store_indexed(a, indices, t, _offset(offset, _inner(a)), axis)


@intrinsic
def tile_atomic_add_indexed(a: TensorView, indices: RegisterTile | TensorView, t: RegisterTile | TensorView,
                            offset: object = None, axis: int = 0) -> RegisterTile:
    """:func:`ptxspec.tiles.tile_atomic_add_indexed`."""
    return tiles.tile_atomic_add_indexed(a, indices, t, _offset(offset, _inner(a)), axis)


@intrinsic
def tile_arange(*span: object, dtype: object = int, storage: str = "register") -> object:
    """:func:`ptxspec.tiles.tile_arange`; one of floats is in registers."""
    kind = element(dtype).scalar
    if is_integer(kind):
        return tiles.tile_arange(*span, dtype=kind)  # type: ignore[arg-type]
    return tiles.tile_arange(*span).astype(kind)  # type: ignore[arg-type]


tile_transpose = tiles.tile_transpose
tile_reshape = tiles.tile_reshape
tile_squeeze = tiles.tile_squeeze
tile_broadcast = tiles.tile_broadcast
tile_view = tiles.tile_view
min = scalars.min
max = scalars.max
abs = scalars.abs
