"""The barrier of a cluster (PTX manual, section "barrier.cluster"): arriving and waiting are two instructions.

A wait ends when every thread of the cluster that has not exited has arrived as often. What a thread did before it
arrived happened before what the others do after they waited; what it does between the two is ordered with nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..memory import MemoryTrap
from .barriers import Missing, Released
from .clocks import Tags
from .state import Active, Batch, Index
from .steps import Control


class ClusterBarrier:
    """The barriers of all clusters of a batch."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._each = batch.shape.cluster_blocks * batch.shape.block_threads
        self._used = False
        self._pc: NDArray[np.int64]
        self._arrived: NDArray[np.int64]
        self._waited: NDArray[np.int64]
        # By parity of the phase: epoch and knowledge of each warp when it arrived.
        self._epoch: Tags | None = None
        self._known: Tags | None = None

    def _start(self) -> None:
        if not self._used:
            self._used = True
            self._pc = np.full(self._batch.threads, -1)
            self._arrived = np.zeros(self._batch.threads, np.int64)
            self._waited = np.zeros(self._batch.threads, np.int64)

    def kill(self, threads: Index) -> None:
        """Threads that faulted count as exited."""
        self._batch.ended[threads] = True
        if self._used:
            self._pc[threads] = -1

    def arrive(self, control: Control, pc: int, active: Active) -> Released:
        """Arrive, wait, or both; groups that go on, with the instruction number they are at."""
        self._start()
        threads = active.threads()
        if control.phase in ("arrive", ""):
            self._check(self._arrived[threads] > self._waited[threads], "it arrives twice without waiting between")
            self._arrived[threads] += 1
            if self._batch.races:
                self._stamp(threads)
        if control.phase == "arrive":
            return [(pc, active), *self.recheck()]
        self._check(self._arrived[threads] == self._waited[threads], "it waits without having arrived")
        self._pc[threads] = pc
        return self.recheck()

    def _check(self, wrong: NDArray[np.bool_], what: str) -> None:
        if wrong.any():
            raise MemoryTrap("trap", np.flatnonzero(wrong), 0, 0, detail=f"at the barrier of its cluster {what}")

    def _stamp(self, threads: Index) -> None:
        """Arriving threads enter a new epoch, once for each warp and phase."""
        batch = self._batch
        clocks = batch.start_clocks()
        if self._epoch is None or self._known is None:
            self._epoch = np.zeros((2, *clocks.own.shape), np.uint64)
            self._known = np.zeros((2, *clocks.known.shape), np.uint64)
        cluster, unit = clocks.place(batch.block_of[threads], batch.linear[threads] // 32)
        phase = self._arrived[threads]
        for which in np.unique(np.stack([cluster, unit, phase], axis=1), axis=0):
            c, u, p = (int(v) for v in which)
            warp_threads = threads[(cluster == c) & (unit == u)]
            if not self._others_arrived(warp_threads, p):
                clocks.own[c, u] += np.uint64(1)
                self._epoch[p % 2, c, u] = clocks.own[c, u]
                self._known[p % 2, c, u] = clocks.known[c, u]
        batch.retag(threads)

    def _others_arrived(self, arriving: Index, phase: int) -> bool:
        """Whether some lanes of the same warp arrived at this phase before."""
        batch = self._batch
        start = int(arriving[0]) - int(batch.linear[arriving[0]]) % 32
        end = min(start + 32, start - int(batch.linear[start]) + batch.shape.block_threads)
        return int((self._arrived[start:end] >= phase).sum()) > arriving.size

    def recheck(self) -> Released:
        """Groups that go on now."""
        if not self._used or not (self._pc >= 0).any():
            return []
        arrived = np.where(self._batch.ended, np.iinfo(np.int64).max, self._arrived)
        least = np.repeat(arrived.reshape(-1, self._each).min(axis=1), self._each)
        threads = np.flatnonzero((self._pc >= 0) & (least > self._waited))
        if not threads.size:
            return []
        if self._batch.races:
            self._learn(threads)
        self._waited[threads] += 1
        pcs = self._pc[threads]
        self._pc[threads] = -1
        whole = self._batch.threads
        return [(int(pc), Active(group.size, None if group.size == whole else group))
                for pc in np.unique(pcs) for group in [threads[pcs == pc]]]

    def _learn(self, threads: Index) -> None:
        batch = self._batch
        clocks = batch.start_clocks()
        assert self._epoch is not None
        assert self._known is not None
        cluster, unit = clocks.place(batch.block_of[threads], batch.linear[threads] // 32)
        for which in np.unique(np.stack([cluster, unit, (self._waited[threads] + 1) % 2], axis=1), axis=0):
            c, u, parity = (int(v) for v in which)
            merged = np.maximum(self._known[parity, c].max(axis=0), self._epoch[parity, c])
            clocks.known[c, u] = np.maximum(clocks.known[c, u], merged)

    def deadlock(self) -> Missing | None:
        """The first wait that does not end, and a thread that has not arrived."""
        waiting = np.flatnonzero(self._pc >= 0) if self._used else np.zeros(0, np.intp)
        if not waiting.size:
            return None
        first = int(waiting[0])
        start = first // self._each * self._each
        mine = waiting[(waiting >= start) & (waiting < start + self._each)]
        late = np.arange(start, start + self._each)
        late = late[(self._arrived[late] <= self._waited[first]) & ~self._batch.ended[late]]
        other = int(late[0]) if late.size else None
        other_pc = int(self._pc[other]) if other is not None and self._pc[other] >= 0 else None
        return Missing(int(self._pc[first]), first, mine, other, other_pc)
