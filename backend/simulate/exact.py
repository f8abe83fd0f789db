"""Operations of f64 that need more than f64: fused multiply-add, and directed rounding.

The fused multiply-add follows Boldo and Melquiond (2008): the product and the sums are split into value and error
without loss, the two errors are added with rounding to odd, and one addition remains. It needs headroom in the
exponents; the few values without it go through rational arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .floats import F64, FORMATS, Format, to_odd, two_sum

_SPLIT = 134217729.0  # 2**27 + 1


def two_product(a: F64, b: F64) -> tuple[F64, F64]:
    """Rounded product and its exact error (Dekker), where neither overflows nor underflows."""
    product = a * b
    a_big = _SPLIT * a
    a_high = a_big - (a_big - a)
    a_low = a - a_high
    b_big = _SPLIT * b
    b_high = b_big - (b_big - b)
    b_low = b - b_high
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _safe(value: F64) -> NDArray[np.bool_]:
    size = np.abs(value)
    return np.asarray((size == 0) | ((size > 2.0**-400) & (size < 2.0**400)))


def fma64(a: F64, b: F64, c: F64) -> F64:
    """``a * b + c`` rounded once, to nearest even. Arguments broadcast."""
    a, b, c = np.broadcast_arrays(a, b, c)
    high, low = two_product(a, b)
    t_high, t_low = two_sum(c, low)
    v_high, v_low = two_sum(high, t_high)
    fast = v_high + to_odd(*two_sum(t_low, v_low))
    special = ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
    out = np.where(special | (a == 0) | (b == 0), a * b + c, fast)
    # An infinite addend stays what it is, however large the finite product.
    out = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, out)
    slow = np.flatnonzero(~special & (a != 0) & (b != 0) & ~(_safe(a) & _safe(b) & _safe(c)))
    for k in slow:
        x, y, z = float(a[k]), float(b[k]), float(c[k])
        out[k] = round_fraction(Fraction(x) * Fraction(y) + Fraction(z), FORMATS["f64"], "rn",
                                _zero(x * y if x * y else math.copysign(0.0, x) * math.copysign(1.0, y), z, "rn"))
    # An exact cancellation gives +0; the fast path already does, as its last step is a plain addition.
    return out


def _zero(a: float, b: float, mode: str) -> float:
    same = math.copysign(1.0, a) == math.copysign(1.0, b)
    if same and a == 0 and b == 0:
        return math.copysign(0.0, a)
    return -0.0 if mode == "rm" else 0.0


def round_fraction(value: Fraction, fmt: Format, mode: str, zero: float = 0.0) -> float:
    """An exact value rounded to ``fmt``; ``zero`` is the result when the value is 0."""
    if value == 0:
        return zero
    sign = -1 if value < 0 else 1
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    quantum = max(exponent, fmt.emin) - fmt.precision + 1
    scaled = size / Fraction(2) ** quantum
    down = scaled.numerator // scaled.denominator
    rest = scaled - down
    up = (mode == "rp" and sign > 0) or (mode == "rm" and sign < 0)
    if mode == "rn":
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2 == 1)
    result = Fraction(down + (1 if up and rest else 0)) * Fraction(2) ** quantum
    largest = (2 - Fraction(1, 1 << (fmt.precision - 1))) * Fraction(2) ** fmt.emax
    if result > largest:
        finite = mode == "rz" or (mode == "rm" and sign > 0) or (mode == "rp" and sign < 0)
        return sign * (float(largest) if finite else math.inf)
    return math.copysign(float(result), sign)


def sqrt64(value: F64, mode: str) -> F64:
    """Square root of f64 in a directed rounding mode."""
    out = np.array(np.sqrt(value))
    for k in np.flatnonzero(np.isfinite(value) & (value > 0)):
        exact = Fraction(float(value[k]))
        near = float(out[k])
        square = Fraction(near) ** 2
        if square > exact and mode in ("rz", "rm"):
            out[k] = math.nextafter(near, 0.0)
        elif square < exact and mode == "rp":
            out[k] = math.nextafter(near, math.inf)
    return out


def sqrt_odd(value: F64) -> F64:
    """Square root of values of at most 24 bits as f64, rounded to odd."""
    root = np.sqrt(value)
    square, error = two_product(root, root)
    rest = np.where(np.isfinite(root), (value - square) - error, 0.0)
    return to_odd(root, rest)


def directed64(op: str, mode: str, args: list[F64]) -> F64:
    """``add sub mul div fma`` of f64 in a directed rounding mode, through rational arithmetic (slow, exact)."""
    nearest = _NEAREST[op]
    arrays = np.broadcast_arrays(*args)
    out = np.array(nearest(*arrays))
    for k in range(out.size):
        x = [float(array[k]) for array in arrays]
        if not all(map(math.isfinite, x)) or (op == "div" and x[1] == 0):
            continue
        exact = _EXACT[op](*(Fraction(v) for v in x))
        zero = math.copysign(0.0, float(out[k]))
        if op in ("add", "sub", "fma"):
            left = x[0] if op != "fma" else math.copysign(float(x[0] * x[1] != 0), x[0]) * math.copysign(1.0, x[1])
            if op == "fma" and x[0] * x[1] == 0 and (x[0] == 0 or x[1] == 0):
                left = math.copysign(0.0, x[0]) * math.copysign(1.0, x[1])
            right = -x[1] if op == "sub" else x[-1]
            zero = _zero(left, right, mode)
        out[k] = round_fraction(exact, FORMATS["f64"], mode, zero)
    return out


_NEAREST: dict[str, Callable[..., F64]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "fma": fma64,
}
_EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c,
}
