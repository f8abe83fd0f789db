"""The user's typed arithmetic: promotion rules and constructors of :class:`~ptxspec.scalar.expr.Expr` nodes.

Promotion: a Python number takes the other side's type (it must fit); integers of one signedness widen; an integer
meets a float by becoming it; mixed signedness is refused, since C's answer there is a known source of bugs.
Division ``/`` is for floats; ``//`` and ``%`` round down as in Python.
"""

from __future__ import annotations

import math

from ptxspec.diagnostics import KernelError, Note, Span, fail
from ptxspec.scalar.expr import BITS, BOOL, Const, Expr, Op, Poly, int_range, is_float, is_integer, is_signed, wrap
from ptxspec.scalar.floats import rounded

Operand = Expr | int | float | bool

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
BITWISE = ("and", "or", "xor")


def as_expr(value: Operand, dtype: str, span: Span | None = None) -> Expr:
    """``value`` as an expression; a Python number becomes a constant of ``dtype`` and must fit (else K110)."""
    if isinstance(value, Expr):
        return value
    return literal(value, dtype, span)


def literal(value: int | float | bool, dtype: str, span: Span | None = None) -> Const:
    """A constant of ``dtype``; refuses a value that the type cannot hold (K110)."""
    if dtype == BOOL:
        return Const(bool(value), BOOL, span)
    if is_float(dtype):
        if math.isinf(held := rounded(value, dtype)) and not (isinstance(value, float) and math.isinf(value)):
            raise fail(KernelError, "K110", f"{_brief(value)} does not fit {dtype}: it is beyond the largest number",
                       span, [Note("help", "use a wider type, or write float(\"inf\")")])
        return Const(float(value) if isinstance(value, float) else held, dtype, span)
    if isinstance(value, float):
        raise fail(KernelError, "K110", f"{value!r} is not an integer, but {dtype} is needed here", span)
    low, high = int_range(dtype) if is_integer(dtype) else (0, (1 << BITS[dtype]) - 1)
    if not low <= int(value) <= high:
        wider = next((t for t in ("int32", "int64", "uint64") if BITS[t] >= BITS[dtype] and t != dtype
                      and int_range(t)[0] <= value <= int_range(t)[1]), None)
        raise fail(KernelError, "K110", f"{_brief(value)} does not fit {dtype}, which holds {low} to {high}", span,
                   [Note("help", f"use a type that holds it: T.{wider}({int(value)})")] if wider else [])
    return Const(int(value), dtype, span)


def _brief(value: int | float) -> str:
    """The number for a message: one of hundreds of digits says how many."""
    bits = value.bit_length() if isinstance(value, int) else 0
    return f"an integer of {bits} bits" if bits > 256 else repr(int(value) if isinstance(value, bool) else value)


