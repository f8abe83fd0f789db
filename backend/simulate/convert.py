"""Conversions between types (PTX manual, section "Data Movement and Conversion Instructions: cvt").

Float to integer clamps to the destination's range. NaN becomes 0, except that with an f64 source or a 64-bit integer
destination it becomes the integer with only the top bit set, as the manual says.
"""

from __future__ import annotations

import numpy as np

from .floats import F64, canonical, decode, encode, flush, format_of, round_integral, saturate
from .values import SIGNED, UNSIGNED, Bits, Type, extend, resize


def convert(bits: Bits, source: Type, target: Type, mode: str, *, ftz: bool, sat: bool) -> Bits:
    """``bits`` of ``source`` as ``target``, in rounding mode ``mode`` (``""``: exact or nearest even)."""
    if source.floating:
        name = format_of(source)
        bits = resize(bits, source.bits)
        if ftz and name == "f32":
            bits = flush(bits, name)
        if target.floating:
            return _float_to_float(bits, name, format_of(target), mode, ftz=ftz, sat=sat)
        return _float_to_int(decode(bits, name), source, target, mode or "rzi")
    if target.floating:
        return _int_to_float(resize(bits, source.bits), source, format_of(target), mode or "rn", sat=sat)
    if not sat:
        return extend(bits, source, target.bits)
    return _clamp_int(resize(bits, source.bits), source, target)


def _float_to_float(bits: Bits, source: str, target: str, mode: str, *, ftz: bool, sat: bool) -> Bits:
    value = decode(bits, source)
    if mode.endswith("i"):
        value = round_integral(value, mode)
        mode = "rn"
    if source == target and not np.isnan(value).any():
        out = encode(value, target)
    elif target == "f64":
        out = canonical(value.view(np.uint64), np.isnan(value), "f64")
    else:
        out = encode(value, target, mode or "rn")
    if sat:
        out = saturate(out, target)
    return flush(out, target) if ftz and target == "f32" else out


def int_range(type_: Type) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    if type_.signed:
        return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1
    return 0, (1 << type_.bits) - 1


def _float_to_int(value: F64, source: Type, target: Type, mode: str) -> Bits:
    low, high = int_range(target)
    whole = round_integral(value, mode if mode.endswith("i") else "rzi")
    nan = np.isnan(whole)
    # The largest 64-bit values are no f64 values, hence clamping by comparison with the first value outside.
    over, under = whole >= float(high + 1), whole <= float(low)
    inside = np.where(nan | over | under, 0.0, whole)
    kind = SIGNED[target.bits] if target.signed else UNSIGNED[target.bits]
    if target.bits == 64:
        out = inside.astype(kind).view(np.uint64)
    else:
        out = inside.astype(np.int64).astype(kind).view(UNSIGNED[target.bits])
    unsigned = UNSIGNED[target.bits].type
    out = np.where(over, unsigned(high), out)
    out = np.where(under, unsigned(low & ((1 << target.bits) - 1)), out)
    wide = source.bits == 64 or target.bits == 64
    return np.where(nan, unsigned(1 << (target.bits - 1) if wide else 0), out)


def _int_to_float(bits: Bits, source: Type, target: str, mode: str, *, sat: bool) -> Bits:
    negative = bits.view(SIGNED[source.bits]) < 0 if source.signed else np.zeros(bits.shape, bool)
    size = np.where(negative, np.negative(bits), bits).astype(np.uint64)
    if target == "f64":
        out = _to_f64(size, negative, mode).view(np.uint64)
    else:
        # From 2**53 on the low eleven bits are folded into one: at least 42 bits are left, so the result rounds right.
        low = np.uint64(0x7FF)
        folded = (size & ~low) | np.where((size & low) != 0, np.uint64(0x800), np.uint64(0))
        kept = np.where(size >= np.uint64(1 << 53), folded, size).astype(np.float64)
        out = encode(np.where(negative, -kept, kept), target, mode)
    return saturate(out, target) if sat else out


def _to_f64(size: Bits, negative: Bits, mode: str) -> F64:
    near = size.astype(np.float64)
    out: F64 = near
    if mode != "rn":
        top = near >= 2.0**64
        back = np.where(top, 0.0, near).astype(np.uint64)
        above = top | (back > size)
        below = ~top & (back < size)
        away = (mode == "rp") & ~negative | (mode == "rm") & negative
        out = np.where(above & ~away, np.nextafter(near, 0.0), near)
        out = np.where(below & away, np.nextafter(near, np.inf), out)
    return np.where(negative, -out, out)


def _clamp_int(bits: Bits, source: Type, target: Type) -> Bits:
    low, high = int_range(target)
    value = bits.view(SIGNED[source.bits]) if source.signed else bits
    source_low, source_high = int_range(source)
    bounded = np.clip(value, value.dtype.type(max(low, source_low)), value.dtype.type(min(high, source_high)))
    raw = bounded.view(UNSIGNED[source.bits]) if source.signed else bounded
    return extend(np.ascontiguousarray(raw), source, target.bits)


