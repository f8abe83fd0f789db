"""Floating point, slowly and exactly: the reference for the simulator's arithmetic.

Rounding is a search among the bit patterns of the format, which shares nothing with the simulator's way.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Ieee:
    bits: int
    mantissa: int  # stored bits
    nan: int

    @property
    def infinity(self) -> int:
        return ((1 << (self.bits - 1 - self.mantissa)) - 1) << self.mantissa

    @property
    def bias(self) -> int:
        return (1 << (self.bits - 2 - self.mantissa)) - 1


FORMATS = {"f16": Ieee(16, 10, 0x7FFF), "bf16": Ieee(16, 7, 0x7FFF), "f32": Ieee(32, 23, 0x7FFFFFFF),
           "f64": Ieee(64, 52, 0xFFF8000000000000)}


def size_of(pattern: int, fmt: Ieee) -> Fraction:
    """The value of a non-negative pattern; infinity counts as the next power of two."""
    exponent, fraction = pattern >> fmt.mantissa, pattern & ((1 << fmt.mantissa) - 1)
    if exponent == 0:
        return Fraction(fraction) * Fraction(2) ** (1 - fmt.bias - fmt.mantissa)
    return Fraction(fraction + (1 << fmt.mantissa)) * Fraction(2) ** (exponent - fmt.bias - fmt.mantissa)


def decode(pattern: int, name: str) -> float:
    fmt = FORMATS[name]
    size = pattern & ((1 << (fmt.bits - 1)) - 1)
    sign = -1.0 if pattern >> (fmt.bits - 1) else 1.0
    if size > fmt.infinity:
        return math.nan
    if size == fmt.infinity:
        return sign * math.inf
    return math.copysign(float(size_of(size, fmt)), sign)


def encode(value: Fraction, name: str, mode: str, zero: float = 0.0) -> int:
    """The pattern of an exact value; ``zero`` gives the sign of a zero result."""
    fmt = FORMATS[name]
    top = 1 << (fmt.bits - 1)
    if value == 0:
        return top if math.copysign(1, zero) < 0 else 0
    size = abs(value)
    low, high = 0, fmt.infinity
    while high - low > 1:
        middle = (low + high) // 2
        if size_of(middle, fmt) <= size:
            low = middle
        else:
            high = middle
    down, up = size_of(low, fmt), size_of(low + 1, fmt)
    if size == down:
        chosen = low
    elif size >= up:  # beyond the largest
        chosen = low + (mode == "rn" or (mode == "rp" and value > 0) or (mode == "rm" and value < 0))
    elif mode == "rn":
        chosen = low + (size - down > up - size or (size - down == up - size and low % 2 == 1))
    else:
        chosen = low + ((mode == "rp" and value > 0) or (mode == "rm" and value < 0))
    return chosen + (top if value < 0 else 0)


def encode_float(value: float, name: str, mode: str = "rn") -> int:
    fmt = FORMATS[name]
    if math.isnan(value):
        return fmt.nan
    if math.isinf(value):
        return fmt.infinity + ((1 << (fmt.bits - 1)) if value < 0 else 0)
    return encode(Fraction(value), name, mode, value)


def arithmetic(op: str, patterns: list[int], name: str, mode: str = "rn") -> int:
    """``add sub mul div fma`` on bit patterns."""
    x = [decode(p, name) for p in patterns]
    if op == "sub":
        x[1] = -x[1]
    if any(map(math.isnan, x)):
        return FORMATS[name].nan
    if op == "div":
        return _div(x[0], x[1], name, mode)
    sign = math.copysign(1, x[0]) * math.copysign(1, x[1])
    if op in ("mul", "fma"):
        if any(map(math.isinf, x[:2])):
            product: float | Fraction = math.nan if 0 in x[:2] else sign * math.inf
        else:
            product = Fraction(x[0]) * Fraction(x[1])
        product_sign = sign
        if op == "mul":
            if isinstance(product, float):
                return encode_float(product, name)
            return encode(product, name, mode, math.copysign(0, sign))
        left, left_sign, right = product, product_sign, x[2]
    else:
        left = Fraction(x[0]) if math.isfinite(x[0]) else x[0]
        left_sign, right = math.copysign(1, x[0]), x[1]
    if isinstance(left, float) or math.isinf(right):
        return encode_float((left if isinstance(left, float) else 0.0) + (right if math.isinf(right) else 0.0), name)
    total = left + Fraction(right)
    if left == 0 and right == 0 and left_sign == math.copysign(1, right):
        zero = math.copysign(0, right)
    else:
        zero = -0.0 if mode == "rm" else 0.0
    return encode(total, name, mode, zero)


def _div(a: float, b: float, name: str, mode: str) -> int:
    sign = math.copysign(1, a) * math.copysign(1, b)
    if (math.isinf(a) and math.isinf(b)) or (a == 0 and b == 0):
        return FORMATS[name].nan
    if math.isinf(a) or b == 0:
        return encode_float(sign * math.inf, name)
    if math.isinf(b) or a == 0:
        return encode(Fraction(0), name, mode, math.copysign(0, sign))
    return encode(Fraction(a) / Fraction(b), name, mode)


def specials(name: str) -> list[int]:
    """Patterns at the edges of a format, both signs."""
    fmt = FORMATS[name]
    one = fmt.bias << fmt.mantissa
    edge = [0, 1, 2, 3, (1 << fmt.mantissa) - 1, 1 << fmt.mantissa, (1 << fmt.mantissa) + 1, one - 1, one, one + 1,
            one + (1 << fmt.mantissa), one + (1 << (fmt.mantissa - 1)), fmt.infinity - 1, fmt.infinity - 2,
            fmt.infinity, fmt.infinity + 1, fmt.infinity + (1 << (fmt.mantissa - 1)), (1 << (fmt.bits - 1)) - 1]
    return edge + [p | 1 << (fmt.bits - 1) for p in edge]


def f32(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])
