"""Barriers: who is parked where, when a block goes on, and who is missing when it never will.

PTX manual, section "bar": a barrier of a block completes when all its threads (or the given number, counted in whole
warps) have arrived, and the threads of one warp arrive together, at one instruction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..memory import MemoryTrap
from .clocks import EPOCH_ONE
from .state import Active, Batch, Index, demand
from .steps import Control

BARRIERS = 16
Released = list[tuple[int, Active]]


class Missing(Exception):
    """A barrier that cannot complete: ``thread`` waits at instruction ``pc`` with all of ``threads``; ``other`` does
    not come: it waits at ``other_pc``, or has ended."""

    def __init__(self, pc: int, thread: int, threads: Index, other: int | None, other_pc: int | None = None, *,
                 ended: bool = False) -> None:
        self.pc = pc
        self.thread = thread
        self.threads = threads
        self.other = other
        self.other_pc = other_pc
        self.ended = ended
        super().__init__(f"barrier at {pc}")


class Barriers:
    """The barriers of all blocks of a batch."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._pc: NDArray[np.int64] = np.full(batch.threads, -1)
        self._id = np.zeros(batch.threads, np.int64)
        self._count = np.zeros(batch.threads, np.int64)
        self._aligned = np.zeros(batch.threads, bool)
        self._dead = np.zeros(batch.threads, bool)
        self._any_dead = False

    def kill(self, threads: Index) -> None:
        """Threads that faulted: no barrier waits for them any more."""
        self._dead[threads] = True
        self._any_dead = True
        self._pc[threads] = -1

    def arrive(self, control: Control, pc: int, active: Active) -> Released:
        """The active threads arrive; groups that go on, with the instruction number they waited at."""
        batch = self._batch
        assert control.id is not None
        number = demand(control.id(batch, active)[0], active)
        if control.scope == "warp":
            self._warp(number, pc, active)
            return [(pc, active)]
        wrong = number >= BARRIERS
        if wrong.any():
            positions = np.flatnonzero(np.broadcast_to(wrong, (active.count,)))
            raise MemoryTrap("trap", positions, 0, 0, detail=f"there is no barrier {int(number[wrong][0])}")
        uniform = number.shape[0] == 1 or int(number.min()) == int(number.max())
        if control.count is None and uniform and active.index is None and batch.clocks is None:
            batch.tags += EPOCH_ONE
            return [(pc, active)]
        threads = active.threads()
        self._pc[threads] = pc
        self._id[threads] = number
        self._aligned[threads] = control.aligned
        self._count[threads] = 0
        if control.count is not None:
            count = demand(control.count(batch, active)[0], active)
            bad = (count == 0) | (count % 32 != 0) | (count > batch.shape.block_threads + 31)
            if bad.any():
                positions = np.flatnonzero(np.broadcast_to(bad, (active.count,)))
                self._pc[threads] = -1
                raise MemoryTrap("trap", positions, 0, 0,
                                 detail=f"{int(count[bad][0])} is no number of threads for a barrier")
            self._count[threads] = count
        released: Released = []
        for one in np.unique(number):
            released += self._complete(int(one))
        return released

    def recheck(self) -> Released:
        """Groups that go on because threads they waited for were taken out."""
        released: Released = []
        for one in np.unique(self._id[self._pc >= 0]):
            released += self._complete(int(one))
        return released

    def _complete(self, number: int) -> Released:
        batch = self._batch
        parked = (self._pc >= 0) & (self._id == number)
        if not parked.any():
            return []
        each = batch.shape.block_threads
        table = parked.reshape(batch.blocks, each)
        arrived = table.sum(axis=1)
        need = each - self._dead.reshape(batch.blocks, each).sum(axis=1) if self._any_dead else each
        full = arrived >= np.maximum(need, 1)
        counted = self._count.reshape(batch.blocks, each).max(axis=1, where=table, initial=0)
        some = counted > 0
        if some.any():
            starts = np.arange(0, each, 32)
            warps = np.logical_or.reduceat(table, starts, axis=1).sum(axis=1)
            full = np.where(some, warps * 32 >= counted, full)
        if not full.any():
            return []
        going = parked & full[batch.block_of]
        threads = np.flatnonzero(going)
        self._same_place(threads)
        pcs = self._pc[threads]
        self._pc[threads] = -1
        self._advance(threads, np.flatnonzero(full), counted)
        return [(int(pc), self._group(threads[pcs == pc])) for pc in np.unique(pcs)]

    def _group(self, threads: Index) -> Active:
        return Active(threads.size, None if threads.size == self._batch.threads else threads)

    def _same_place(self, threads: Index) -> None:
        batch = self._batch
        warp = batch.block_of[threads] * 32 + batch.linear[threads] // 32
        pcs = self._pc[threads]
        aligned = self._aligned[threads]
        split = np.flatnonzero((warp[1:] == warp[:-1]) & (pcs[1:] != pcs[:-1]) & (aligned[1:] | aligned[:-1]))
        if split.size:
            a, b = int(threads[split[0]]), int(threads[split[0] + 1])
            block = threads[batch.block_of[threads] == batch.block_of[a]]
            raise Missing(int(self._pc[a]), a, block, b, int(self._pc[b]))

    def _advance(self, threads: Index, blocks: Index, counted: NDArray[np.int64]) -> None:
        batch = self._batch
        each = batch.shape.block_threads
        if batch.clocks is None and not ((counted[blocks] > 0) & (counted[blocks] < each)).any():
            batch.tags[threads] += EPOCH_ONE
            return
        clocks = batch.start_clocks()
        warps = batch.linear[threads] // 32
        for block in blocks:
            clocks.meet(*clocks.place(np.array([block]), np.unique(warps[batch.block_of[threads] == block])))
        batch.retag(threads)

    def _warp(self, mask: NDArray[np.generic], pc: int, active: Active) -> None:
        """A barrier of lanes: everybody named must be here now, since lanes that diverged meet again before it."""
        batch = self._batch
        threads = active.threads()
        each = batch.shape.block_threads
        lanes = batch.linear[threads] % 32
        named = np.broadcast_to(mask, threads.shape).astype(np.int64)
        outside = np.flatnonzero((named >> lanes & 1) == 0)
        if outside.size:
            raise MemoryTrap("trap", outside, 0, 0, detail="it executes a warp barrier whose mask leaves it out")
        base = threads - lanes
        here = np.zeros(batch.threads, bool)
        here[threads] = True
        for lane in range(32):
            wanted = (named >> lane & 1 == 1) & (batch.linear[threads] - lanes + lane < each)
            absent = wanted & ~here[np.minimum(base + lane, batch.threads - 1)]
            absent &= ~self._dead[np.minimum(base + lane, batch.threads - 1)]
            if absent.any():
                k = int(np.flatnonzero(absent)[0])
                raise Missing(pc, int(threads[k]), threads[absent], int(base[k]) + lane)
        if not batch.races:
            return
        width = np.minimum(each - (batch.linear[threads] - lanes), 32)
        whole = (named & ((1 << width) - 1)) == (1 << width) - 1
        if not whole.all():
            batch.notes.add("a warp barrier of some lanes is not taken as ordering memory accesses")
        clocks = batch.start_clocks()
        block, warp = batch.block_of[threads[whole]], batch.linear[threads[whole]] // 32
        pairs = np.unique(np.stack([block, warp], axis=1), axis=0)
        clocks.tick(*clocks.place(pairs[:, 0], pairs[:, 1]))
        batch.retag(threads[whole])

    def deadlock(self) -> Missing | None:
        """Called when nobody can run: the first barrier that somebody still waits at, and who does not come."""
        batch = self._batch
        waiting = np.flatnonzero(self._pc >= 0)
        if not waiting.size:
            return None
        first = int(waiting[0])
        block = batch.block_of[first]
        same = waiting[batch.block_of[waiting] == block]
        mine = same[self._id[same] == self._id[first]]
        elsewhere = same[self._id[same] != self._id[first]]
        if elsewhere.size:
            other = int(elsewhere[0])
            return Missing(int(self._pc[first]), first, mine, other, int(self._pc[other]))
        everyone = np.flatnonzero((batch.block_of == block) & (self._pc < 0) & ~self._dead)
        other_or_none = int(everyone[0]) if everyone.size else None
        ended = other_or_none is not None and bool(batch.ended[other_or_none])
        return Missing(int(self._pc[first]), first, mine, other_or_none, ended=ended)
