"""Swizzled storage, seen before the swizzle.

A swizzle is one to one, moves whole groups of ``2**per_element`` elements, and keeps places inside a group. So two
accesses that lie inside groups meet behind one swizzle exactly where they meet in front of it, and there the addresses
are plain sums again. That words of an instruction follow each other is an obligation of its own (consecutive).
Proved with Z3 in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes, locate, stages
from ptxspec.layout import ComposeLayout, Layout
from ptxspec.proof.congruence import residue
from ptxspec.proof.tree import Access
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly


@dataclass(frozen=True, slots=True)
class Front:
    """One swizzle of one array: its layout, the bytes of an element and the byte that coordinate zero lies at."""

    buffer: ir.Buffer
    layout: Layout
    unit: int
    origin: Poly


def starts(accesses: Sequence[Access]) -> list[Poly]:
    """First bytes of ``accesses`` to one array, all before their common swizzle; as they are where there is none."""
    found = [before(a) for a in accesses]
    fronts = {f[0] for f in found if f is not None}
    if len(fronts) == 1 and None not in found:
        return [f[1] for f in found if f is not None]
    return [a.words[0] for a in accesses]


@lru_cache(maxsize=1024)
def before(access: Access) -> tuple[Front, Poly] | None:
    """The swizzle that ``access`` goes through, and its first byte before that; None where this says nothing exact."""
    plain = _without(access.view)
    if plain is None:
        return None
    front, view = plain
    assert isinstance(front.layout, ComposeLayout)
    lead = list(access.index)
    if len(lead) == len(view.shape):
        places = [lead]
    elif len(lead) == len(view.shape) - 1:
        places = [[*lead, ix.constant(w)] for w in range(len(access.words))]
    else:
        return None
    if len(places) != len(access.words) or any(
        locate(access.view, p).byte != w for p, w in zip(places, access.words, strict=True)
    ):
        return None
    bytes_ = [locate(view, p).byte for p in places]
    for words in (access.words, bytes_):  # in a row on both sides
        if any(w != ix.add(words[0], k * access.word_bytes) for k, w in enumerate(words)):
            return None
    if access.word_bytes > front.unit:  # a word of several elements must lie inside a group
        rest = residue(ix.sub(bytes_[0], front.origin), access.context.congruent)
        width = access.word_bytes
        if (front.unit << front.layout.per_element) % width or rest.modulus % width or rest.rest % width:
            return None
    return front, bytes_[0]


def _without(view: ir.View) -> tuple[Front, ir.View] | None:
    """``view`` with the swizzle of its innermost layout left out."""
    last = max((k for k, s in enumerate(view.steps) if isinstance(s, ir.Relayout)), default=None)
    if last is None:
        layout = view.buffer.layout
        if not isinstance(layout, ComposeLayout) or layout.swizzle_len == 0:
            return None
        bare = _bare(view.buffer, layout)
        low = ix.ZERO if view.buffer.is_param else ix.neg(layout.tile_layout.memory_range()[0])
        unit = element_bytes(view.buffer.dtype)
        return Front(view.buffer, layout, unit, ix.scale(low, unit)), replace(view, buffer=bare)
    step = view.steps[last]
    assert isinstance(step, ir.Relayout)
    if not isinstance(step.layout, ComposeLayout) or step.layout.swizzle_len == 0:
        return None
    shape, dtype = stages(view)[last]
    behind = ir.View(view.buffer, view.steps[:last], shape, dtype, step.span)
    origin = locate(behind, [ix.ZERO] * len(shape)).byte
    if not origin.is_const:
        return None
    changed = replace(step, layout=step.layout.tile_layout)
    steps = (*view.steps[:last], changed, *view.steps[last + 1 :])
    return Front(view.buffer, step.layout, element_bytes(dtype), origin), replace(view, steps=steps)


@lru_cache(maxsize=256)
def _bare(buffer: ir.Buffer, layout: ComposeLayout) -> ir.Buffer:
    return replace(buffer, layout=layout.tile_layout)
