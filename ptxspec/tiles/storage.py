"""Shared tiles of one kind that are never needed at the same time lie in one place.

A tile takes the place of an earlier one when all statements that use the earlier one come first. Where threads could
still be reading that one, a barrier is needed in between: it is spent only where shared memory would not suffice.
"""

from __future__ import annotations

from dataclasses import replace

from ptxspec.lang import ir
from ptxspec.tiles.banks import STATIC, accesses, moved, size_of
from ptxspec.tiles.barriers import Inserted, clash

#: More tiles than this are left where they are: each pair is a question to the prover.
MOST = 8


def share(kernel: ir.Kernel, tiles: list[ir.Buffer], inserted: Inserted | None) -> ir.Kernel:
    """The kernel with tiles of one shape, type and layout put into each other's place where that is possible."""
    tiles = [t for t in tiles if t in kernel.buffers][:MOST]
    for later in tiles[1:]:
        tight = sum(size_of(b) for b in kernel.buffers if b.scope == "shared") > STATIC
        for earlier in tiles[:tiles.index(later)]:
            if earlier not in kernel.buffers or not _alike(earlier, later):
                continue
            last, first = uses(kernel, earlier), uses(kernel, later)
            if not last or not first or max(last) >= min(first):
                continue
            merged = replace(kernel, buffers=tuple(b for b in kernel.buffers if b is not later),
                             body=tuple(moved(s, later, earlier) for s in kernel.body))
            note = f"{later.span}: `{later.name}` lies where `{earlier.name}` was"
            if clash(kernel) is None and clash(merged) is None:
                kernel = replace(merged, notes=(*merged.notes, note))
                break
            if tight and inserted is not None:
                barrier = ir.Barrier("cta", later.span)
                inserted.reasons[barrier] = f"before `{later.name}` takes the place of `{earlier.name}`"
                at = min(first)
                kernel = replace(merged, body=(*merged.body[:at], barrier, *merged.body[at:]),
                                 notes=(*merged.notes, note))
                break
    return kernel


def uses(kernel: ir.Kernel, tile: ir.Buffer) -> list[int]:
    """The statements of the kernel's outermost level that touch ``tile``."""
    return [k for k, s in enumerate(kernel.body) if any(view.buffer is tile for _, view, *_ in accesses((s,)))]


def _alike(one: ir.Buffer, two: ir.Buffer) -> bool:
    return (one.shape, one.dtype, one.layout, one.align) == (two.shape, two.dtype, two.layout, two.align)
