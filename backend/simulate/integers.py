"""Integer, logic and comparison operations on bit patterns, wrapping as the machine does.

PTX manual, sections "Integer Arithmetic Instructions" and "Logic and Shift Instructions". Arguments are unsigned arrays
of the type's width; a signed type only changes how they are read. Division and remainder by zero have an unspecified
result in PTX: here it is all ones **and undefined**, so a kernel may compute it and may not use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .values import SIGNED, UNSIGNED, Bits, Mask, Type, extend, resize

Result = tuple[Bits, Mask | None]
Operation = Callable[[Type, Sequence[Bits]], Result]


def _signed(type_: Type, bits: Bits) -> Bits:
    return bits.view(SIGNED[type_.bits]) if type_.signed else bits


def _unsigned(type_: Type, bits: Bits) -> Bits:
    return bits.view(UNSIGNED[type_.bits]) if bits.dtype.kind == "i" else bits


def _add(type_: Type, args: Sequence[Bits]) -> Result:
    return np.add(args[0], args[1]), None


def _sub(type_: Type, args: Sequence[Bits]) -> Result:
    return np.subtract(args[0], args[1]), None


def _mul_lo(type_: Type, args: Sequence[Bits]) -> Result:
    return np.multiply(args[0], args[1]), None


def _mad_lo(type_: Type, args: Sequence[Bits]) -> Result:
    return np.add(np.multiply(args[0], args[1]), args[2]), None


def _mul_wide(type_: Type, args: Sequence[Bits]) -> Result:
    double = type_.bits * 2
    return np.multiply(extend(args[0], type_, double), extend(args[1], type_, double)), None


def _mad_wide(type_: Type, args: Sequence[Bits]) -> Result:
    return np.add(_mul_wide(type_, args)[0], args[2]), None


def _mul_hi(type_: Type, args: Sequence[Bits]) -> Result:
    if type_.bits < 64:
        product = _mul_wide(type_, args)[0]
        return (product >> product.dtype.type(type_.bits)).astype(UNSIGNED[type_.bits]), None
    a, b = args[0], args[1]
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + (a0 * b0 >> half)
    carry = a0 * b1 + (middle & low)
    high = a1 * b1 + (middle >> half) + (carry >> half)
    if type_.signed:
        zero = np.uint64(0)
        high = high - np.where(a.view(np.int64) < 0, b, zero) - np.where(b.view(np.int64) < 0, a, zero)
    return high, None


def _mad_hi(type_: Type, args: Sequence[Bits]) -> Result:
    return np.add(_mul_hi(type_, args)[0], args[2]), None


def _magnitude(type_: Type, bits: Bits) -> Bits:
    if not type_.signed:
        return bits
    return np.where(bits.view(SIGNED[type_.bits]) < 0, np.negative(bits), bits)


def _divide(type_: Type, args: Sequence[Bits], *, remainder: bool) -> Result:
    a, b = args[0], args[1]
    zero = b == 0
    one = b.dtype.type(1)
    bottom = np.where(zero, one, _magnitude(type_, b)) if zero.any() else _magnitude(type_, b)
    top = _magnitude(type_, a)
    out = top % bottom if remainder else top // bottom
    if type_.signed:
        kind = SIGNED[type_.bits]
        flip = a.view(kind) < 0 if remainder else (a.view(kind) < 0) != (b.view(kind) < 0)
        out = np.where(flip, np.negative(out), out)
    if not zero.any():
        return out, None
    return np.where(zero, np.array(~np.uint64(0)).astype(out.dtype), out), np.asarray(zero)


def _div(type_: Type, args: Sequence[Bits]) -> Result:
    return _divide(type_, args, remainder=False)


def _rem(type_: Type, args: Sequence[Bits]) -> Result:
    return _divide(type_, args, remainder=True)


def _min(type_: Type, args: Sequence[Bits]) -> Result:
    return _unsigned(type_, np.minimum(_signed(type_, args[0]), _signed(type_, args[1]))), None


def _max(type_: Type, args: Sequence[Bits]) -> Result:
    return _unsigned(type_, np.maximum(_signed(type_, args[0]), _signed(type_, args[1]))), None


def _neg(type_: Type, args: Sequence[Bits]) -> Result:
    return np.negative(args[0]), None


def _abs(type_: Type, args: Sequence[Bits]) -> Result:
    return _magnitude(type_, args[0]), None


def _and(type_: Type, args: Sequence[Bits]) -> Result:
    return np.bitwise_and(args[0], args[1]), None


def _or(type_: Type, args: Sequence[Bits]) -> Result:
    return np.bitwise_or(args[0], args[1]), None


def _xor(type_: Type, args: Sequence[Bits]) -> Result:
    return np.bitwise_xor(args[0], args[1]), None


def _not(type_: Type, args: Sequence[Bits]) -> Result:
    return np.invert(args[0]), None


def _shift(type_: Type, args: Sequence[Bits], *, left: bool) -> Result:
    value = _signed(type_, args[0])
    # Amounts above the width act as the width. Numpy leaves a shift by the width undefined, hence two steps.
    amount = np.minimum(args[1], np.uint32(type_.bits))
    within = np.minimum(amount, np.uint32(type_.bits - 1)).astype(value.dtype)
    rest = (amount - within.astype(np.uint32)).astype(value.dtype)
    out = (value << within) << rest if left else (value >> within) >> rest
    return _unsigned(type_, out), None


def _shl(type_: Type, args: Sequence[Bits]) -> Result:
    return _shift(type_, args, left=True)


def _shr(type_: Type, args: Sequence[Bits]) -> Result:
    return _shift(type_, args, left=False)


INTEGER: dict[str, Operation] = {
    "add": _add, "sub": _sub, "mul": _mul_lo, "mul_lo": _mul_lo, "mul_hi": _mul_hi, "mul_wide": _mul_wide,
    "mad_lo": _mad_lo, "mad_hi": _mad_hi, "mad_wide": _mad_wide, "div": _div, "rem": _rem, "min": _min, "max": _max,
    "neg": _neg, "abs": _abs, "and": _and, "or": _or, "xor": _xor, "not": _not, "shl": _shl, "shr": _shr,
}

_COMPARE: dict[str, Callable[[Bits, Bits], Bits]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    # The unsigned spellings of the same comparisons.
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}
COMPARISONS = frozenset(_COMPARE)


def compare(op: str, type_: Type, a: Bits, b: Bits) -> Bits:
    """Integer comparison ``op`` as a predicate."""
    return np.asarray(_COMPARE[op](_signed(type_, a), _signed(type_, b)))


def to_width(bits: Bits, width: int) -> Bits:
    """Argument ``bits`` at the width that an operation takes."""
    return resize(bits, width)
