"""The quick test of race freedom, axis by axis: for arrays whose extents only a launch knows, and where guards on an
index, not its formula, keep it inside its axis.

In a row-major array two elements are the same only when all their indices are. So two accesses inside the array meet
only where the indices of every axis do, and each axis can be looked at by itself: no product of an index with a runtime
extent is left. That every index lies in its dimension is an obligation of its own (in-bounds); a kernel with that
refuted is refused whatever is said here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ptxspec.lang import ir
from ptxspec.lang.affine import affine
from ptxspec.lang.locate import element_bytes, stages
from ptxspec.layout import TileLayout
from ptxspec.proof.tree import Access
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly


@dataclass(frozen=True, slots=True)
class Box:
    """A row-major array of ``shape`` elements of ``dtype``, rows padded or not: the buffer, or its storage as a view
    lays it out anew."""

    shape: tuple[Poly, ...]
    dtype: str
    steps: int  # steps of the view that lead to it
    padded: bool = False

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return element_bytes(self.dtype)


def box_of(view: ir.View) -> Box | None:
    """The row-major array that the last steps of ``view`` choose elements of; None where there is none."""
    buffer = view.buffer
    plain = buffer.layout == TileLayout.row_major(buffer.shape)
    padded = not plain and _padded(buffer)
    found = Box(buffer.shape, buffer.dtype, 0, padded) if plain or padded else None
    for number, (step, (_, dtype)) in enumerate(zip(view.steps, stages(view), strict=True), 1):
        if isinstance(step, ir.Relayout):
            found = Box(step.shape, dtype, number) if step.layout == TileLayout.row_major(step.shape) else None
        elif isinstance(step, ir.Reshape):
            whole = found is not None and found.steps == number - 1   # nothing was chosen before
            found = Box(step.shape, dtype, number, found.padded) if found is not None and whole else None
    return found


@lru_cache(maxsize=1024)
def _padded(buffer: ir.Buffer) -> bool:
    """Rows of fixed extents with room between them: each stride takes all that its inner axes span."""
    plain = affine(ir.View(buffer, (), buffer.shape, buffer.dtype, buffer.span))
    if plain is None:
        return False
    span = element_bytes(buffer.dtype)
    for extent, stride in zip(reversed(buffer.shape), reversed(plain.strides), strict=True):
        if stride < span:
            return False
        span += stride * (extent.const - 1)
    return True


def places(access: Access) -> tuple[tuple[Poly, ...], int, Box] | None:
    """Indices of the access's first element in its array, how many elements of the last axis it covers, and the array.

    None where no part of the view is a choice of elements of a row-major array.
    """
    view = access.view
    box = box_of(view)
    if box is None or access.size % box.size:
        return None
    lead = list(access.index)
    if len(lead) == len(view.shape):
        first, second = indices(view, lead, box.steps), None
    elif len(lead) == len(view.shape) - 1:
        first, second = indices(view, [*lead, ix.ZERO], box.steps), indices(view, [*lead, ix.constant(1)], box.steps)
    else:
        return None
    if first is None:
        return None
    if len(access.words) > 1:
        # The words follow each other along the last axis.
        step = ix.constant(access.word_bytes // box.size)
        if second is None or access.word_bytes % box.size or second[:-1] != first[:-1] \
                or ix.sub(second[-1], first[-1]) != step:
            return None
    return first, access.size // box.size, box


def indices(view: ir.View, at: Sequence[Poly], steps: int = 0) -> tuple[Poly, ...] | None:
    """Indices of element ``at`` of a view in the array behind all but its first ``steps``: later ones narrow it, and
    may read wider words at the end."""
    found = list(at)
    before = stages(view)
    for step, (_, dtype) in zip(reversed(view.steps[steps:]), reversed(before[steps:]), strict=True):
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


def axes(accesses: Sequence[Access]) -> list[tuple[list[Poly], list[int]]] | None:
    """For each axis the index of every access, and the elements that each covers there; None where not known."""
    found = [places(access) for access in accesses]
    known = [p for p in found if p is not None]
    if len(known) != len(found) or len({(box.shape, box.dtype, box.padded) for _, _, box in known}) != 1:
        return None         # or their indices count in different arrays
    rank = len(known[0][0])
    return [([at[k] for at, _, _ in known], [width if k == rank - 1 else 1 for _, width, _ in known])
            for k in range(rank)]
