"""Loops of constant bounds: which values they take, and which are short enough to be written out."""

from __future__ import annotations

from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Expr

#: A loop of constant bounds with at most this many instructions over all iterations is written out: constants then
#: go into the instructions' offsets and the counter disappears.
SMALL_LOOP = 32


def constant_range(start: Expr, stop: Expr, step: Expr) -> range | None:
    """The loop's values where all bounds are known, else None."""
    bounds = [ix.index(e) for e in (start, stop, step)]
    return range(*(b.const for b in bounds)) if all(b.is_const for b in bounds) else None
