"""Literals and constant expressions of PTX (manual, section "Constants").

Integers are 64-bit, signed unless a literal needs the unsigned range or ends in ``U``; floats are 64-bit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from ptxspec.ptx.lexer import Cursor, PtxSyntaxError

_MASK = (1 << 64) - 1
_PRECEDENCE: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)
_CALC: dict[str, Callable[[int, int], int]] = {
    "||": lambda a, b: int(bool(a) or bool(b)), "&&": lambda a, b: int(bool(a) and bool(b)),
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b), "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b), ">": lambda a, b: int(a > b), ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63), "+": lambda a, b: a + b,
    "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b)),
    "%": lambda a, b: int(math.copysign(1, a)) * (abs(a) % abs(b)),
}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}


def literal(text: str) -> int | float:
    """The value of one unsigned literal: ``12``, ``0x1F``, ``017``, ``0b101``, ``0f3F800000``, ``0d...``, ``1.5``."""
    lower = text.lower()
    if lower.startswith("0f"):
        return float(struct.unpack(">f", bytes.fromhex(lower[2:]))[0])
    if lower.startswith("0d") and len(lower) == 18:
        return float(struct.unpack(">d", bytes.fromhex(lower[2:]))[0])
    lower = lower.rstrip("u")
    if lower.startswith("0x"):
        return int(lower[2:], 16)
    if lower.startswith("0b"):
        return int(lower[2:], 2)
    if "." in lower or "e" in lower:
        return float(lower)
    if len(lower) > 1 and lower[0] == "0":
        return int(lower, 8)
    return int(lower)


def _wrap(value: int) -> int:
    value &= _MASK
    return value - (1 << 64) if value >> 63 else value


def evaluate(text: str) -> int | float:
    """The value of a constant expression; raises :class:`PtxSyntaxError` where it is not one."""
    cursor = Cursor(text, 0)
    value = expression(cursor)
    if cursor.kind != "end":
        raise cursor.error(f"unexpected {cursor.found} after a constant expression")
    return value


def expression(cursor: Cursor, depth: int = 0) -> int | float:
    """Read a constant expression at the cursor."""
    if depth > 60:
        raise cursor.error("constant expression is nested too deeply")
    condition = _binary(cursor, 0, depth)
    if cursor.accept("?"):
        first = expression(cursor, depth + 1)
        cursor.expect(":", "in a conditional constant expression")
        second = expression(cursor, depth + 1)
        if isinstance(condition, float) or isinstance(first, float) or isinstance(second, float):
            raise cursor.error("a conditional constant expression takes integers only")
        return first if condition else second
    return condition


def whole(value: int | float, at: int) -> int:
    """``value`` as an integer (floats are cut towards zero); a syntax error at ``at`` for infinity and NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        raise PtxSyntaxError("L002", "expected a finite constant", at)
    return int(value)


def _binary(cursor: Cursor, level: int, depth: int) -> int | float:
    if level == len(_PRECEDENCE):
        return _unary(cursor, depth)
    left = _binary(cursor, level + 1, depth)
    while cursor.kind == "punct" and cursor.value in _PRECEDENCE[level]:
        at, operator = cursor.at, cursor.take()
        right = _binary(cursor, level + 1, depth)
        left = _apply(operator, left, right, at)
    return left


def _apply(operator: str, left: int | float, right: int | float, at: int) -> int | float:
    if isinstance(left, float) != isinstance(right, float):
        raise PtxSyntaxError("L002", "a constant expression mixes integer and floating-point constants", at)
    if isinstance(left, float) or isinstance(right, float):
        try:
            if operator == "+":
                return float(left) + float(right)
            if operator == "-":
                return float(left) - float(right)
            if operator == "*":
                return float(left) * float(right)
            if operator == "/":
                return float(left) / float(right)
        except (ZeroDivisionError, OverflowError):
            raise PtxSyntaxError("L002", "division by zero in a constant expression", at) from None
        if operator in _COMPARE:
            return int(_COMPARE[operator](float(left), float(right)))
        raise PtxSyntaxError("L002", f"operator '{operator}' does not take floating-point operands", at)
    if operator in "/%" and right == 0:
        raise PtxSyntaxError("L002", "division by zero in a constant expression", at)
    return _wrap(_CALC[operator](left, right))


def _unary(cursor: Cursor, depth: int) -> int | float:
    if depth > 60:
        raise cursor.error("constant expression is nested too deeply")
    if cursor.kind == "number":
        at, text = cursor.at, cursor.take()
        try:
            value0 = literal(text)
        except ValueError:  # "09", or more digits than Python converts
            raise PtxSyntaxError("L002", f"'{text[:40]}' is not a literal", at, len(text)) from None
        # ptxas wraps integers a little over 64 bits and refuses the ones far over.
        pattern = text[:2] in ("0f", "0F", "0d", "0D")
        if not pattern and (math.isinf(value0) if isinstance(value0, float) else value0 >= 1 << 66):
            raise PtxSyntaxError("L002", f"'{text[:40]}' does not fit in 64 bits", at, len(text))
        return value0 if isinstance(value0, float) else value0 & _MASK
    if cursor.kind == "name" and cursor.value == "WARP_SZ":
        cursor.take()
        return 32
    if cursor.accept("("):
        if cursor.value in (".s64", ".u64"):
            kind = cursor.take()
            cursor.expect(")", "after the cast")
            at = cursor.at
            value = whole(_unary(cursor, depth + 1), at)
            return value & _MASK if kind == ".u64" else _wrap(value)
        inner = expression(cursor, depth + 1)
        cursor.expect(")", "in a constant expression")
        return inner
    if cursor.value in ("-", "+", "~", "!") and cursor.kind == "punct":
        at, operator = cursor.at, cursor.take()
        if cursor.value[:2] in ("0f", "0F", "0d", "0D") and cursor.kind == "number":
            raise cursor.error(f"'{operator}' is not possible before a hexadecimal floating-point constant")
        value2 = _unary(cursor, depth + 1)
        if operator == "-":
            return -value2
        if operator == "+":
            return value2
        if isinstance(value2, float):
            raise PtxSyntaxError("L002", f"operator '{operator}' does not take a floating-point operand", at)
        return int(not value2) if operator == "!" else ~value2
    raise cursor.error(f"expected a constant, found {cursor.found}")
