"""What is known while a Warp kernel is read: its launch, and what the elements of its arrays and tiles are."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from ptxspec.compat.warp.types import Element
from ptxspec.lang import ir
from ptxspec.lang.tensor import TensorView
from ptxspec.tiles import RegisterTile
from ptxspec.tiles.tape import TapedTile

V = TypeVar("V")


@dataclass(frozen=True)
class LaunchState:
    """How the kernel being read is launched: ``dim`` as the caller gave it, one block for each element when ``tiled``,
    in blocks of ``block`` threads (a plain launch of fewer starts as many as it needs). ``kinds`` are the elements of
    arrays and of tiles in shared memory that are more than a number, ``tiles`` those of tiles in registers. ``viewed``
    are the tiles of an adjoint that have several names: other coordinates of one tile."""

    dim: tuple[int, ...]
    tiled: bool
    block: int = 0
    kinds: dict[ir.Buffer, Element] = field(default_factory=dict)
    tiles: dict[int, tuple[object, Element]] = field(default_factory=dict)
    viewed: dict[int, TapedTile] = field(default_factory=dict)


launching: ContextVar[LaunchState | None] = ContextVar("ptxspec_warp_launch", default=None)


def kind_of(value: object) -> Element | None:
    """What an element of an array or tile is, where it is more than a number."""
    state = launching.get()
    if state is None:
        return None
    if isinstance(value, TensorView):
        return state.kinds.get(value.ir.buffer)
    found = state.tiles.get(id(value))
    return None if found is None else found[1]


def inner(value: object) -> tuple[int, ...]:
    """The axes inside one element of an array or tile."""
    kind = kind_of(value)
    return () if kind is None else kind.trailing


def marked(value: V, kind: Element | None) -> V:
    """``value``, an array or tile whose elements are ``kind``."""
    state = launching.get()
    if state is not None and kind is not None and kind.trailing:
        if isinstance(value, TensorView):
            state.kinds[value.ir.buffer] = kind
        elif isinstance(value, (RegisterTile, TapedTile)):
            state.tiles[id(value)] = value, kind
    return value


def seen(old: object, new: V) -> V:
    """``new``, which is ``old`` under other coordinates; what one changes, the other sees."""
    state = launching.get()
    if state is not None:
        state.viewed.update({id(t): t for t in (old, new) if isinstance(t, TapedTile)})
    return new


def has_views(value: object) -> bool:
    """True for a tile of an adjoint that is seen under other coordinates too."""
    state = launching.get()
    return state is not None and id(value) in state.viewed


def extents(value: object) -> tuple[int, ...]:
    """The shape of a tile in elements."""
    shape = tuple(n for n in getattr(value, "shape", ()) if isinstance(n, int))
    return shape[:len(shape) - len(inner(value))]
