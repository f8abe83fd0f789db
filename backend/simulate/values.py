"""Values of the simulator: one :class:`Lane` is one element for every active thread, as a bit pattern.

``bits`` is ``[n]`` (or ``[1]`` when every thread has the same value) of an unsigned type or bool (predicates), or
``[n, k]`` uint64 for values of more than 64 bits, least significant word first. ``undef`` marks the threads whose value
is undefined; None when all are defined. ``origin`` says where an undefined value came from, for messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The element type depends on the width of the value.
Bits = NDArray[Any]
Mask = NDArray[np.bool_]

UNSIGNED: dict[int, np.dtype[np.generic]] = {
    8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: np.dtype(np.uint32), 64: np.dtype(np.uint64)}
SIGNED: dict[int, np.dtype[np.generic]] = {
    8: np.dtype(np.int8), 16: np.dtype(np.int16), 32: np.dtype(np.int32), 64: np.dtype(np.int64)}


@dataclass(frozen=True, slots=True)
class Type:
    """A PTX fundamental type. ``kind``: ``b u s f bf pred``; ``bits`` per element; ``count`` packed elements."""

    name: str
    kind: str
    bits: int
    count: int = 1

    @property
    def signed(self) -> bool:
        """Whether the type is a signed integer."""
        return self.kind == "s"

    @property
    def floating(self) -> bool:
        """Whether the type is a floating point type."""
        return self.kind in ("f", "bf", "tf")

    @property
    def total(self) -> int:
        """Bits of the whole value."""
        return self.bits * self.count

    @property
    def element(self) -> Type:
        """The type of one packed element."""
        return self if self.count == 1 else parse_type(self.name.rsplit("x", 1)[0])


_TYPE = re.compile(r"^(b|u|s|f|bf|tf)(\d+)(?:x(\d+))?$")


@cache
def parse_type(name: str) -> Type:
    """The type called ``name`` (without dot). ValueError when there is no such type."""
    if name == "pred":
        return Type("pred", "pred", 1)
    match = _TYPE.match(name)
    if match is None:
        raise ValueError(f"no type is called {name!r}")
    bits = int(match[2])
    return Type(name, match[1], 32 if match[1] == "tf" else bits, int(match[3] or 1))


class Lane:
    """One element of a value for all active threads; see the module's text."""

    __slots__ = ("bits", "origin", "undef")

    def __init__(self, bits: Bits, undef: Mask | None = None, origin: str = "") -> None:
        self.bits = bits
        self.undef = undef
        self.origin = origin


Value = list[Lane]


def width_of(bits: Bits) -> int:
    """Bits of one thread's element."""
    if bits.ndim == 2:
        return int(bits.shape[1]) * 64
    return 1 if bits.dtype == bool else bits.dtype.itemsize * 8


def resize(bits: Bits, width: int) -> Bits:
    """Truncate or zero-extend to ``width`` bits (1, 8, 16, 32, 64 or a multiple of 64)."""
    have = width_of(bits)
    if have == width:
        return bits
    if width == 1:
        return np.asarray(resize(bits, 8) != 0)
    if width <= 64:
        first = bits[:, 0] if bits.ndim == 2 else bits
        return first.astype(UNSIGNED[width])
    out = np.zeros((bits.shape[0], width // 64), np.uint64)
    if bits.ndim == 2:
        words = min(bits.shape[1], out.shape[1])
        out[:, :words] = bits[:, :words]
    else:
        out[:, 0] = bits
    return out


def extend(bits: Bits, source: Type, width: int) -> Bits:
    """Sign-extend (signed ``source``) or zero-extend the low ``source.bits`` of ``bits`` to ``width`` bits."""
    narrow = resize(bits, source.total)
    if not source.signed or width <= source.total:
        return resize(narrow, width)
    signed = narrow.view(SIGNED[source.total])
    if width <= 64:
        return signed.astype(SIGNED[width]).view(UNSIGNED[width])
    wide = signed.astype(np.int64)
    out = np.empty((wide.shape[0], width // 64), np.uint64)
    out[:, 0] = wide.view(np.uint64)
    out[:, 1:] = (wide >> 63).view(np.uint64)[:, None]
    return out


def split(lane: Lane, count: int) -> Value:
    """Cut a raw value into ``count`` equal lanes, lane 0 the least significant."""
    if count == 1:
        return [lane]
    width = width_of(lane.bits) // count
    raw = np.ascontiguousarray(lane.bits)
    if width > 64:
        words = width // 64
        return [Lane(raw[:, k * words:(k + 1) * words], lane.undef, lane.origin) for k in range(count)]
    cut = raw.view(UNSIGNED[width]).reshape(-1, count)
    return [Lane(cut[:, k], lane.undef, lane.origin) for k in range(count)]


def join(lanes: Sequence[Lane], width: int | None = None) -> Lane:
    """Concatenate lanes, each truncated to ``width`` bits when given, lane 0 the least significant."""
    if len(lanes) == 1:
        only = lanes[0]
        return only if width is None else Lane(resize(only.bits, width), only.undef, only.origin)
    each = width or width_of(lanes[0].bits)
    rows = max(lane.bits.shape[0] for lane in lanes)
    total = each * len(lanes)
    if each > 64:
        words = each // 64
        out: Bits = np.empty((rows, total // 64), np.uint64)
        for k, lane in enumerate(lanes):
            out[:, k * words:(k + 1) * words] = resize(lane.bits, each)
    else:
        cut = np.empty((rows, len(lanes)), UNSIGNED[each])
        for k, lane in enumerate(lanes):
            cut[:, k] = resize(lane.bits, each)
        out = cut.view(UNSIGNED[total]).reshape(-1) if total <= 64 else cut.view(np.uint64).reshape(rows, -1)
    return Lane(out, merge_undef(lanes), next((lane.origin for lane in lanes if lane.undef is not None), ""))


def merge_undef(lanes: Sequence[Lane]) -> Mask | None:
    """Threads in which any of the lanes is undefined."""
    out: Mask | None = None
    for lane in lanes:
        if lane.undef is not None:
            out = lane.undef if out is None else out | lane.undef
    return out


def constant(value: int, width: int) -> Bits:
    """A uniform value: ``[1]``, or ``[1, k]`` above 64 bits; ``value`` wraps."""
    value &= (1 << width) - 1
    if width == 1:
        return np.array([bool(value)])
    if width <= 64:
        return np.array([value], UNSIGNED[width])
    return np.array([[value >> (64 * k) & (1 << 64) - 1 for k in range(width // 64)]], np.uint64)
