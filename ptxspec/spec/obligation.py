"""What must be proved before a form may be emitted: the closed vocabulary of proof goals."""

from __future__ import annotations

from typing import Literal

from ptxspec.spec.base import Name, SpecModel
from ptxspec.spec.condition import Condition
from ptxspec.spec.expression import IntExpr, WordExpr

Goal = Literal[
    "aligned",
    "consecutive",
    "in-bounds",
    "in-space",
    "owned",
    "disjoint",
    "race-free",
    "fits",
    "convergent",
    "nonzero",
    "settled",
]
Access = Literal["read", "write", "combine"]


class Obligation(SpecModel):
    """One goal per entry and per use. ``to``: bytes of alignment, or bits for ``fits``; ``bytes``: extent."""

    id: Name
    prove: Goal
    at: Name | None = None
    to: IntExpr = 0
    bytes: IntExpr = 0
    space: WordExpr = ""
    access: Access | None = None
    when: Condition | None = None
