"""Race detection: two threads touch one byte, one of them writes, and no barrier orders them.

For each granule of memory (the largest unit that every access so far covers whole) and each kind of access, the tags of
two earlier accesses are kept. A tag is ``block + 1`` (30 bits), epoch (24 bits) and thread in the block (10 bits); the
epoch of a thread counts the barriers it passed. Accesses of one block are ordered when a barrier came between;
accesses of different blocks never are, whatever order this simulator happens to run them in.

Two tags are enough: the pair kept is one of different blocks as soon as two blocks made such an access (then any
write conflicts with one of them), and else the two latest different threads. Barriers of clusters and of some warps
order by :class:`~.clocks.Clocks`. Strong accesses (atomics, relaxed,
volatile) do not conflict with each other. Fences and acquire/release pairs are not taken as ordering.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..memory import Region, Words
from .clocks import BLOCK_SHIFT, THREAD_BITS, Clocks, Tags

_THREADS = np.uint64(1 << THREAD_BITS)
_BLOCK = np.uint64(1 << BLOCK_SHIFT)
_ZERO = np.uint64(0)

READ, WRITE, STRONG_READ, STRONG_WRITE = "read", "write", "strong read", "strong write"
_CONFLICTS: dict[str, tuple[str, ...]] = {
    READ: (WRITE, STRONG_WRITE),
    WRITE: (WRITE, READ, STRONG_WRITE, STRONG_READ),
    STRONG_READ: (WRITE,),
    STRONG_WRITE: (WRITE, READ),
}


@dataclass(slots=True)
class Race:
    """A race: the position of one thread in the access, the tag of the other, what each did, and the byte."""

    position: int
    other: int
    kind: str
    other_kind: str
    byte: int
    count: int


@dataclass(slots=True)
class Shadow:
    """The remembered accesses of one region."""

    granule: int
    length: int
    slots: dict[str, tuple[Tags, Tags]] = field(default_factory=dict)

    def refine(self, granule: int) -> None:
        """Cut every granule into smaller ones that inherit its tags."""
        ratio = self.granule // granule
        self.slots = {kind: (np.repeat(a, ratio), np.repeat(b, ratio)) for kind, (a, b) in self.slots.items()}
        self.granule = granule
        self.length *= ratio

    def pair(self, kind: str) -> tuple[Tags, Tags]:
        """The two tags of every granule for ``kind``."""
        if kind not in self.slots:
            self.slots[kind] = (np.zeros(self.length, np.uint64), np.zeros(self.length, np.uint64))
        return self.slots[kind]


def record(region: Region, offset: Words, row: NDArray[np.intp] | None, width: int, tags: Tags, kind: str,
           clocks: Clocks | None = None) -> Race | None:
    """Remember an access of ``width`` bytes at ``offset`` in ``row`` by each of ``tags``; the first race, if any."""
    shadow = region.shadow
    residue = region.base % 32
    if not isinstance(shadow, Shadow):
        shadow = region.shadow = Shadow(width, (region.pitch * region.rows + residue) // width + 2)
    if width < shadow.granule:
        shadow.refine(width)
    granule = ((offset + np.uint64(residue)) // np.uint64(shadow.granule)).astype(np.intp)
    if row is not None and region.rows > 1:
        granule = granule + row * np.intp(region.pitch // shadow.granule)
    parts = width // shadow.granule
    if parts > 1:
        granule = (granule[:, None] + np.arange(parts)).reshape(-1)
        tags = np.repeat(tags, parts)
    found: Race | None = None
    for other_kind in _CONFLICTS[kind]:
        if other_kind in shadow.slots:
            for earlier in shadow.slots[other_kind]:
                race = _conflict(earlier[granule], tags, kind, other_kind, clocks)
                found = _first(found, race)
    found = _first(found, _remember(shadow, granule, tags, kind, clocks))
    if found is None:
        return None
    start = int(granule[found.position]) * shadow.granule - residue
    if row is not None and region.rows > 1:
        start -= int(row[found.position // parts]) * region.pitch
    found.byte = max(start, int(offset[found.position // parts]))
    found.position //= parts
    return found


def _first(a: Race | None, b: Race | None) -> Race | None:
    if a is None or b is None:
        return a or b
    return a if a.position <= b.position else b


def _conflict(earlier: Tags, tags: Tags, kind: str, other_kind: str, clocks: Clocks | None) -> Race | None:
    differ = earlier ^ tags
    if clocks is None:
        # One block: equal epochs and different threads leave a difference in the thread bits alone.
        bad = (differ >= _BLOCK) | ((differ != _ZERO) & (differ < _THREADS))
        bad &= earlier != _ZERO
    else:
        another = (differ >= _BLOCK) | ((differ & (_THREADS - np.uint64(1))) != _ZERO)
        bad = another & (earlier != _ZERO)
        bad &= ~clocks.ordered(earlier, tags)
    if not bad.any():
        return None
    positions = np.flatnonzero(bad)
    return Race(int(positions[0]), int(earlier[positions[0]]), kind, other_kind, 0, positions.size)


def _remember(shadow: Shadow, granule: NDArray[np.intp], tags: Tags, kind: str, clocks: Clocks | None) -> Race | None:
    first, second = shadow.pair(kind)
    old_first, old_second = first[granule], second[granule]
    first[granule] = tags
    winner = first[granule]
    keep = (old_second != _ZERO) & ((old_second ^ winner) >= _BLOCK)
    if clocks is not None:  # what this access comes after needs no place
        keep &= ~clocks.ordered(old_second, winner)
    previous = (old_first != _ZERO) & (old_first != winner) & ~keep
    if previous.any():
        second[granule] = np.where(previous, old_first, old_second)
    lost = winner != tags
    if not lost.any():
        return None
    race = None
    if kind == WRITE:
        positions = np.flatnonzero(lost)
        race = Race(int(positions[0]), int(winner[positions[0]]), kind, kind, 0, positions.size)
    now = second[granule]
    free = lost & ~((now != _ZERO) & ((now ^ winner) >= _BLOCK))
    second[granule[free]] = tags[free]
    far = free & ((tags ^ winner) >= _BLOCK)
    if far.any():
        second[granule[far]] = tags[far]
    return race


def tag_parts(tag: int) -> tuple[int, int]:
    """Linear block number and linear thread number of a tag."""
    return (tag >> BLOCK_SHIFT) - 1, tag & ((1 << THREAD_BITS) - 1)
