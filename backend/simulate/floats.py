"""Floating point arithmetic, bit for bit as the machine does it, for f16, bf16, f32 and f64.

PTX manual, section "Floating Point Instructions": results are rounded once, subnormals are kept unless ``ftz`` flushes
them (sign kept, inputs and results), ``sat`` clamps to [0, 1] and turns NaN into +0.

Formats narrower than f64 are computed as f64 *rounded to odd* (the exact result, with any lost part recorded in the
last bit) and rounded once more: with 53 bits this second rounding equals rounding the exact result, in every mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .values import Bits, Type

F64 = NDArray[np.float64]

CANONICAL_NAN: dict[str, int] = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0xFFF8000000000000}
"""The NaN that arithmetic returns. In f64 it is for invalid operations only: a NaN operand passes through."""

NAN_OPERAND: dict[str, tuple[int, ...]] = {"div": (0, 1), "fma": (1, 2, 0)}
"""Which operand's NaN an f64 operation passes on, first choice first, as measured on sm_90; else the last one's."""


@dataclass(frozen=True, slots=True)
class Format:
    """An IEEE binary format: ``precision`` bits of significand, exponents ``emin`` to ``emax`` of normal numbers."""

    precision: int
    emin: int
    emax: int

    @property
    def largest(self) -> float:
        """The largest finite value."""
        return float(2 - Fraction(1, 1 << (self.precision - 1))) * 2.0**self.emax


FORMATS: dict[str, Format] = {
    "f16": Format(11, -14, 15), "bf16": Format(8, -126, 127), "f32": Format(24, -126, 127),
    "f64": Format(53, -1022, 1023),
}


def format_of(type_: Type) -> str:
    """Key of the type in :data:`FORMATS` (tf32 is carried as f32)."""
    return "f32" if type_.kind == "tf" else f"{type_.kind}{type_.bits}"


def decode(bits: Bits, name: str) -> F64:
    """The values of bit patterns, exactly, as f64."""
    if name == "f64":
        return bits.view(np.float64)
    if name == "f32":
        return bits.view(np.float32).astype(np.float64)
    if name == "f16":
        return bits.view(np.float16).astype(np.float64)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)


def encode(value: F64, name: str, mode: str = "rn") -> Bits:
    """Bit patterns of ``value`` rounded to the format; ``value`` is exact or rounded to odd. NaN becomes canonical."""
    if name == "f64":
        out: Bits = value.view(np.uint64)
    elif name == "f32":
        rounded = value if mode == "rn" else round_to(value, FORMATS[name], mode)
        out = rounded.astype(np.float32).view(np.uint32)
    elif name == "f16":
        rounded = value if mode == "rn" else round_to(value, FORMATS[name], mode)
        out = rounded.astype(np.float16).view(np.uint16)
    else:
        wide = round_to(value, FORMATS[name], mode).astype(np.float32).view(np.uint32)
        out = (wide >> np.uint32(16)).astype(np.uint16)
    return canonical(out, np.isnan(value), name)


def canonical(bits: Bits, nan: NDArray[np.bool_], name: str) -> Bits:
    """``bits`` with the canonical NaN where ``nan``."""
    if nan.any():
        return np.where(nan, bits.dtype.type(CANONICAL_NAN[name]), bits)
    return bits


def quiet(bits: Bits, name: str) -> Bits:
    """``bits`` with the quiet bit set (meant for NaNs)."""
    return np.asarray(bits | bits.dtype.type(1 << (FORMATS[name].precision - 2)))


def propagate(bits: Bits, op: str, args: Sequence[Bits]) -> Bits:
    """An f64 result in which a NaN is the quieted NaN operand, or the canonical one when no operand is NaN."""
    nan = np.isnan(bits.view(np.float64))
    if not nan.any():
        return bits
    chosen: Bits = np.array([CANONICAL_NAN["f64"]], np.uint64)
    order = NAN_OPERAND.get(op) or tuple(reversed(range(len(args))))
    for k in reversed(order):
        chosen = np.where(np.isnan(args[k].view(np.float64)), quiet(args[k], "f64"), chosen)
    return np.where(nan, chosen, bits)


def flush_exact(value: F64, name: str, mode: str) -> F64:
    """``value`` (exact or rounded to odd) with a zero where ``ftz`` gives one: where it stays below the smallest
    normal number when rounded to the format's precision with no bound on the exponent."""
    fmt = FORMATS[name]
    least = 2.0**fmt.emin
    tiny = np.abs(value) < least
    if not tiny.any():
        return value
    tiny &= np.abs(round_to(value, Format(fmt.precision, -2000, fmt.emax), mode)) < least
    return np.where(tiny, np.copysign(0.0, value), value)


