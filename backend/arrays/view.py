"""What a launch needs to know of an array: where it is, how it is laid out, what it holds. No data is touched here."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

#: element type -> bytes an element; the names are those of the kernel language
ITEMSIZE: dict[str, int] = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "float8_e4m3": 1, "float8_e5m2": 1,
    "bits8": 1, "bits16": 2, "bits32": 4, "bits64": 8, "bits128": 16,
}

#: names that other libraries give to these types
ALIASES: dict[str, str] = {
    "float8_e4m3fn": "float8_e4m3", "bool_": "bool", "half": "float16", "float": "float32", "double": "float64",
    # Kernels only move these.
    "complex64": "bits64", "complex128": "bits128",
}


@dataclass(frozen=True, slots=True)
class Capsule:
    """The owner of memory that came through DLPack: the array and the capsule that the exporter made."""

    array: object
    capsule: object


@dataclass(frozen=True, slots=True)
class ArrayView:
    """One array as its exporter described it.

    ``pointer`` is the byte address of the element at index zero of every axis (0 where the array is empty); ``shape``
    is in elements, ``strides`` in bytes and possibly negative or zero; ``device`` is ``"cpu"`` or ``"cuda:N"``.
    ``owner`` keeps the memory alive. ``producer_stream`` is a CUDA stream that the exporter wants waited for, None if
    it named none.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: str
    readonly: bool
    owner: object = field(repr=False, compare=False)
    producer_stream: int | None = None

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return ITEMSIZE[self.dtype]

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def pinned(self) -> bool:
        """True where a DLPack capsule holds the memory: while the view lives, its address and shape cannot change."""
        return isinstance(self.owner, Capsule)

    @property
    def contiguous(self) -> bool:
        """True where the elements lie in row-major order without gaps (every empty array does)."""
        if self.size == 0:
            return True
        expected = self.itemsize
        for extent, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if extent != 1 and stride != expected:
                return False
            expected *= extent
        return True

    @property
    def byte_range(self) -> tuple[int, int]:
        """First byte address of any element, and the one after the last; equal where the array is empty."""
        if self.size == 0:
            return (self.pointer, self.pointer)
        reach = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)]
        low = sum(step for step in reach if step < 0)
        high = sum(step for step in reach if step > 0)
        return (self.pointer + low, self.pointer + high + self.itemsize)

    def overlaps(self, other: ArrayView) -> bool:
        """True where the byte ranges of the two meet on the same device (a cautious answer for strided arrays)."""
        if self.device != other.device or not self.size or not other.size:
            return False
        (low, high), (other_low, other_high) = self.byte_range, other.byte_range
        return low < other_high and other_low < high


def compact_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Row-major byte strides without gaps."""
    strides: list[int] = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))
