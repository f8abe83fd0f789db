"""Memory accesses of the active threads: spaces, generic windows, bounds, undefined bytes and races.

An access is planned for every region it touches before it changes anything, so a trap leaves memory as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..memory import MAX_ACCESS, WINDOW_SHIFT, MemoryTrap, Region, Words, window_of, window_space
from . import races
from .state import Active, Batch, demand
from .values import Bits, Lane, Mask, resize

_STRONG_ORDERS = frozenset({"relaxed", "acquire", "release", "acq_rel", "volatile"})


def base_space(space: str) -> str:
    """The space whose memory an access uses: ``shared::cta`` is ``shared``, no space is ``generic``."""
    return space.partition("::")[0] or "generic"


def is_strong(order: str) -> bool:
    """Whether accesses with this order word do not race with each other."""
    return order in _STRONG_ORDERS


@dataclass(slots=True)
class _Part:
    region: Region
    mask: Mask | None  # which active threads; None: all
    offset: Words
    row: NDArray[np.intp] | None
    index: NDArray[np.intp]


def _targets(batch: Batch, space: str, address: Words) -> list[tuple[str, Words, Mask | None]]:
    """(space, addresses, threads) of an access; generic addresses are told apart by their windows."""
    if space != "generic":
        return [(space, address, None)]
    window = window_of(address)
    inner = np.uint64((1 << WINDOW_SHIFT) - 1)
    low, high = int(window.min()), int(window.max())
    if low == high:
        return [(window_space(low), address if low == 0 else address & inner, None)]
    return [(window_space(int(w)), address[window == w] & inner, window == w) for w in np.unique(window)]


def _plan(batch: Batch, active: Active, lane: Lane, space: str, width: int, *, write: bool) -> list[_Part]:
    if width > MAX_ACCESS or width & (width - 1):
        raise ValueError(f"no access has {width} bytes")
    address = resize(demand(lane, active), 64)
    if address.shape[0] != active.count and (batch.races or write or space not in ("const", "param")):
        address = np.broadcast_to(address, (active.count,))
    parts: list[_Part] = []
    for name, where, mask in _targets(batch, space, address):
        try:
            if name == "global":
                for region, inner in batch.memory.split(where):
                    both = inner if mask is None else _within(mask, inner)
                    parts.append(_part(batch, active, region, where if inner is None else where[inner], both, width,
                                       write=write))
                continue
            found = batch.regions.get(name)
            if found is None:
                everyone = np.arange(where.shape[0])
                raise MemoryTrap("out-of-bounds", everyone, int(where[0]), width,
                                 detail=f"there is no {name or 'such'} memory")
        except MemoryTrap as trap:
            if mask is not None and trap.size == 0:
                trap.positions = np.flatnonzero(mask)[trap.positions]
            trap.size = width
            raise
        parts.append(_part(batch, active, found, where, mask, width, write=write))
    return parts


def _within(outer: Mask, inner: Mask | None) -> Mask:
    if inner is None:
        return outer
    out = outer.copy()
    out[outer] = inner
    return out


def _part(batch: Batch, active: Active, region: Region, address: Words, mask: Mask | None, width: int, *,
          write: bool) -> _Part:
    row: NDArray[np.intp] | None = None
    if region.rows > 1:
        row = batch.block_of if region.space == "shared" else batch.numbers
        row = active.take(row) if mask is None else active.take(row)[mask]
    try:
        offset = region.check(address, width, write=write)
    except MemoryTrap as trap:
        if mask is not None:
            trap.positions = np.flatnonzero(mask)[trap.positions]
        raise
    return _Part(region, mask, offset, row, region.index(offset, row, width))


def _trace(batch: Batch, active: Active, parts: list[_Part], width: int, kind: str) -> None:
    for part in parts:
        region = part.region
        if region.space not in ("global", "shared") or not region.writable:
            continue
        tags = active.take(batch.tags)
        if part.mask is not None:
            tags = tags[part.mask]
        found = races.record(region, part.offset, part.row, width, tags, kind, batch.clocks)
        if found is not None:
            if part.mask is not None:
                found.position = int(np.flatnonzero(part.mask)[found.position])
            batch.on_race(found, region, width, active)


def load(batch: Batch, active: Active, lane: Lane, space: str, width: int, *, strong: bool) -> Lane:
    """``width`` bytes at the addresses ``lane`` in ``space`` as raw bits."""
    parts = _plan(batch, active, lane, space, width, write=False)
    for part in parts:
        bad = part.region.undefined(part.index, width)
        if bad is not None:
            position = int(np.flatnonzero(bad)[0])
            offset = int(part.offset[position])
            name, inside, extent = part.region.locate(offset)
            positions = np.flatnonzero(bad)
            if part.mask is not None:
                positions = np.flatnonzero(part.mask)[positions]
            raise MemoryTrap("undefined", positions, part.region.base + offset, width, buffer=name, offset=inside,
                             extent=extent)
    if batch.races:
        _trace(batch, active, parts, width, races.STRONG_READ if strong else races.READ)
    if len(parts) == 1:
        return Lane(parts[0].region.load(parts[0].index, width))
    pieces = [part.region.load(part.index, width) for part in parts]
    out = np.empty((active.count, *pieces[0].shape[1:]), pieces[0].dtype)
    for part, piece in zip(parts, pieces):
        out[part.mask] = piece
    return Lane(out)


def store(batch: Batch, active: Active, lane: Lane, space: str, width: int, bits: Bits, *, strong: bool) -> None:
    """Write the raw ``bits`` of each active thread."""
    parts = _plan(batch, active, lane, space, width, write=True)
    if batch.races:
        _trace(batch, active, parts, width, races.STRONG_WRITE if strong else races.WRITE)
    bits = resize(bits, width * 8)
    batch.writes += 1
    for part in parts:
        if part.mask is None or bits.shape[0] == 1:
            part.region.store(part.index, width, bits)
        else:
            part.region.store(part.index, width, bits[part.mask])


Update = Callable[[Bits, Bits, Bits], Bits]


def combine(batch: Batch, active: Active, lane: Lane, space: str, width: int, value: Bits, compare: Bits,
            update: Update, in_global: Update) -> Lane:
    """Atomic read-modify-write: memory becomes ``update(old, value, compare)``, in global memory ``in_global`` of them;
    the old values are returned.

    Threads that meet at one address go one after the other, in the order of their numbers.
    """
    parts = _plan(batch, active, lane, space, width, write=True)
    for part in parts:
        bad = part.region.undefined(part.index, width)
        if bad is not None:
            positions = np.flatnonzero(bad)
            offset = int(part.offset[positions[0]])
            name, inside, extent = part.region.locate(offset)
            if part.mask is not None:
                positions = np.flatnonzero(part.mask)[positions]
            raise MemoryTrap("undefined", positions, part.region.base + offset, width, buffer=name, offset=inside,
                             extent=extent)
    if batch.races:
        _trace(batch, active, parts, width, races.STRONG_WRITE)
    shape = (active.count, *value.shape[1:])
    value, compare = np.broadcast_to(value, shape), np.broadcast_to(compare, shape)
    old = np.empty(shape, value.dtype)
    batch.writes += 1
    for part in parts:
        chosen = np.arange(active.count) if part.mask is None else np.flatnonzero(part.mask)
        order = np.argsort(part.index, kind="stable")
        index = part.index[order]
        # The rank of a thread among those at its address: each round takes one thread of every address.
        starts = np.flatnonzero(np.r_[True, index[1:] != index[:-1]])
        rank = np.arange(index.size) - np.repeat(starts, np.diff(np.r_[starts, index.size]))
        by_rank = np.argsort(rank, kind="stable")
        edges = np.flatnonzero(np.r_[True, np.diff(rank[by_rank]) != 0, True])
        for low, high in pairwise(edges):
            turn = order[by_rank[low:high]]
            who, where = chosen[turn], part.index[turn]
            before = part.region.load(where, width)
            old[who] = before
            change = in_global if part.region.space == "global" else update
            part.region.store(where, width, change(before, value[who], compare[who]))
    return Lane(old)
