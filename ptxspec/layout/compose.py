"""Swizzled layouts: an affine layout whose memory coordinate has address bits XORed with others."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.diagnostics import KernelError, fail
from ptxspec.layout.base import Layout
from ptxspec.layout.tile import TileLayout
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly


class ComposeLayout(Layout):
    """``ComposeLayout(per_element, swizzle_len, atom_len, tile)``, all three counts in bits.

    The lowest ``per_element`` bits of the memory coordinate stay. Of the bits above, call ``low`` the first
    ``swizzle_len`` and ``high`` the ``swizzle_len`` that start ``atom_len`` further up: ``low ^= high``, or with
    ``swizzle_inner=False`` ``high ^= low``. The common 128-byte swizzle of 16-bit elements is ``(3, 3, 3)``.
    """

    __slots__ = ("atom_len", "per_element", "swizzle_inner", "swizzle_len", "tile_layout")

    def __init__(self, per_element: int, swizzle_len: int, atom_len: int, tile_layout: TileLayout,
                 swizzle_inner: bool = True) -> None:
        if not isinstance(tile_layout, TileLayout):
            raise fail(KernelError, "K127", "the last argument of ComposeLayout is a TileLayout, not "
                                            f"{type(tile_layout).__name__}")
        for name, bits in (("per_element", per_element), ("swizzle_len", swizzle_len), ("atom_len", atom_len)):
            if not isinstance(bits, int) or isinstance(bits, bool) or not 0 <= bits <= 32:
                raise fail(KernelError, "K127", f"{name} is a number of bits from 0 to 32, not {bits!r}")
        if atom_len < swizzle_len:
            raise fail(KernelError, "K127", f"atom_len ({atom_len}) must be at least swizzle_len ({swizzle_len}): "
                                            "the two groups of bits may not overlap")
        self.per_element = per_element
        self.swizzle_len = swizzle_len
        self.atom_len = atom_len
        self.tile_layout = tile_layout
        self.swizzle_inner = swizzle_inner

    def _key(self) -> tuple[object, ...]:
        return (self.per_element, self.swizzle_len, self.atom_len, self.swizzle_inner, self.tile_layout)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeLayout) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        outer = "" if self.swizzle_inner else ", swizzle_inner=False"
        return f"ComposeLayout({self.per_element}, {self.swizzle_len}, {self.atom_len}, {self.tile_layout!r}{outer})"

    def swizzle(self, coordinate: Poly) -> Poly:
        """The memory coordinate after the XOR, put together from its bit groups so that bounds stay tight."""
        if self.swizzle_len == 0:
            return coordinate
        chunk, field, step = 1 << self.per_element, 1 << self.swizzle_len, 1 << self.atom_len
        block = ix.floordiv(coordinate, chunk)
        low = ix.floormod(block, field)
        high = ix.floormod(ix.floordiv(block, step), field)
        mixed = ix.binary("xor", low, high)
        if self.swizzle_inner:
            swizzled = ix.add(ix.scale(ix.floordiv(block, field), field), mixed)
        else:
            top = ix.scale(ix.floordiv(block, step * field), step * field)
            swizzled = ix.add(top, ix.scale(mixed, step), ix.floormod(block, step))
        return ix.add(ix.scale(swizzled, chunk), ix.floormod(coordinate, chunk))

    def place(self, index: Sequence[Poly], shape: Sequence[Poly]) -> dict[str, Poly]:
        result = self.tile_layout.place(index, shape)
        result["m"] = self.swizzle(result["m"])
        return result

    def extents(self) -> tuple[Poly, ...]:
        return self.tile_layout.extents()

    def axes(self) -> tuple[str, ...]:
        return self.tile_layout.axes()

    def size(self, axis: str | None = None) -> Poly:
        return self.tile_layout.size(axis)

    @property
    def block(self) -> int:
        """Elements within which the XOR permutes: no coordinate leaves its aligned block of this many."""
        bits = self.per_element + self.swizzle_len + (0 if self.swizzle_inner else self.atom_len)
        return 1 << bits if self.swizzle_len else 1

    def memory_range(self) -> tuple[Poly, Poly]:
        """The tile's range widened to whole blocks; exact where the tile fills them."""
        low, high = self.tile_layout.memory_range()
        block = self.block
        return ix.scale(ix.floordiv(low, block), block), ix.scale(ix.floordiv(ix.add(high, block - 1), block), block)

    def span(self, axis: str = "m") -> Poly:
        if axis != "m":
            return self.tile_layout.span(axis)
        low, high = self.memory_range()
        return ix.sub(high, low)

    def is_contiguous(self) -> bool:
        return self.swizzle_len == 0 and self.tile_layout.is_contiguous()

    def canonicalize(self) -> Layout:
        tile = self.tile_layout.canonicalize()
        return tile if self.swizzle_len == 0 else self._with(tile)

    def permute_dims(self, order: Sequence[int], shape: Sequence[int] | None = None) -> ComposeLayout:
        """As :meth:`TileLayout.permute_dims`; the swizzle acts on addresses and is untouched."""
        return self._with(self.tile_layout.permute_dims(order, shape))

    def tile(self, outer: TileLayout, outer_shape: Sequence[int], inner_shape: Sequence[int]) -> ComposeLayout:
        """As :meth:`TileLayout.tile`, for a tile that fills whole swizzle periods (else KernelError K128)."""
        period = 1 << (self.per_element + self.atom_len + self.swizzle_len)
        span = self.tile_layout.span()
        if ix.divisor(span) % period:
            raise fail(KernelError, "K128", f"{self!r} repeats every {period} elements, which does not divide its span")
        return self._with(self.tile_layout.tile(outer, outer_shape, inner_shape))

    def pack(self, count: int) -> ComposeLayout:
        """The layout of elements ``count`` times as large; ``count`` is a power of two within ``per_element`` bits."""
        bits = count.bit_length() - 1
        if count < 1 or count != 1 << bits or bits > self.per_element:
            raise fail(KernelError, "K126", f"{self!r} cannot be packed by {count}: a swizzle unit would be cut")
        return ComposeLayout(self.per_element - bits, self.swizzle_len, self.atom_len, self.tile_layout.pack(count),
                             self.swizzle_inner)

    def unpack(self, count: int) -> ComposeLayout:
        """The layout of elements ``count`` times as small; ``count`` is a power of two."""
        bits = count.bit_length() - 1
        if count < 1 or count != 1 << bits:
            raise fail(KernelError, "K126", f"{self!r} cannot be unpacked by {count}, which is no power of two")
        return ComposeLayout(self.per_element + bits, self.swizzle_len, self.atom_len, self.tile_layout.unpack(count),
                             self.swizzle_inner)

    def group(self, shape: Sequence[int]) -> tuple[ComposeLayout, list[int]]:
        """As :meth:`TileLayout.group`."""
        tile, ends = self.tile_layout.group(shape)
        return self._with(tile), ends

    def _with(self, tile: TileLayout) -> ComposeLayout:
        return ComposeLayout(self.per_element, self.swizzle_len, self.atom_len, tile, self.swizzle_inner)
