"""The quick test of race freedom, axis by axis: for arrays whose extents only a launch knows, and where guards on an
index, not its formula, keep it inside its axis.

In a row-major array two elements are the same only when all their indices are. So two accesses inside the array meet
only where the indices of every axis do, and each axis can be looked at by itself: no product of an index with a runtime
extent is left. That every index lies in its dimension is an obligation of its own (in-bounds); a kernel with that
refuted is refused whatever is said here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes, stages
from ptxspec.layout import TileLayout
from ptxspec.proof.tree import Access
from ptxspec.proof.twin import Twin
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly


def places(access: Access) -> tuple[tuple[Poly, ...], int] | None:
    """Indices of the access's first element in its array, and how many elements of the last axis it covers.

    None where the array is not row-major, or the view is more than a choice of elements.
    """
    buffer, view = access.buffer, access.view
    if buffer.layout != TileLayout.row_major(buffer.shape):
        return None
    size = element_bytes(buffer.dtype)
    if access.size % size:
        return None
    lead = list(access.index)
    if len(lead) == len(view.shape):
        first, second = indices(view, lead), None
    elif len(lead) == len(view.shape) - 1:
        first, second = indices(view, [*lead, ix.ZERO]), indices(view, [*lead, ix.constant(1)])
    else:
        return None
    if first is None:
        return None
    if len(access.words) > 1:
        # The words follow each other along the last axis.
        step = ix.constant(access.word_bytes // size)
        if second is None or access.word_bytes % size or second[:-1] != first[:-1] \
                or ix.sub(second[-1], first[-1]) != step:
            return None
    return first, access.size // size


def indices(view: ir.View, at: Sequence[Poly]) -> tuple[Poly, ...] | None:
    """Indices in the array of element ``at`` of a view that narrows it, and may read wider words at the end."""
    found = list(at)
    before = stages(view)
    for step, (_, dtype) in zip(reversed(view.steps), reversed(before), strict=True):
        if isinstance(step, ir.Sub):
            inner = iter(found)
            found = [ix.add(ix.index(a.start), ix.scale(next(inner), a.step)) if a.keep else ix.index(a.start)
                     for a in step.axes]
        elif isinstance(step, ir.Reinterpret):
            wide, narrow = element_bytes(step.dtype), element_bytes(dtype)
            if wide % narrow:
                return None
            found[-1] = ix.scale(found[-1], wide // narrow)
        else:
            return None
    return tuple(found)


def ranges(access: Access) -> list[tuple[Poly, int]] | None:
    """For each axis the access's first index and how many elements it covers there; None where not known, and for
    arrays of fixed extents, whose byte addresses say as much."""
    found = places(access)
    if found is None or all(e.is_const for e in access.buffer.shape):
        return None
    at, width = found
    return [(index, width if k == len(at) - 1 else 1) for k, index in enumerate(at)]


def axes(accesses: Sequence[Access], twin: Twin) -> list[tuple[list[Poly], int]] | None:
    """For each axis the index of every access, and the elements that one covers there; None where not known."""
    located = [places(a) for a in accesses]
    rows: list[tuple[Poly, ...]] = []
    width = 1
    for place in located:
        if place is None:
            return None
        rows.append(place[0])
        width = max(width, place[1])
    rank = len(rows[0])
    return [([row[k] for row in rows], width if k == rank - 1 else 1) for k in range(rank)]
