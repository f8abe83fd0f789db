"""How many neighbours a thread owns: as many as go together, unless an array that is written allows fewer.

Registers that are written to memory one at a time are best dealt out one at a time: neighbouring threads then write
neighbouring places. Measured on an H200 for a tile doubled on its way between arrays of odd pitch, 512 threads: float16
at 3,026 GB/s so, 710 in groups of 16 bytes; uint8 at 2,400 and 295; float32 at 3,137 and 1,926. Reads do not matter so,
because a thread's further elements are in its multiprocessor's cache.

Which arrays a tile is written to is known when the kernel has been read, so it is read again then. All tiles of one
shape in a kernel are dealt out alike, and combine in registers.

Where the last axis is short and no whole vector, as a vec3's three components, neighbours are counted along the axes
before it as well, as they lie in an array whose last axis the tile takes whole.
"""

from __future__ import annotations

from math import prod

from ptxspec.lang.trace import Tracer
from ptxspec.tiles.access import WIDEST
from ptxspec.tiles.move import simplest
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region, natural

#: Elements of the axes behind the first that a group runs along, at most: the components of one vector or matrix.
SHORT = 16


def dealt_out(tracer: Tracer, shape: tuple[int, ...], axis: int, size: int) -> Plan:
    """Who owns what of a tile of ``shape``, elements of ``size`` bytes, with neighbours along ``axis``."""
    most = tracer.narrow.get((shape, axis), WIDEST // size)
    words, run = min(natural(shape[axis], size), most), 1
    if axis == len(shape) - 1 and natural(shape[axis], size) < shape[axis]:
        for axes in range(2, len(shape) + 1):
            if prod(shape[1 - axes:]) > SHORT:
                break
            more = _even(shape, words, min(natural(prod(shape[-axes:]), size), most), tracer.threads)
            if more > words:
                words, run = more, axes
    return Plan(shape, axis, words, tracer.threads, run=run)


def _even(shape: tuple[int, ...], least: int, most: int, threads: int) -> int:
    """As many neighbours up to ``most`` as leave all threads equally much to do, where ``least`` do."""
    total = prod(shape)
    if total // least % threads == 0:
        while most > least and total // most % threads:
            most //= 2
    return most


def taken(region: Region, plan: Plan) -> int:
    """How many neighbours of a group of ``plan`` one access of ``region`` can move."""
    if plan.run > 1:
        region, plan = simplest(region, plan)
    return region.words(plan.axis)


def written(tracer: Tracer, region: Region, plan: Plan) -> None:
    """Registers dealt out so are written to ``region``: wish for groups that it can take whole."""
    words = taken(region, plan)
    if words < plan.words and region.array.scope() == "global" and region.unit_axis() == plan.axis:
        key = plan.shape, plan.axis
        tracer.wished[key] = min(words, tracer.wished.get(key, words))
