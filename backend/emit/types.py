"""Which register class holds a kernel type, and how PTX names the type in arithmetic and in memory.

Registers are declared with bit classes only (``.b32`` and so on): PTX lets an instruction of any type of that size
use them (PTX manual, "Operand Type Checking"), so values move between integer, float and memory uses without ``mov``.
Integers narrower than 32 bits live sign- or zero-extended in a 32-bit register, because PTX has no 8-bit arithmetic.
"""

from __future__ import annotations

import struct

from ptxspec.ptx.operand import Immediate
from ptxspec.scalar.expr import BITS, BOOL, INDEX, is_signed

#: Register class of a scalar value of each kernel type.
VALUE_CLASS: dict[str, str] = {
    BOOL: "pred", "int8": "b32", "uint8": "b32", "int16": "b32", "uint16": "b32", "int32": "b32", "uint32": "b32",
    "int64": "b64", "uint64": "b64", INDEX: "b64", "float16": "b16", "bfloat16": "b16", "float32": "b32",
    "float64": "b64", "float8_e4m3": "b16", "float8_e5m2": "b16", "bits8": "b16", "bits16": "b16", "bits32": "b32",
    "bits64": "b64", "bits128": "b128",
}

#: Type suffix of arithmetic on values of each kernel type.
ARITHMETIC: dict[str, str] = {
    "int8": "s32", "int16": "s32", "int32": "s32", "uint8": "u32", "uint16": "u32", "uint32": "u32", "int64": "s64",
    INDEX: "s64", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "bits32": "u32", "bits64": "u64",
}

CLASS_BITS: dict[str, int] = {"b16": 16, "b32": 32, "b64": 64, "b128": 128}


def slot_class(bits: int) -> str:
    """Class of the register that holds one slot of ``bits`` bits (8-bit slots use a 16-bit register)."""
    return f"b{max(bits, 16)}"


def width(dtype: str) -> int:
    """Bits of the register arithmetic of ``dtype`` runs in (32 for the narrow integers)."""
    return CLASS_BITS.get(VALUE_CLASS[dtype], 0)


def narrow(dtype: str) -> bool:
    """True for integers that live extended in a wider register."""
    return dtype in ("int8", "uint8", "int16", "uint16")


def memory_type(dtype: str) -> str:
    """Type suffix to load one element with, so that the register holds the value as :data:`VALUE_CLASS` says."""
    if dtype == BOOL:
        return "u8"
    if narrow(dtype):
        return f"{'s' if is_signed(dtype) else 'u'}{BITS[dtype]}"
    return f"b{BITS[dtype]}"


def float_bits(value: float, dtype: str) -> int:
    """IEEE bits of ``value`` in ``dtype`` (round to nearest even)."""
    if dtype == "float64":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    single = _f32_bits(value)
    if dtype == "float32":
        return single
    if dtype == "float16":
        try:
            return int(struct.unpack("<H", struct.pack("<e", value))[0])
        except OverflowError:
            return 0x7C00 | (0x8000 if value < 0 else 0)
    assert dtype == "bfloat16"
    if value != value:
        return 0x7FFF
    # From the exact double: round once, to eight significant bits.
    wide = int(struct.unpack("<Q", struct.pack("<d", value))[0])
    sign, exponent, mantissa = wide >> 63, (wide >> 52 & 0x7FF) - 1023, wide & (1 << 52) - 1
    if exponent == 1024:
        return sign << 15 | 0x7F80
    if exponent < -126:   # subnormal in bfloat16: the binary32 rounding is exact enough to round again only there
        return (single + 0x7FFF + (single >> 16 & 1)) >> 16
    kept, rest = mantissa >> 45, mantissa & (1 << 45) - 1
    half = 1 << 44
    kept += rest > half or (rest == half and kept & 1)
    return sign << 15 | min((exponent + 127 << 7) + kept, 0x7F80)


def _f32_bits(value: float) -> int:
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        return 0x7F800000 | (0x80000000 if value < 0 else 0)


def immediate(value: int | float | bool, dtype: str) -> Immediate:
    """A literal for arithmetic of ``dtype``: hexadecimal floats keep every bit."""
    if dtype == "float32":
        return Immediate(f"0f{float_bits(float(value), dtype):08X}", "float")
    if dtype == "float64":
        return Immediate(f"0d{float_bits(float(value), dtype):016X}", "float")
    return Immediate(str(int(value)))


def bit_pattern(value: int | float | bool, dtype: str) -> int:
    """The bits that memory holds for ``value``."""
    if dtype in ("float16", "bfloat16", "float32", "float64"):
        return float_bits(float(value), dtype)
    return int(value) & (1 << BITS[dtype]) - 1
