"""How many neighbours a thread owns: as many as go together, unless an array that is written allows fewer.

Registers that are written to memory one at a time are best dealt out one at a time: neighbouring threads then write
neighbouring places. Measured on an H200 for a tile doubled on its way between arrays of odd pitch, 512 threads: float16
at 3,026 GB/s so, 710 in groups of 16 bytes; uint8 at 2,400 and 295; float32 at 3,137 and 1,926. Reads do not matter so,
because a thread's further elements are in its multiprocessor's cache.

Which arrays a tile is written to is known when the kernel has been read, so it is read again then. All tiles of one
shape in a kernel are dealt out alike, and combine in registers.
"""

from __future__ import annotations

from ptxspec.lang.trace import Tracer
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region, natural


def dealt_out(tracer: Tracer, shape: tuple[int, ...], axis: int, size: int) -> Plan:
    """Who owns what of a tile of ``shape``, elements of ``size`` bytes, with neighbours along ``axis``."""
    words = natural(shape[axis], size)
    return Plan(shape, axis, min(words, tracer.narrow.get((shape, axis), words)), tracer.threads)


def written(tracer: Tracer, region: Region, plan: Plan) -> None:
    """Registers dealt out so are written to ``region``: wish for groups that it can take whole."""
    words = region.words(plan.axis)
    if words < plan.words and region.array.scope() == "global" and region.unit_axis() == plan.axis:
        key = plan.shape, plan.axis
        tracer.wished[key] = min(words, tracer.wished.get(key, words))
