"""What changes while a launch runs: registers, the active threads, and the memory of one batch of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..memory import GlobalMemory, Region
from .clocks import BLOCK_SHIFT, THREAD_BITS, Clocks, Tags
from .races import Race
from .values import UNSIGNED, Bits, Lane, Mask, constant, resize

Index = NDArray[np.intp]
Triple = tuple[int, int, int]


class Active:
    """The threads that execute: ``index`` holds their numbers in the batch, ascending; None means all ``count``."""

    __slots__ = ("count", "index")

    def __init__(self, count: int, index: Index | None = None) -> None:
        self.count = count
        self.index = index

    def take(self, array: Bits) -> Bits:
        """The entries of a per-thread array that belong to active threads."""
        return array if self.index is None else array[self.index]

    def threads(self) -> Index:
        """The numbers of the active threads."""
        return np.arange(self.count) if self.index is None else self.index

    def narrow(self, mask: Mask) -> Active:
        """The active threads for which ``mask`` (one entry per active thread) holds."""
        chosen = np.flatnonzero(mask)
        if chosen.size == self.count:
            return self
        return Active(chosen.size, chosen if self.index is None else self.index[chosen])


class Register:
    """One register of every thread of the batch. ``undef`` is None once no thread's value is undefined; ``cause`` says
    where an undefined value came from, when it was not simply never written."""

    __slots__ = ("bits", "cause", "name", "undef", "width")

    def __init__(self, name: str, width: int, threads: int) -> None:
        self.name = name
        self.width = width
        self.cause = ""
        shape = (threads,) if width <= 64 else (threads, width // 64)
        self.bits: Bits = np.zeros(shape, bool if width == 1 else UNSIGNED[min(width, 64)])
        self.undef: Mask | None = np.ones(threads, bool)

    def read(self, active: Active) -> Lane:
        """The value for the active threads; a view of the register when all are active."""
        index = active.index
        undef = self.undef
        if index is None:
            if undef is not None and not undef.any():
                undef = self.undef = None
            return Lane(self.bits, undef, self._origin() if undef is not None else "")
        if undef is not None:
            undef = undef[index]
            if not undef.any():
                undef = None
        return Lane(self.bits[index], undef, self._origin() if undef is not None else "")

    def _origin(self) -> str:
        return f"{self.name} ({self.cause})" if self.cause else self.name

    def write(self, active: Active, lane: Lane) -> None:
        """Set the value for the active threads; wider values are cut, narrower ones zero-extended."""
        bits = resize(lane.bits, self.width)
        index = active.index
        if lane.undef is not None:
            self.cause = lane.origin
        if index is None:
            self.bits[...] = bits
            if lane.undef is None:
                self.undef = None
            else:
                self.undef = np.array(np.broadcast_to(lane.undef, self.bits.shape[:1]))
            return
        self.bits[index] = bits
        if lane.undef is not None:
            if self.undef is None:
                self.undef = np.zeros(self.bits.shape[0], bool)
            self.undef[index] = lane.undef
        elif self.undef is not None:
            self.undef[index] = False


class Undefined(Exception):
    """A value that was never defined is used; ``positions`` index the active threads."""

    def __init__(self, positions: Index, what: str) -> None:
        self.positions = positions
        self.what = what
        super().__init__(what)


def demand(lane: Lane, active: Active) -> Bits:
    """The bits of ``lane``; :class:`Undefined` when an active thread's value is undefined."""
    if lane.undef is not None:
        mask = np.broadcast_to(lane.undef, (active.count,))
        if mask.any():
            what = f"{lane.origin or 'a value'}, which holds no defined value here"
            raise Undefined(np.flatnonzero(mask), what)
    return lane.bits


@dataclass(frozen=True, slots=True)
class Shape:
    """Extents of a launch, each (x, y, z); ``dynamic`` and ``shared`` are bytes of shared memory a block."""

    grid: Triple
    block: Triple
    cluster: Triple
    dynamic: int = 0
    shared: int = 0

    @property
    def block_threads(self) -> int:
        """Threads in a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def cluster_blocks(self) -> int:
        """Blocks in a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]


