"""Conditions that are not known while shared memory is looked at: who sees them alike, and which follow from others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ptxspec.proof.defined_plan import all_loops
from ptxspec.proof.defined_store import Bits
from ptxspec.proof.defined_values import Array, Unclear, Values
from ptxspec.proof.facts import Context
from ptxspec.proof.state import at
from ptxspec.proof.twin import Twin, sources
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Expr, Op, Poly, Var, variables

#: ``common + own >= 0``: ``own`` is known for each thread, ``common`` is the same for all.
Linear = tuple[Poly, Array]


class Conditions:
    """The conditions of one kernel; ``tids`` are the ids of all threads."""

    def __init__(self, walker: Walker, tids: Mapping[Expr, Array | int]) -> None:
        self._tids = tids
        self._count = walker.threads.count
        self._threads = walker.threads
        self._twin = Twin(walker.threads, sources(walker.nodes), all_loops(walker.nodes), True)
        self._mentions: dict[Expr, frozenset[Var]] = {}
        self._linear: dict[Expr, dict[Context, Linear | None]] = {}

    def names(self, condition: Expr) -> frozenset[Var]:
        """The variables of a condition; it is asked for again and again."""
        found = self._mentions.get(condition)
        if found is None:
            found = self._mentions[condition] = frozenset(variables(condition))
        return found

    def alike(self, condition: Expr) -> bool:
        """True when all threads of the block see it alike, being in one iteration of every loop."""
        return all(self._twin.shared(v) for v in self.names(condition))

    def seen_by(self, conditions: tuple[Expr, ...], thread: int) -> tuple[Expr, ...] | None:
        """What ``conditions`` mean for one thread of the block; None where they rest on more than the thread's ids."""
        x, y, _ = self._threads.block
        ids = dict(zip(self._threads.tid, (thread % x, thread // x % y, thread // (x * y)), strict=True))
        found = tuple(at(c, ids) for c in conditions)
        return found if all(self.alike(c) for c in found) else None

    def note(self, condition: Expr, asked: Expr, context: Context, ints: dict[Var, int]) -> None:
        """``condition`` is ``asked`` in ``context`` with some variables known."""
        seen = self._linear.setdefault(condition, {})
        if context not in seen:
            seen[context] = self._split(asked, context, ints)

    def follows(self, condition: Expr, known: tuple[Expr, ...], owner: Array, threads: Array) -> Bits:
        """Where ``condition`` holds for the threads ``owner`` because one of ``known`` holds for ``threads``."""
        result = np.zeros(owner.shape, bool)
        mine = self._everywhere(condition)
        for other in known:
            theirs = self._everywhere(other)
            for common, own in mine:
                for base, value in theirs:
                    if common == base:
                        result |= own[owner] >= value[threads][:, None, None]
        return result

    def _everywhere(self, condition: Expr) -> list[Linear]:
        """The linear form, if it is one wherever the condition is asked: elsewhere its arithmetic may wrap."""
        found = list(self._linear.get(condition, {}).values())
        known = [f for f in found if f is not None]
        return known[:1] if len(known) == len(found) else []

    def _split(self, condition: Expr, context: Context, ints: dict[Var, int]) -> Linear | None:
        if not isinstance(condition, Op) or condition.name not in ("lt", "le", "gt", "ge"):
            return None
        left, right = context.exact(condition.args[0]), context.exact(condition.args[1])
        if left is None or right is None:
            return None
        rest = ix.sub(right, left) if condition.name in ("lt", "le") else ix.sub(left, right)
        rest = ix.index(at(ix.add(rest, -1) if condition.name in ("lt", "gt") else rest, ints))
        own = tuple(t for t in rest.terms if any(v.role.startswith("tid.") for e in t[0] for v in variables(e)))
        common = Poly(0, tuple(t for t in rest.terms if t not in own))
        if not self.alike(common):
            return None
        try:
            value = Values(self._tids, {}).of(Poly(rest.const, own))
        except Unclear:
            return None
        return common, np.broadcast_to(value, (self._count, 1))[:, 0]
