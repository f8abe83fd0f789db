"""Tiles that are not loaded: filled, counted, or made of the values that threads have."""

from __future__ import annotations

from ptxspec import tiles
from ptxspec.compat.warp.mapping import element_of, filled, per_thread
from ptxspec.compat.warp.state import extents, inner, marked
from ptxspec.compat.warp.types import Compound, Element, Struct, element
from ptxspec.compat.warp.values import Composite, Fields
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import current, intrinsic
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Expr, is_integer
from ptxspec.tiles import RegisterTile, threads
from ptxspec.tiles.calls import extents_of
from ptxspec.tiles.computed import ComputedTile
from ptxspec.tiles.made import zeros_of_bits
from ptxspec.tiles.tape import TapedTile


def whole_shape(value: object, more: tuple[int, ...]) -> tuple[object, ...]:
    """A shape in elements with the axes inside them behind."""
    return (*(value if isinstance(value, (tuple, list)) else (value,)), *more)


@intrinsic
def tile_full(shape: object, value: object, dtype: object = None, storage: str = "register") -> object:
    """:func:`ptxspec.tiles.tile_full`; without ``dtype``, elements are what ``value`` is. A number fills vectors and
    matrices throughout."""
    kind = _kind(value) if dtype is None else element(dtype)
    if isinstance(value, (Composite, Fields)):
        return filled(extents_of(shape, current("wp.tile_full")), kind, value)
    full = whole_shape(shape, kind.trailing)
    if kind.scalar.startswith("bits"):
        if not isinstance(value, int) or value != 0:
            refuse("K233", f"a tile of {kind.struct or kind.scalar} is not filled with a number", current("wp").place(),
                   help="load it from an array, or begin with wp.tile_zeros")
        return marked(zeros_of_bits(full, kind.scalar, storage), kind)  # type: ignore[arg-type]
    return marked(tiles.tile_full(full, value, kind.scalar, storage), kind)  # type: ignore[arg-type]


def _kind(value: object) -> Element:
    if isinstance(value, (Composite, Fields)):
        return value.kind
    if isinstance(value, Expr):
        return Element("uint8" if value.dtype == BOOL else value.dtype, ())
    return element(type(value)) if isinstance(value, (bool, int)) else element(float)


@intrinsic
def tile_zeros(shape: object, dtype: object = float, storage: str = "register") -> object:
    """A tile of zeros."""
    return tile_full(shape, 0, dtype, storage)


@intrinsic
def tile_ones(shape: object, dtype: object = float, storage: str = "register") -> object:
    """A tile of ones: every component 1, of a quaternion the first one."""
    if isinstance(dtype, Compound) and dtype.name.startswith("quat"):
        return tile_full(shape, dtype(1, 0, 0, 0), dtype, storage)
    if isinstance(dtype, Struct):
        refuse("K233", f"a tile of {dtype!r} is not filled with ones", current("wp").place(),
               help="fill it with a value: wp.tile_full(shape, s, dtype)")
    return tile_full(shape, 1, dtype, storage)


@intrinsic
def tile_empty(shape: object, dtype: object = float, storage: str = "register") -> object:
    """A tile whose values mean nothing yet (zeros, so that results never depend on old registers)."""
    return tile_full(shape, 0, dtype, storage)


@intrinsic
def tile_arange(*args: object, dtype: object = float, storage: str = "register") -> object:
    """:func:`ptxspec.tiles.tile_arange`; ``dtype=int`` makes formulas that proofs see through, floats are registers."""
    kind = element(dtype).scalar
    whole = [int(a) if isinstance(a, float) and a.is_integer() and not is_integer(kind) else a for a in args]
    if is_integer(kind):
        return tiles.tile_arange(*whole, dtype=kind)  # type: ignore[arg-type]
    return tiles.tile_arange(*whole).astype(kind)  # type: ignore[arg-type]


@intrinsic
def tile_from_thread(shape: object, value: object, thread_idx: object, storage: str = "register") -> object:
    """A tile that holds throughout the ``value`` which thread ``thread_idx`` of the block has."""
    if isinstance(value, Composite):
        value = Composite(value.scalar, value.shape, [threads.of_thread(v, thread_idx) for v in value.values])
    elif isinstance(value, Fields):
        refuse("K243", "tile_from_thread takes a number or a vector, not a structure", current("wp").place(),
               help="hand over its fields one by one")
    else:
        value = threads.of_thread(value, thread_idx)
    return tile_full(shape, value, None, storage)


class _TileType:
    """The annotation ``wp.tile[float, M, N]`` of a function's parameter, where what is passed is what counts; called
    in a kernel, the tile of all threads' values."""

    ptxspec_intrinsic = True

    def __getitem__(self, key: object) -> _TileType:
        return self

    def __call__(self, x: object = None, preserve_type: bool = False, dtype: object = None,
                 shape: object = None) -> object:
        if dtype is not None or shape is not None or x is None:
            return self
        if isinstance(x, (Composite, Fields)):
            return per_thread(x, preserve_type)
        return threads.tile_of_threads(x)


tile = _TileType()


@intrinsic
def untile(a: object) -> object:
    """The executing thread's element of a tile of as many elements as the block has threads; of a tile with an axis
    in front of that, the vector along it."""
    tracer = current("wp.untile")
    if isinstance(a, TapedTile):
        refuse("K240", "elements of a tile are read one by one: the adjoint keeps no values of tiles", tracer.place())
    if isinstance(a, ComputedTile):
        a = a.registers()
    shape = extents(a)
    if not isinstance(a, (RegisterTile, TensorView)) or not shape or len(shape) > 2 or shape[-1] != tracer.threads \
            or (inner(a) and len(shape) > 1):
        refuse("K231", f"untile takes a tile of {tracer.threads} elements, one for each thread, not {said(a)}",
               tracer.place())
    if isinstance(a, RegisterTile) and len(shape) == 1 and not inner(a):
        return threads.own_value(a)
    thread = tracer.linear_thread()
    if inner(a) or len(shape) == 1:
        return element_of(a, (thread,))
    values = [element_of(a, (typed.literal(k, "int32"), thread)) for k in range(shape[0])]
    return Composite(a.dtype, shape[:1], values)  # type: ignore[arg-type]