def unravel(linear: NDArray[np.int64], extents: Triple) -> tuple[Bits, Bits, Bits]:
    """x, y and z of linear numbers (x runs fastest) as uint32."""
    x, y, _ = extents
    return ((linear % x).astype(np.uint32), (linear // x % y).astype(np.uint32), (linear // (x * y)).astype(np.uint32))


def coordinates(linear: int, extents: Triple) -> Triple:
    """x, y and z of one linear number."""
    x, y, _ = extents
    return linear % x, linear // x % y, linear // (x * y)


def block_numbers(shape: Shape, start: int, count: int) -> NDArray[np.int64]:
    """Linear numbers of ``count`` blocks from the ``start``-th on, in an order that keeps clusters together."""
    size = shape.cluster[0] * shape.cluster[1] * shape.cluster[2]
    at = np.arange(start, start + count, dtype=np.int64)
    clusters = (shape.grid[0] // shape.cluster[0], shape.grid[1] // shape.cluster[1], shape.grid[2] // shape.cluster[2])
    cluster, rank = unravel(at // size, clusters), unravel(at % size, shape.cluster)
    x, y, z = (c.astype(np.int64) * e + r for c, r, e in zip(cluster, rank, shape.cluster))
    return np.asarray(x + shape.grid[0] * (y + shape.grid[1] * z))


@dataclass(slots=True)
class Batch:
    """Blocks of a launch that run together in lockstep; ``ids`` are their linear numbers, clusters kept together.

    ``regions`` holds the windowed spaces, ``tags`` the race tags, ``block_of`` the block of each thread, counted in the
    batch, ``ended`` the threads that executed exit. ``races`` is False when races are not looked for. ``specials``
    caches special registers.
    """

    shape: Shape
    ids: NDArray[np.int64]
    registers: Sequence[Register]
    memory: GlobalMemory
    regions: dict[str, Region]
    races: bool
    on_race: Callable[[Race, Region, int, Active], None]
    issue: int = 0
    writes: int = 0
    clocks: Clocks | None = None
    notes: set[str] = field(default_factory=set)
    specials: dict[str, Bits] = field(default_factory=dict)
    block_of: Index = field(init=False)
    linear: NDArray[np.int64] = field(init=False)
    numbers: Index = field(init=False)
    tags: Tags = field(init=False)
    ended: Mask = field(init=False)

    def __post_init__(self) -> None:
        each = self.shape.block_threads
        self.numbers = np.arange(self.threads)
        self.block_of = self.numbers // each
        self.linear = self.numbers % each
        self.ended = np.zeros(self.threads, bool)
        block = (self.ids[self.block_of] + 1).astype(np.uint64)
        self.tags = (block << np.uint64(BLOCK_SHIFT)) | self.linear.astype(np.uint64)

    @property
    def blocks(self) -> int:
        """Blocks in the batch."""
        return self.ids.size

    @property
    def threads(self) -> int:
        """Threads in the batch."""
        return self.ids.size * self.shape.block_threads

    def start_clocks(self) -> Clocks:
        """Per-warp clocks, made from the common epoch of each block when first needed."""
        if self.clocks is None:
            epoch = (self.tags[:: self.shape.block_threads] >> np.uint64(THREAD_BITS)) & np.uint64((1 << 24) - 1)
            self.clocks = Clocks(epoch, self.ids, self.shape.cluster_blocks, -(-self.shape.block_threads // 32))
        return self.clocks

    def retag(self, threads: Index) -> None:
        """Give ``threads`` the epoch of their warp's clock."""
        clocks = self.start_clocks()
        block, linear = self.block_of[threads], self.linear[threads]
        epoch = clocks.own[clocks.place(block, linear // 32)]
        base = (self.ids[block] + 1).astype(np.uint64) << np.uint64(BLOCK_SHIFT)
        self.tags[threads] = base | (epoch << np.uint64(THREAD_BITS)) | linear.astype(np.uint64)

    def where(self, thread: int) -> tuple[Triple, Triple]:
        """Thread and block coordinates of a thread of the batch."""
        each = self.shape.block_threads
        return coordinates(thread % each, self.shape.block), coordinates(int(self.ids[thread // each]), self.shape.grid)


def uniform(value: int, width: int) -> Lane:
    """A constant lane."""
    return Lane(constant(value, width))
