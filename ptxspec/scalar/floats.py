"""Python numbers as the element types hold them: rounded once, to nearest even."""

from __future__ import annotations

import math

#: Significant bits and least normal exponent.
FORMATS: dict[str, tuple[int, int]] = {
    "float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126), "float64": (53, -1022),
}


def rounded(value: int | float, dtype: str) -> float:
    """The number of ``dtype`` nearest to ``value``; infinity where that is beyond the largest."""
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return value
    if value == 0:
        return 0.0
    precision, least = FORMATS[dtype]
    numerator, denominator = abs(value).as_integer_ratio()
    exponent = numerator.bit_length() - denominator.bit_length()
    if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
        exponent -= 1
    unit = max(exponent, least) - precision + 1   # the result counts multiples of 2**unit
    whole, rest = divmod(numerator << max(-unit, 0), denominator << max(unit, 0))
    twice = 2 * rest - (denominator << max(unit, 0))
    whole += twice > 0 or (twice == 0 and whole & 1)
    sign = -1.0 if value < 0 else 1.0
    if whole.bit_length() + unit > 2 - least:   # the largest exponent is 1 - least
        return sign * math.inf
    return sign * math.ldexp(whole, unit)
