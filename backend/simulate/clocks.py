"""Who happened before whom, warp by warp, for barriers that do not stop a whole block at once.

A tag says which thread made an access and when: ``block + 1`` (30 bits), epoch (24 bits), thread in the block (10
bits). While every barrier is one of the whole block, epochs alone order accesses and no clock is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Tags = NDArray[np.uint64]
Numbers = NDArray[np.intp] | NDArray[np.int64]

THREAD_BITS = 10
BLOCK_SHIFT = 34
EPOCH_ONE = np.uint64(1 << THREAD_BITS)
_ONE = np.uint64(1)


class Clocks:
    """Vector clocks of the warps of each cluster (of each block, where there are no clusters).

    ``own[c, u]`` is the epoch of warp ``u`` of cluster ``c``; ``known[c, v, u]``: what warp ``u`` did in epochs below
    it happened before what warp ``v`` does now. Warps are numbered through the blocks of their cluster.
    """

    def __init__(self, epochs: Tags, ids: NDArray[np.int64], cluster_blocks: int, warps: int) -> None:
        self._size = cluster_blocks
        self._warps = warps
        self._order = np.argsort(ids)
        self._sorted = ids[self._order]
        clusters, units = ids.size // cluster_blocks, cluster_blocks * warps
        self.own: NDArray[np.uint64] = np.repeat(epochs, warps).reshape(clusters, units)
        # At first a warp knows the epochs of its own block, which passed its barriers together.
        self.known: NDArray[np.uint64] = np.zeros((clusters, units, units), np.uint64)
        for k in range(cluster_blocks):
            block = slice(k * warps, (k + 1) * warps)
            self.known[:, block, block] = epochs.reshape(clusters, cluster_blocks)[:, k, None, None]

    def place(self, block: Numbers, warp: Numbers) -> tuple[Numbers, Numbers]:
        """Cluster and number in it of warps of blocks that are numbered in the batch."""
        return block // self._size, block % self._size * self._warps + warp

    def tick(self, cluster: Numbers, unit: Numbers) -> None:
        """The threads of each warp wait for one another."""
        self.own[cluster, unit] += _ONE
        self.known[cluster, unit, unit] = self.own[cluster, unit]

    def meet(self, cluster: Numbers, units: Numbers) -> None:
        """The warps ``units`` of one cluster wait for one another."""
        table = self.known[int(cluster[0])]
        merged = table[units].max(axis=0)
        self.own[cluster[0], units] += _ONE
        merged[units] = self.own[cluster[0], units]
        table[units] = merged

    def ordered(self, earlier: Tags, now: Tags) -> NDArray[np.bool_]:
        """Whether the access of ``earlier`` happened before the one of ``now``, an access of this batch."""
        first, second = self._locate(earlier), self._locate(now)
        together = first[2] & (first[0] == second[0])
        epoch = (earlier >> np.uint64(THREAD_BITS)) & np.uint64((1 << 24) - 1)
        return np.asarray(together & (epoch < self.known[second[0], second[1], first[1]]))

    def _locate(self, tags: Tags) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
        """Cluster, warp and whether the block is of this batch."""
        block = (tags >> np.uint64(BLOCK_SHIFT)).astype(np.int64) - 1
        at = np.minimum(np.searchsorted(self._sorted, block), self._sorted.size - 1)
        here = self._sorted[at] == block
        warp = ((tags & np.uint64((1 << THREAD_BITS) - 1)) >> np.uint64(5)).astype(np.intp)
        return *self.place(self._order[at], warp), here
