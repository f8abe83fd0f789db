"""From a view and an index to the byte, register and thread behind it, with every bound on the way.

Steps are undone from the last to the first. All arithmetic is exact; nothing is assumed about the bounds, which are
handed back as :class:`~ptxspec.lang.ir.BoundCheck` goals, one for each axis of each narrowing step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ptxspec.lang.ir import (
    BoundCheck,
    Buffer,
    Located,
    Permute,
    Reinterpret,
    Relayout,
    Replica,
    Reshape,
    Sub,
    View,
)
from ptxspec.lang.shapes import Shape, reshaped
from ptxspec.layout import ComposeLayout, Layout
from ptxspec.layout.value import exact_div, recombined
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, Expr, Poly

Index = int | Expr


def element_bytes(dtype: str) -> int:
    """Bytes of one element of ``dtype``."""
    return BITS[dtype] // 8


def axis_name(axis: int, rank: int) -> str:
    """An index in words: rows and columns of two-dimensional tensors, numbered axes of others."""
    if rank == 2:
        return f"{('row', 'column')[axis]} index (axis {axis})"
    return "index" if rank == 1 else f"index of axis {axis}"


@lru_cache(maxsize=4096)
def storage(buffer: Buffer) -> tuple[Poly, Poly]:
    """First element and one past the last of the buffer's storage, in elements from its base.

    Allocated storage starts at its lowest element, so the first is 0. A parameter's base is the pointer the host
    passes, the place of physical coordinate 0: negative strides reach below it.
    """
    low, high = buffer.layout.memory_range()
    return (low, high) if buffer.is_param else (ix.ZERO, ix.sub(high, low))


@lru_cache(maxsize=4096)
def lowest(buffer: Buffer) -> Poly:
    """The lowest element that the buffer's layout names."""
    return buffer.layout.memory_range()[0]


def storage_elements(buffer: Buffer) -> Poly:
    """Elements of storage one owner of the buffer holds: the CTA (shared), the thread (local) or the array."""
    low, high = storage(buffer)
    return ix.sub(high, low)


@lru_cache(maxsize=4096)
def stages(view: View) -> tuple[tuple[Shape, str], ...]:
    """Shape and element type before each step of ``view``."""
    shape, dtype = view.buffer.shape, view.buffer.dtype
    result: list[tuple[Shape, str]] = []
    for step in view.steps:
        result.append((shape, dtype))
        if isinstance(step, Sub):
            shape = tuple(a.extent for a in step.axes if a.keep)
        elif isinstance(step, (Reshape, Relayout)):
            shape = step.shape
        elif isinstance(step, Permute):
            shape = tuple(shape[k] for k in step.order)
        else:
            shape = (*shape[:-1], rescaled(shape[-1], dtype, step.dtype))
            dtype = step.dtype
    return tuple(result)


def rescaled(extent: Poly, old: str, new: str) -> Poly:
    """The last extent after reinterpreting ``old`` as ``new``; the caller has made sure that it is exact."""
    result = exact_div(ix.scale(extent, BITS[old]), ix.constant(BITS[new]))
    if result is None:
        raise ValueError(f"{extent} elements of {old} are no whole number of {new}")
    return result


def locate(view: View, index: Sequence[Index]) -> Located:
    """Where the element of ``view`` at ``index`` lies, and the bounds that must hold for it to exist.

    ``index`` has one coordinate for each axis of ``view.shape``; typed, exact or plain integers.
    """
    at = [ix.index(i) for i in index]
    if len(at) != len(view.shape):
        raise ValueError(f"{len(at)} coordinates for a view of rank {len(view.shape)}")
    checks = [BoundCheck(i, extent, axis, view.span, f"{axis_name(axis, len(at))} of `{view.buffer.name}`")
              for axis, (i, extent) in enumerate(zip(at, view.shape))]
    dtype = view.dtype
    inside = ix.ZERO   # byte within the element that `at` names
    before = stages(view)
    for k in range(len(view.steps) - 1, -1, -1):
        step, (shape, old_dtype) = view.steps[k], before[k]
        if isinstance(step, Sub):
            at = _undo_sub(step, at, shape, checks)
        elif isinstance(step, Reshape):
            at = reshaped(at, step.shape, shape)
        elif isinstance(step, Permute):
            old: list[Poly] = [ix.ZERO] * len(at)
            for new_axis, old_axis in enumerate(step.order):
                old[old_axis] = at[new_axis]
            at = old
        elif isinstance(step, Reinterpret):
            at[-1], inside = _undo_reinterpret(at[-1], inside, element_bytes(old_dtype), element_bytes(dtype))
            dtype = old_dtype
        else:
            return _relocated(view, k, step, at, inside, dtype, checks)
    return _placed(view.buffer, at, inside, checks)