def round_to(value: F64, fmt: Format, mode: str) -> F64:
    """``value`` rounded to ``fmt`` in mode ``rn``, ``rz``, ``rm``, ``rp`` or ``rna``, overflow included."""
    exponent = np.frexp(value)[1]
    quantum = np.maximum(exponent - fmt.precision, fmt.emin - fmt.precision + 1)
    scaled = np.ldexp(value, -quantum)
    out = np.ldexp(round_integral(scaled, mode), quantum)
    over = np.isfinite(value) & (np.abs(out) > fmt.largest)
    if over.any():
        limit = np.where(_keeps_finite(value, mode), fmt.largest, np.inf)
        out = np.where(over, np.copysign(limit, value), out)
    # Infinities, NaN and the sign of zero pass through.
    return np.where(np.isfinite(value) & (value != 0), np.copysign(out, value), value)


def _keeps_finite(value: F64, mode: str) -> NDArray[np.bool_]:
    if mode == "rz":
        return np.ones(value.shape, bool)
    if mode == "rm":
        return np.asarray(value > 0)
    if mode == "rp":
        return np.asarray(value < 0)
    return np.zeros(value.shape, bool)


def round_integral(value: F64, mode: str) -> F64:
    """Round to an integral value; modes with or without a final ``i``."""
    kind = mode.rstrip("i")
    if kind == "rn":
        return np.rint(value)
    if kind == "rz":
        return np.trunc(value)
    if kind == "rm":
        return np.floor(value)
    if kind == "rp":
        return np.ceil(value)
    if kind == "rna":
        return np.copysign(np.floor(np.abs(value) + 0.5), value)
    raise ValueError(f"no rounding mode is called {mode!r}")


def flush(bits: Bits, name: str) -> Bits:
    """Subnormals replaced by zeros of the same sign."""
    fmt = FORMATS[name]
    total = bits.dtype.itemsize * 8
    exponent = bits.dtype.type(((1 << (total - fmt.precision)) - 1) << (fmt.precision - 1))
    tiny = (bits & exponent) == 0
    return np.where(tiny, bits & bits.dtype.type(1 << (total - 1)), bits) if tiny.any() else bits


def saturate(bits: Bits, name: str) -> Bits:
    """Clamp to [+0, 1]; NaN becomes +0."""
    value = decode(bits, name)
    inside = np.where(value > 0, np.minimum(value, 1.0), 0.0)  # false for NaN and -0 alike
    return encode(inside, name)


def two_sum(a: F64, b: F64) -> tuple[F64, F64]:
    """Rounded sum and the exact error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def to_odd(value: F64, error: F64) -> F64:
    """``value + error`` rounded to odd, where ``error`` is the exact rounding error of ``value``."""
    even = (value.view(np.uint64) & np.uint64(1)) == 0
    adjust = even & (error != 0) & np.isfinite(error) & np.isfinite(value)
    if not adjust.any():
        return value
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(adjust, np.nextafter(value, toward), value)


def add_odd(a: F64, b: F64) -> F64:
    """The exact sum rounded to odd."""
    return to_odd(*two_sum(a, b))


def zero_sum_sign(out: F64, a: F64, b: F64, mode: str) -> F64:
    """An exact zero sum of values that are not zeros of one sign is -0 when rounding down."""
    if mode != "rm":
        return out
    cancel = (out == 0) & ~((a == 0) & (b == 0) & ~np.signbit(a) & ~np.signbit(b))
    return np.where(cancel, -0.0, out)