def default_dtype(value: int | float | bool) -> str:
    """The type of a bare Python number: bool, int32 (int64 where it does not fit) or float32."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return "int32" if -(1 << 31) <= value < 1 << 31 else "int64"
    return "float32"


def promote(left: Operand, right: Operand, span: Span | None) -> tuple[Expr, Expr, str]:
    """Both operands in their common type, and that type."""
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        raise TypeError("promote needs at least one kernel value")
    if not isinstance(left, Expr):
        assert isinstance(right, Expr)
        return _from_number(left, right, span), right, right.dtype
    if not isinstance(right, Expr):
        return left, _from_number(right, left, span), left.dtype
    a, b = left.dtype, right.dtype
    if a == b:
        return left, right, a
    common = _common(a, b, span)
    return cast(left, common, span), cast(right, common, span), common


def _from_number(value: int | float | bool, other: Expr, span: Span | None) -> Expr:
    if isinstance(value, float) and is_integer(other.dtype):
        raise fail(KernelError, "K111", f"float {value!r} meets an {other.dtype} value", span,
                   [Note("help", "cast one side, for example T.float32(x)")])
    return literal(value, other.dtype, span)


def _common(a: str, b: str, span: Span | None) -> str:
    if a == BOOL or b == BOOL:
        return b if a == BOOL else a
    if is_integer(a) and is_integer(b):
        if is_signed(a) == is_signed(b):
            return a if BITS[a] >= BITS[b] else b
        signed, unsigned = (a, b) if is_signed(a) else (b, a)
        if BITS[signed] > BITS[unsigned]:
            return signed
        raise fail(KernelError, "K111", f"{a} and {b} do not mix: no type of theirs holds both", span,
                   [Note("help", f"cast one side, for example T.{signed}(x)")])
    if is_float(a) and is_float(b):
        if BITS[a] == BITS[b]:
            raise fail(KernelError, "K111", f"{a} and {b} do not mix", span,
                       [Note("help", "cast both to T.float32 first")])
        return a if BITS[a] > BITS[b] else b
    if is_float(a) and is_integer(b):
        return a
    if is_float(b) and is_integer(a):
        return b
    raise fail(KernelError, "K111", f"{a} and {b} have no common type", span)


def cast(value: Operand, dtype: str, span: Span | None = None) -> Expr:
    """``value`` converted to ``dtype``; integer narrowing keeps the low bits, float to integer rounds to zero."""
    if not isinstance(value, Expr):
        if not isinstance(value, float) or not is_integer(dtype):
            return literal(value, dtype, span)
        if not math.isfinite(value):
            raise fail(KernelError, "K110", f"{value!r} has no integer value, but {dtype} is needed here", span)
        return literal(int(value), dtype, span)
    if value.dtype == dtype:
        return value
    if isinstance(value, Const):
        held = rounded(value.value, value.dtype) if is_float(value.dtype) else value.value
        if is_float(dtype):
            return Const(rounded(held, dtype), dtype, span)
        if dtype == BOOL:
            return Const(bool(held), BOOL, span)
        if is_integer(dtype) and not is_float(value.dtype):
            return Const(wrap(int(value.value), dtype), dtype, span)
    if isinstance(value, Poly):
        value = Op("cast", (value,), "int64", span)
    return Op("cast", (value,), dtype, span)


def binary(name: str, left: Operand, right: Operand, span: Span | None = None) -> Expr:
    """A typed binary operation ``add sub mul div floordiv floormod truncdiv truncmod min max and or xor shl shr``."""
    if name in ("shl", "shr"):
        if not isinstance(left, Expr):
            left = literal(left, default_dtype(left), span)
        if not isinstance(right, Expr):
            right = literal(right, "int32", span)
        _need_integer(name, left, span)
        _need_integer(name, right, span)
        return fold(Op(name, (left, right), left.dtype, span))
    a, b, dtype = promote(left, right, span)
    if dtype == BOOL and name in BITWISE:
        return logical({"and": "land", "or": "lor", "xor": "lxor"}[name], a, b, span)
    if dtype == BOOL:
        a, b, dtype = cast(a, "int32", span), cast(b, "int32", span), "int32"
    if name == "div" and not is_float(dtype):
        raise fail(KernelError, "K112", "`/` divides floats; these are integers", span,
                   [Note("help", "write `//` (rounds down) or cast to T.float32 first")])
    if name in BITWISE or name in ("floordiv", "floormod", "truncdiv", "truncmod"):
        _need_integer(name, a, span)
    if name in ("floordiv", "floormod", "truncdiv", "truncmod") and isinstance(b, Const) and b.value == 0:
        raise fail(KernelError, "K113", "division by the constant zero", span)
    return fold(Op(name, (a, b), dtype, span))


def _need_integer(name: str, value: Expr, span: Span | None) -> None:
    if not (is_integer(value.dtype) or value.dtype == BOOL or value.dtype.startswith("bits")):
        raise fail(KernelError, "K114", f"`{name}` needs integers, not {value.dtype}", span)


def compare(name: str, left: Operand, right: Operand, span: Span | None = None) -> Expr:
    """A typed comparison, dtype ``bool``."""
    a, b, _ = promote(left, right, span)
    return fold(Op(name, (a, b), BOOL, span))


def truth(value: Operand, span: Span | None = None) -> Expr:
    """``value`` as a bool: a number is compared with zero."""
    if not isinstance(value, Expr):
        return Const(bool(value), BOOL, span)
    return value if value.dtype == BOOL else compare("ne", value, 0, span)


def logical(name: str, left: Operand, right: Operand, span: Span | None = None) -> Expr:
    """``land``, ``lor`` or ``lxor`` of two truths, folded where a side is known."""
    a, b = truth(left, span), truth(right, span)
    if name == "lxor":
        return Op("ne", (a, b), BOOL, span)
    for first, second in ((a, b), (b, a)):
        if isinstance(first, Const):
            if name == "land":
                return second if first.value else first
            return first if first.value else second
    return Op(name, (a, b), BOOL, span)


def negate(value: Operand, span: Span | None = None) -> Expr:
    """Logical not."""
    v = truth(value, span)
    if isinstance(v, Const):
        return Const(not v.value, BOOL, span)
    if isinstance(v, Op) and v.name == "lnot":
        return v.args[0]
    return Op("lnot", (v,), BOOL, span)


def unary(name: str, value: Operand, span: Span | None = None) -> Expr:
    """``neg``, ``abs`` or bitwise ``not``."""
    v = value if isinstance(value, Expr) else literal(value, default_dtype(value), span)
    if name == "not":
        if v.dtype == BOOL:
            return negate(v, span)
        _need_integer(name, v, span)
    if v.dtype == BOOL:
        v = cast(v, "int32", span)
    return fold(Op(name, (v,), v.dtype, span))


def select(condition: Operand, left: Operand, right: Operand, span: Span | None = None) -> Expr:
    """``left`` where ``condition`` is true, else ``right``."""
    c = truth(condition, span)
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        dtype = default_dtype(left) if default_dtype(left) != BOOL else default_dtype(right)
        if isinstance(left, float) or isinstance(right, float):
            dtype = "float32"
        left = literal(left, dtype, span)
    a, b, dtype = promote(left, right, span)
    if isinstance(c, Const):
        return a if c.value else b
    return Op("select", (c, a, b), dtype, span)


def fold(op: Op) -> Expr:
    """Constant folding of integers; a result that does not fit is left for the no-wrap goal to report."""
    if not all(isinstance(a, Const) for a in op.args) or is_float(op.args[0].dtype):
        return op
    from ptxspec.scalar.evaluate import Unknown, evaluate
    try:
        value = evaluate(op, {})
    except Unknown:   # a shift by a negative amount
        return op
    if op.dtype == BOOL:
        return Const(bool(value), BOOL, op.span)
    low, high = int_range(op.dtype) if is_integer(op.dtype) else (0, (1 << BITS[op.dtype]) - 1)
    return Const(int(value), op.dtype, op.span) if low <= value <= high else op
