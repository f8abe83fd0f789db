"""Byte memory of the simulated machine: regions with exact bounds, undefined bytes and address windows.

A :class:`Region` is one piece of memory that exists ``rows`` times: once (a global allocation, the parameters), once a
block (shared) or once a thread (local). Every access is vectorised over threads and checked before it has any effect;
an access that is wrong raises :class:`MemoryTrap`, which names the threads at fault by position in the access.

Addresses are 64 bits. PTX manual, sections "State Spaces" and "Generic Addressing": a generic address is a global
address unless it lies in the window of another space. Every global allocation lies in an address slot of its own, 64
GiB wide, so an access that leaves its buffer by one byte, in either direction, never reaches another one. Nothing of
global memory lies below 4 GiB, so address arithmetic that loses the upper half is found as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Positions = NDArray[np.intp]
# The element type depends on the width of the value.
Bits = NDArray[Any]

SLOT_SHIFT = 36
SLOT_OFFSET = 1 << 34  # a buffer starts here in its slot, so that negative offsets stay in the slot
WINDOW_SHIFT = 56
WINDOWS: dict[str, int] = {"shared": 1 << 56, "local": 2 << 56, "const": 3 << 56, "param": 4 << 56}
_WINDOW_NAMES = {base >> WINDOW_SHIFT: name for name, base in WINDOWS.items()}
SPACE_START = 1024  # first address in every windowed space: address 0 is never valid
GUARD = 256  # bytes between two variables of one space
MAX_ACCESS = 32

_DTYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64),
    # Sixteen bytes move as one element; no arithmetic is ever done on this type.
    16: np.dtype(np.complex128),
}


class MemoryTrap(Exception):  # noqa: N818
    """An access that may not happen; nothing was changed. ``positions`` index the threads of the access."""

    def __init__(self, kind: str, positions: Positions, address: int, size: int, *, buffer: str = "",
                 offset: int | None = None, extent: int | None = None, detail: str = "") -> None:
        self.kind = kind
        self.positions = positions
        self.address = address
        self.size = size
        self.buffer = buffer
        self.offset = offset
        self.extent = extent
        self.detail = detail
        super().__init__(f"{kind} at {address:#x}")


@dataclass(frozen=True, slots=True)
class Place:
    """A named part of a region: bytes ``start`` to ``start + size`` of each row."""

    name: str
    start: int
    size: int


@dataclass(slots=True)
class Region:
    """Memory of one space. ``data`` has ``rows * pitch`` bytes; the address of byte 0 of a row is ``base``.

    ``valid`` marks the bytes of a row that belong to a variable (None: all ``size``), ``defined`` the bytes that hold a
    value (None: all). ``shadow`` is a slot for whoever checks races.
    """

    space: str
    base: int
    size: int
    rows: int
    data: Bytes
    places: tuple[Place, ...]
    valid: NDArray[np.bool_] | None = None
    defined: Bytes | None = None
    writable: bool = True
    shadow: object = None
    _views: dict[tuple[str, int], tuple[int, Bits]] = field(default_factory=dict)

    @property
    def pitch(self) -> int:
        """Bytes from one row to the next."""
        return self.data.size // self.rows if self.rows else 0

    def locate(self, offset: int) -> tuple[str, int, int]:
        """Name, offset within it and size of the variable nearest to byte ``offset`` (signed) of a row."""
        best = min(self.places, key=lambda p: max(p.start - offset, offset - (p.start + p.size - 1), 0), default=None)
        if best is None:
            return self.space, offset, self.size
        return best.name, offset - best.start, best.size

    def _view(self, what: str, array: NDArray[np.generic], width: int) -> tuple[int, Bits]:
        """``array`` seen as elements of ``width`` bytes starting at the first address that is a multiple of it."""
        key = (what, width)
        found = self._views.get(key)
        if found is None:
            skip = -self.base % width
            raw = array.view(np.uint8)[skip:]
            raw = raw[: raw.size // width * width]
            view: Bits = raw.view(_DTYPES[width]) if width in _DTYPES else raw.view(np.uint64).reshape(-1, width // 8)
            found = self._views[key] = (skip, view)
        return found

    def check(self, address: Words, width: int, *, write: bool) -> Words:
        """Byte offsets of accesses of ``width`` bytes at ``address``; :class:`MemoryTrap` when one is not allowed."""
        wrong = (address & np.uint64(width - 1)) != 0
        if wrong.any():
            raise self._trap("misaligned", wrong, address, width)
        offset = address - np.uint64(self.base)
        outside = offset > np.uint64(max(self.size - width, 0)) if self.size >= width else np.ones(offset.shape, bool)
        if self.valid is not None and not outside.all():
            skip, view = self._view("valid", self.valid, width)
            number = (offset - np.uint64(skip)) // np.uint64(width)
            ok = view[np.where(outside, np.uint64(0), number).astype(np.intp)]
            outside = outside | ~_all_ones(ok, width)
        if outside.any():
            raise self._trap("out-of-bounds", outside, address, width)
        if write and not self.writable:
            raise self._trap("read-only", np.ones(offset.shape, bool), address, width)
        return offset

    def _trap(self, kind: str, wrong: NDArray[np.bool_], address: Words, width: int) -> MemoryTrap:
        positions = np.flatnonzero(wrong)
        at = int(address[positions[0]])
        offset = at - self.base
        if offset >= 1 << 63:
            offset -= 1 << 64
        name, inside, extent = self.locate(offset)
        return MemoryTrap(kind, positions, at, width, buffer=name, offset=inside, extent=extent)

    def index(self, offset: Words, row: Positions | None, width: int) -> Positions:
        """Element numbers, in units of ``width``, of checked byte offsets in the rows ``row``."""
        skip = -self.base % width
        index = ((offset - np.uint64(skip)) // np.uint64(width)).astype(np.intp)
        if row is not None and self.rows > 1:
            index = index + row * np.intp(self.pitch // width)
        return index

    def load(self, index: Positions, width: int) -> Bits:
        """Bits at element numbers: ``[n]`` unsigned integers, or ``[n, width // 8]`` uint64 above eight bytes."""
        view = self._view("data", self.data, width)[1]
        taken = view[index]
        return taken.view(np.uint64).reshape(-1, 2) if width == 16 else taken

    def store(self, index: Positions, width: int, bits: Bits) -> None:
        """Write bits (shapes as of :meth:`load`; a first extent of 1 is broadcast) and mark the bytes defined."""
        view = self._view("data", self.data, width)[1]
        if width == 16:
            bits = np.ascontiguousarray(bits).view(np.complex128).reshape(-1)
        view[index] = bits
        if self.defined is not None:
            marks = self._view("defined", self.defined, width)[1]
            marks[index] = _ones(width)

    def undefined(self, index: Positions, width: int) -> NDArray[np.bool_] | None:
        """Which of the accesses would read a byte that was never written; None when none would."""
        if self.defined is None:
            return None
        marks = self._view("defined", self.defined, width)[1][index]
        bad = ~_all_ones(marks, width)
        return bad if bad.any() else None


def _ones(width: int) -> Bits:
    raw = np.ones(width, np.uint8)
    return raw.view(_DTYPES[width]) if width in _DTYPES else raw.view(np.uint64).reshape(1, -1)


def _all_ones(marks: Bits, width: int) -> NDArray[np.bool_]:
    if width == 16:
        marks = marks.view(np.uint64).reshape(-1, 2)
    if marks.ndim == 2:
        return np.asarray((marks == np.uint64(0x0101010101010101)).all(axis=1))
    return np.asarray(marks == _ones(width)[0])


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable to place: bytes, alignment in bytes, initial value (None: undefined)."""

    name: str
    size: int
    align: int
    initial: bytes | None = None


def lay_out(variables: Sequence[Variable], start: int = SPACE_START) -> tuple[tuple[Place, ...], int]:
    """Places for ``variables``, aligned and with guard bytes between, and the end of the last guard."""
    places = []
    cursor = start
    for variable in variables:
        align = max(variable.align, 1)
        cursor = -(-cursor // align) * align
        places.append(Place(variable.name, cursor, variable.size))
        cursor += variable.size + GUARD
    return tuple(places), -(-cursor // MAX_ACCESS) * MAX_ACCESS


def variable_region(space: str, variables: Sequence[Variable], rows: int, *, writable: bool) -> Region:
    """Memory of a windowed space (shared, local, const, param) that holds ``variables`` in each of ``rows`` rows."""
    places, size = lay_out(variables)
    valid = np.zeros(size, bool)
    data = np.zeros((rows, size), np.uint8)
    defined = np.zeros((rows, size), np.uint8)
    for place, variable in zip(places, variables):
        span = slice(place.start, place.start + place.size)
        valid[span] = True
        if variable.initial is not None:
            data[:, span] = np.frombuffer(variable.initial.ljust(place.size, b"\0")[: place.size], np.uint8)
            defined[:, span] = 1
    return Region(space, 0, size, rows, data.reshape(-1), places, valid, defined.reshape(-1), writable)


@dataclass(slots=True)
class GlobalMemory:
    """All global allocations of a launch, one address slot each."""

    regions: list[Region] = field(default_factory=list)

    def add(self, name: str, data: Bytes, *, residue: int = 0, owned: NDArray[np.bool_] | None = None,
            defined: Bytes | None = None, writable: bool = True) -> Region:
        """Place ``data`` (in place, not copied) at a 256-byte boundary plus ``residue`` bytes and return its region."""
        base = ((len(self.regions) + 1) << SLOT_SHIFT) + SLOT_OFFSET + residue % 256
        region = Region("global", base, data.size, 1, data, (Place(name, 0, data.size),), owned, defined, writable)
        self.regions.append(region)
        return region

    def split(self, address: Words) -> list[tuple[Region, NDArray[np.bool_] | None]]:
        """The regions that ``address`` falls in and which threads use each (None: all)."""
        slot = address >> np.uint64(SLOT_SHIFT)
        low, high = int(slot.min()), int(slot.max())
        if low == high:
            return [(self._at(low, address, None), None)]
        return [(self._at(int(s), address, slot == s), slot == s) for s in np.unique(slot)]

    def _at(self, slot: int, address: Words, mask: NDArray[np.bool_] | None) -> Region:
        if not 1 <= slot <= len(self.regions):
            positions = np.arange(address.size) if mask is None else np.flatnonzero(mask)
            raise MemoryTrap("out-of-bounds", positions, int(address[positions[0]]), 0,
                             detail="no buffer is anywhere near this address")
        return self.regions[slot - 1]


def window_of(address: Words) -> Words:
    """The window number of generic addresses: 0 for global memory."""
    return address >> np.uint64(WINDOW_SHIFT)


def window_space(number: int) -> str:
    """The space behind a window number; ``""`` when there is none."""
    return "global" if number == 0 else _WINDOW_NAMES.get(number, "")