def _undo_sub(step: Sub, at: list[Poly], shape: Shape, checks: list[BoundCheck]) -> list[Poly]:
    result: list[Poly] = []
    kept = iter(at)
    for axis, part in enumerate(step.axes):
        position = ix.add(part.start, ix.scale(next(kept), part.step)) if part.keep else ix.index(part.start)
        what = f"{axis_name(axis, len(shape))} of `{step.text}`" if step.text else axis_name(axis, len(shape))
        checks.append(BoundCheck(position, shape[axis], axis, step.span, what))
        result.append(position)
    return result


def _undo_reinterpret(last: Poly, inside: Poly, old: int, new: int) -> tuple[Poly, Poly]:
    if new <= old:   # several new elements in one old one
        ratio = old // new
        return ix.floordiv(last, ratio), ix.add(ix.scale(ix.floormod(last, ratio), new), inside)
    return ix.add(ix.scale(last, new // old), ix.floordiv(inside, old)), ix.floormod(inside, old)


def _placed(buffer: Buffer, at: Sequence[Poly], inside: Poly, checks: list[BoundCheck]) -> Located:
    axes = buffer.layout.place(at, buffer.shape)
    slot = recombined(axes.pop("m", ix.ZERO))
    if not buffer.is_param:
        slot = ix.sub(slot, lowest(buffer))
    byte = ix.add(ix.scale(slot, element_bytes(buffer.dtype)), inside)
    return Located(byte, slot, inside, tuple(axes.items()), tuple(checks), replicas(buffer.layout))


def _relocated(view: View, k: int, step: Relayout, at: Sequence[Poly], inside: Poly, dtype: str,
               checks: list[BoundCheck]) -> Located:
    """A new layout counts from the first element of what it was put on; the storage behind is the limit."""
    buffer = view.buffer
    behind_shape, behind_dtype = stages(view)[k]
    behind = View(buffer, view.steps[:k], behind_shape, behind_dtype, step.span)
    origin = locate(behind, [ix.ZERO] * len(behind_shape))
    size, unit = element_bytes(dtype), element_bytes(buffer.dtype)
    axes = step.layout.place(at, step.shape)
    physical = recombined(axes.pop("m", ix.ZERO))
    start = ix.add(origin.byte, ix.scale(physical, size))
    low, high = storage(buffer)
    if size == unit and origin.slot_byte == ix.ZERO:
        checks.append(BoundCheck(ix.sub(ix.add(origin.slot, physical), low), ix.sub(high, low), 0, step.span,
                                 f"element of the storage of `{buffer.name}`"))
    else:
        limit = ix.sub(ix.scale(ix.sub(high, low), unit), size - 1)
        checks.append(BoundCheck(ix.sub(start, ix.scale(low, unit)), limit, 0, step.span,
                                 f"first byte of a {size}-byte element in the storage of `{buffer.name}`"))
    checks += origin.checks
    byte = ix.add(start, inside)
    return Located(byte, ix.floordiv(byte, unit), ix.floormod(byte, unit), tuple(axes.items()), tuple(checks),
                   replicas(step.layout))


def replicas(layout: Layout) -> tuple[Replica, ...]:
    """The replica axes of ``layout``: further copies of every element.

    A hardware axis with a single copy is kept: it says that the element is there and nowhere else on that axis.
    """
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    return tuple(Replica(r.axis, r.extent, r.stride) for r in getattr(tile, "replica", ())
                 if r.extent != ix.ONE or r.axis != "m")


def located_words(view: View, group: Sequence[Index], repeat: Sequence[Index], words: int) -> tuple[Located, ...]:
    """The ``words`` elements of one atom: ``view`` has shape ``(*group, *repeat, words)``."""
    lead = [*group, *repeat]
    return tuple(locate(view, [*lead, word]) for word in range(words))
