"""What comes of looking at shared memory byte by byte, and where the look is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product

from ptxspec.lang import ir
from ptxspec.proof.defined_store import Bits
from ptxspec.proof.defined_values import Env
from ptxspec.proof.facts import Fact
from ptxspec.proof.tree import Access
from ptxspec.scalar.expr import Expr


@dataclass(frozen=True, eq=False, slots=True)
class Failure:
    """A byte that a thread reads though nothing can have written it: where ``facts`` hold. ``within``: its number in
    the access."""

    byte: int
    within: int
    facts: tuple[Fact, ...]
    written: tuple[tuple[ir.Statement, int, int, int], ...]  # statements before: first and last byte, how many
    unless: tuple[tuple[Expr, ...], ...] = ()  # it is written where all conditions of one of these hold


@dataclass(eq=False, slots=True)
class Finding:
    """What came of one read. ``reason``: why it is not judged; ``cut``: there are more failures than were kept;
    ``lead``: leading bytes that were always written."""

    access: Access
    failures: list[Failure] = field(default_factory=list)
    reason: str = ""
    cut: bool = False
    lead: int = 0
    later: list[tuple[ir.Statement, Callable[[int], bool]]] | None = None  # who writes a byte at all, with the first


def repeats(access: Access) -> list[tuple[int, ...]]:
    """The values of the repeats of an instruction, in order."""
    return list(product(*(range(v.lo or 0, (v.hi or 0) + 1) for v in access.free)))


class Spent(Exception):  # noqa: N818 - a verdict, not a fault
    """More work than a proof is worth."""


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where the interpretation is: ``active`` threads, conditions that are not known, and facts that it fixed."""

    env: Env
    active: Bits
    conditions: tuple[Expr, ...]
    facts: tuple[Fact, ...]
    exact: bool = True  # a failure is real
    judge: bool = True  # reads are looked at
    own: bool = False  # other threads may not be in this iteration: what one writes counts for itself alone
