"""Special registers (PTX manual, section "Special Registers"), for every thread of a batch at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .state import Batch, Shape, unravel
from .values import Bits, constant

_AXES = {"x": 0, "y": 1, "z": 2}
Extents = tuple[int, int, int]
CYCLES_PER_ISSUE = 4  # clocks advance with the instructions issued, so that they are the same in every run


def known(name: str) -> bool:
    """Whether the simulator has a value for the special register."""
    base, _, part = name.partition(".")
    return (base in _VECTORS and part in ("x", "y", "z", "w")) or (base in _SCALARS and not part)


def value(batch: Batch, name: str) -> Bits:
    """The register ``name`` as ``[threads]`` or, when it is the same for all, ``[1]``."""
    base, _, part = name.partition(".")
    if base in _CLOCKS:
        return _CLOCKS[base](batch.issue * CYCLES_PER_ISSUE)
    found = batch.specials.get(name)
    if found is None:
        if base in _VECTORS:
            found = constant(0, 32) if part == "w" else _VECTORS[base](batch, _AXES[part])
            if part == "w" and base.startswith("%n"):
                found = constant(1, 32)
        else:
            found = _SCALARS[base](batch)
        batch.specials[name] = found
    return found


def _blocks(batch: Batch, axis: int) -> Bits:
    return unravel(batch.ids, batch.shape.grid)[axis]


def _per_thread(batch: Batch, per_block: Bits) -> Bits:
    return per_block[batch.block_of]


def _clusters(shape: Shape) -> Extents:
    x, y, z = (-(-g // c) for g, c in zip(shape.grid, shape.cluster))
    return x, y, z


def _size(pick: Callable[[Shape], Extents]) -> Callable[[Batch, int], Bits]:
    return lambda batch, axis: constant(pick(batch.shape)[axis], 32)


_VECTORS: dict[str, Callable[[Batch, int], Bits]] = {
    "%tid": lambda b, axis: unravel(b.linear, b.shape.block)[axis],
    "%ntid": _size(lambda s: s.block),
    "%ctaid": lambda b, axis: _per_thread(b, _blocks(b, axis)),
    "%nctaid": _size(lambda s: s.grid),
    "%clusterid": lambda b, axis: _per_thread(b, _blocks(b, axis) // np.uint32(b.shape.cluster[axis])),
    "%nclusterid": _size(_clusters),
    "%cluster_ctaid": lambda b, axis: _per_thread(b, _blocks(b, axis) % np.uint32(b.shape.cluster[axis])),
    "%cluster_nctaid": _size(lambda s: s.cluster),
}


def _rank(batch: Batch) -> Bits:
    x, y, z = (value(batch, f"%cluster_ctaid.{axis}") for axis in "xyz")
    nx, ny, _ = batch.shape.cluster
    return np.asarray(x + np.uint32(nx) * (y + np.uint32(ny) * z))


def _lane(batch: Batch) -> Bits:
    return (batch.linear % 32).astype(np.uint32)


def _mask(compare: Callable[[int, int], bool]) -> Callable[[Batch], Bits]:
    table = np.array([sum(1 << k for k in range(32) if compare(k, lane)) for lane in range(32)], np.uint32)
    return lambda batch: table[batch.linear % 32]


_SCALARS: dict[str, Callable[[Batch], Bits]] = {
    "%laneid": _lane,
    "%warpid": lambda b: (b.linear // 32).astype(np.uint32),
    "%nwarpid": lambda b: constant(-(-b.shape.block_threads // 32), 32),
    "%smid": lambda b: constant(0, 32),
    "%nsmid": lambda b: constant(1, 32),
    "%gridid": lambda b: constant(1, 64),
    "%cluster_ctarank": _rank,
    "%cluster_nctarank": lambda b: constant(int(np.prod(b.shape.cluster)), 32),
    "%is_explicit_cluster": lambda b: constant(int(b.shape.cluster != (1, 1, 1)), 1),
    "%dynamic_smem_size": lambda b: constant(b.shape.dynamic, 32),
    "%total_smem_size": lambda b: constant(b.shape.shared, 32),
    "%aggr_smem_size": lambda b: constant(b.shape.shared, 32),
    "%lanemask_eq": _mask(lambda k, lane: k == lane),
    "%lanemask_le": _mask(lambda k, lane: k <= lane),
    "%lanemask_lt": _mask(lambda k, lane: k < lane),
    "%lanemask_ge": _mask(lambda k, lane: k >= lane),
    "%lanemask_gt": _mask(lambda k, lane: k > lane),
    "%clock": lambda b: constant(0, 32), "%clock_hi": lambda b: constant(0, 32),
    "%clock64": lambda b: constant(0, 64), "%globaltimer": lambda b: constant(0, 64),
    "%globaltimer_lo": lambda b: constant(0, 32), "%globaltimer_hi": lambda b: constant(0, 32),
}

_CLOCKS: dict[str, Callable[[int], Bits]] = {
    "%clock": lambda t: constant(t, 32), "%clock_hi": lambda t: constant(t >> 32, 32),
    "%clock64": lambda t: constant(t, 64), "%globaltimer": lambda t: constant(t, 64),
    "%globaltimer_lo": lambda t: constant(t, 32), "%globaltimer_hi": lambda t: constant(t >> 32, 32),
}
