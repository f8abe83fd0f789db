"""Views whose addresses are affine in their coordinates: base and strides, worked out once for a view.

Unrolled code asks for thousands of constant positions of one view; with strides at hand each costs one addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ptxspec.lang.ir import View
from ptxspec.lang.locate import locate
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Poly, Var, variables


@dataclass(frozen=True, slots=True)
class Affine:
    """``byte offset == base + sum(strides[k] * index[k])``, exact for every index inside the view's shape."""

    base: Poly
    strides: tuple[int, ...]

    def byte(self, index: Sequence[int]) -> Poly:
        """The byte offset of a constant position."""
        offset = self.base.const + sum(s * i for s, i in zip(self.strides, index, strict=True))
        return Poly(offset, self.base.terms)


@lru_cache(maxsize=4096)
def affine(view: View) -> Affine | None:
    """The affine form of ``view`` with constant strides, or None where it has none (or none is found)."""
    if any(not e.is_const or e.const < 1 for e in view.shape):
        return None
    at = [Var(f"c{k}", INDEX, "word", 0, e.const - 1) for k, e in enumerate(view.shape)]
    byte = locate(view, at).byte
    strides = [0] * len(at)
    own = set(at)
    for monomial, coefficient in byte.terms:
        if len(monomial) == 1 and isinstance(monomial[0], Var) and monomial[0] in own:
            strides[at.index(monomial[0])] = coefficient
        elif any(own.intersection(variables(part)) for part in monomial):
            return None
    base = ix.sub(byte, ix.add(*(ix.scale(v, s) for v, s in zip(at, strides))))
    return Affine(base, tuple(strides))
