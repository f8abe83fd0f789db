"""Conversions between types (PTX manual, section "Data Movement and Conversion Instructions: cvt").

Float to integer clamps to the destination's range. NaN becomes 0, except that with an f64 source or a 64-bit integer
destination it becomes the integer with only the top bit set, as the manual says.
"""

from __future__ import annotations

import numpy as np

from .floats import (
    CANONICAL_NAN,
    F64,
    FORMATS,
    decode,
    encode,
    flush,
    flush_exact,
    format_of,
    round_integral,
    saturate,
)
from .values import SIGNED, UNSIGNED, Bits, Type, extend, resize


def convert(bits: Bits, source: Type, target: Type, mode: str, *, ftz: bool, sat: bool) -> Bits:
    """``bits`` of ``source`` as ``target``, in rounding mode ``mode`` (``""``: exact or nearest even)."""
    if source.floating:
        name = format_of(source)
        bits = np.ascontiguousarray(resize(bits, source.bits))
        if target.floating:
            return _float_to_float(bits, name, format_of(target), mode, ftz=ftz, sat=sat)
        if ftz:
            bits = flush(bits, name)
        return _float_to_int(decode(bits, name), source, target, mode or "rzi")
    if target.floating:
        return _int_to_float(resize(bits, source.bits), source, format_of(target), mode or "rn", sat=sat)
    if not sat:
        return extend(bits, source, target.bits)
    return _clamp_int(resize(bits, source.bits), source, target)


def _float_to_float(bits: Bits, source: str, target: str, mode: str, *, ftz: bool, sat: bool) -> Bits:
    if source == target and target in ("f32", "f64") and not (mode or ftz or sat):
        return bits  # a move: signalling NaNs pass
    # A subnormal f32 on its way to f16 is rounded, not flushed (measured).
    given = flush(bits, source) if ftz and source == "f32" and target != "f16" else bits
    value = decode(given, source)
    nan = np.isnan(value)
    if mode.endswith("i"):
        value = round_integral(value, mode)
        mode = "rn"
    if ftz and target == "f32":
        value = flush_exact(value, target, mode or "rn")
    out = encode(value, target, mode or "rn")
    if nan.any():
        out = np.where(nan, _nan(bits, source, target, ftz=ftz), out)
    return saturate(out, target) if sat else out


def _nan(bits: Bits, source: str, target: str, *, ftz: bool) -> Bits:
    """What becomes of a NaN, as measured on sm_90: f64 on either side keeps sign and payload and sets the quiet bit;
    bf16 to f32 without flushing keeps all bits; everything else gives the canonical NaN."""
    if source == "bf16" and target == "f32" and not ftz:
        return bits.astype(np.uint32) << np.uint32(16)
    if "f64" not in (source, target):
        return np.array([CANONICAL_NAN[target]], UNSIGNED[_WIDTH[target]])
    if ftz and source != "f64":
        bits = np.full(bits.shape, CANONICAL_NAN[source], bits.dtype)
    wide = bits.astype(np.uint64)
    top = np.uint64(_WIDTH[source] - 1)
    stored, wanted = (FORMATS[n].precision - 1 for n in (source, target))
    payload = wide & np.uint64((1 << stored) - 1)
    shift = np.uint64(abs(wanted - stored))
    payload = payload << shift if wanted >= stored else payload >> shift
    infinity = np.uint64(((1 << (_WIDTH[target] - 1 - wanted)) - 1) << wanted)
    out = (wide >> top) << np.uint64(_WIDTH[target] - 1) | infinity | payload | np.uint64(1 << (wanted - 1))
    return out.astype(UNSIGNED[_WIDTH[target]])


_WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


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


