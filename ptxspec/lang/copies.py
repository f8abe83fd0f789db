"""Layouts with copies in memory: a read takes the first copy, a write changes every one.

Copies on hardware axes need nothing here: each thread that holds one writes it itself. A copy is the same view under
the layout of that copy alone, so proofs, emission and simulation see ordinary accesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import refuse
from ptxspec.layout import ComposeLayout, Layout, TileLayout
from ptxspec.layout.spec import Iter
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly

#: Copies of one element that a write may have to change.
MOST = 64


def each_copy(view: ir.View, span: Span) -> list[ir.View]:
    """``view`` once for each copy that its layout keeps in memory, the one that reads take first.

    KernelError K157 where the copies are not known while the kernel is read, or share elements.
    """
    at, layout = _deciding(view)
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    if not isinstance(tile, TileLayout) or not (memory := _in_memory(tile.replica)):
        return [view]
    name = view.buffer.name
    if not all(r.extent.is_const and r.stride.is_const for r in memory):
        refuse("K157", f"how many copies of each element the layout of `{name}` keeps, or where, is not known while "
                       "the kernel is read, so a write cannot reach them", span,
               help="write each copy through a layout without replicas")
    count = prod(r.extent.const for r in memory)
    if count > MOST:
        refuse("K157", f"the layout of `{name}` keeps {count} copies of each element; a write changes at most {MOST}",
               span, help="loop over the copies, and write each through a layout without replicas")
    shared = [f for f in tile.shard if f.axis == "m"]
    if not _apart([*shared, *memory]):
        refuse("K157", f"copies of different elements of `{name}` may share their place in {layout!r}, so a write of "
                       "one element would change another", span,
               help="give the copies strides that step over the elements")
    origin = dict(tile.offset).get("m", ix.ZERO)
    if at is None and isinstance(layout, ComposeLayout) and origin != ix.ZERO:
        refuse("K157", f"the swizzled layout of `{name}` keeps copies and begins at an offset, so a write cannot reach "
                       "them", span, help="drop the offset, or write each copy through a layout without replicas")
    result: list[ir.View] = []
    for position in product(*(range(r.extent.const) for r in memory)):
        shift = sum(k * r.stride.const for k, r in zip(position, memory, strict=True))
        # A new layout at the front counts from the first element, one in the middle replaces what stands there.
        start = ix.constant(shift) if at is None else ix.add(origin, shift)
        one = _alone(layout, tile, {**dict(tile.offset), "m": start})
        if at is None:
            steps: tuple[ir.Step, ...] = (ir.Relayout(view.buffer.shape, one, span), *view.steps)
        else:
            old = view.steps[at]
            assert isinstance(old, ir.Relayout)
            steps = (*view.steps[:at], ir.Relayout(old.shape, one, old.span), *view.steps[at + 1:])
        result.append(ir.View(view.buffer, steps, view.shape, view.dtype, view.span))
    return result


def _deciding(view: ir.View) -> tuple[int | None, Layout]:
    """The step whose layout decides where elements lie, and that layout; None for the buffer's own."""
    for k in range(len(view.steps) - 1, -1, -1):
        step = view.steps[k]
        if isinstance(step, ir.Relayout):
            return k, step.layout
    return None, view.buffer.layout


def _in_memory(replicas: Sequence[Iter]) -> list[Iter]:
    return [r for r in replicas if r.axis == "m" and r.extent != ix.ONE]


def _alone(layout: Layout, tile: TileLayout, offset: dict[str, Poly]) -> Layout:
    """``layout`` with one copy in memory, at ``offset``."""
    one = TileLayout.from_iters(tile.shard, [r for r in tile.replica if r.axis != "m"], offset)
    if not isinstance(layout, ComposeLayout):
        return one
    return ComposeLayout(layout.per_element, layout.swizzle_len, layout.atom_len, one, layout.swizzle_inner)


def _apart(factors: Sequence[Iter]) -> bool:
    """True when no two positions fall together, seen from the strides alone: each steps over all smaller ones."""
    if not all(f.extent.is_const and f.stride.is_const for f in factors):
        return False
    reach = 0
    for stride, extent in sorted((abs(f.stride.const), f.extent.const) for f in factors if f.extent.const > 1):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True
