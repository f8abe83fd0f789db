"""The ``compute`` step: an operation name and a type become one function from bit patterns to a bit pattern.

The operations are a closed vocabulary; an instruction is only ever a combination of them, so nothing here knows a
mnemonic. Packed types (``f16x2``) work element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import exact, floats
from .floats import add_odd, canonical, decode, encode, flush, format_of, saturate, zero_sum_sign
from .integers import COMPARISONS, INTEGER, compare
from .values import UNSIGNED, Bits, Lane, Mask, Type, join, resize, split

Result = tuple[Bits, Mask | None]
Function = Callable[[Sequence[Bits]], Result]

APPROXIMATE = frozenset({"approx", "full"})
"""Words for results that the machine only approximates; here they are correctly rounded, which is one of them."""

_FLOAT_COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
_UNORDERED = tuple(op + "u" for op in _FLOAT_COMPARE)


def argument_widths(op: str, type_: Type, count: int) -> tuple[int, ...]:
    """Bits that the operation takes of each of its ``count`` arguments."""
    widths = [type_.total if type_.kind != "pred" else 1] * count
    if op == "select" and count == 3:
        widths[2] = 1
    elif op in ("shl", "shr") and count == 2:
        widths[1] = 32
    elif op == "mad_wide" and count == 3:
        widths[2] = type_.bits * 2
    return tuple(widths)


def build(op: str, type_: Type, *, mode: str = "", ftz: bool = False, sat: bool = False, nan: bool = False) -> Function:
    """The function for ``op`` in ``type_``; ValueError when the vocabulary has no such combination.

    ``mode`` is a rounding mode (``""``: nearest even), ``nan`` lets ``min`` and ``max`` return NaN for a NaN argument.
    """
    if op.endswith("_relu"):
        return _relu(build(op[:-5], type_, mode=mode, ftz=ftz, sat=sat), type_)
    if op.endswith("_nan"):
        return build(op[:-4], type_, mode=mode, ftz=ftz, sat=sat, nan=True)
    if op == "select":
        return lambda args: (_select(args[2], args[0], args[1]), None)
    if type_.kind == "pred":
        return _predicate(op)
    if type_.floating and op not in ("and", "or", "xor", "not"):
        return _packed(type_, _floating(op, type_.element, mode, ftz=ftz, sat=sat, nan=nan))
    if type_.count > 1:
        return _packed(type_, build(op, type_.element, mode=mode, ftz=ftz, sat=sat))
    base = op[:-1] if op.endswith("u") and op[:-1] in COMPARISONS else op
    if base in COMPARISONS:
        return lambda args: (compare(base, type_, args[0], args[1]), None)
    operation = INTEGER.get(op)
    if operation is None or type_.bits not in UNSIGNED or (op.endswith("_wide") and type_.bits == 64):
        raise ValueError(f"no operation {op!r} for type {type_.name}")
    if sat:
        if op not in ("add", "sub") or type_.name != "s32":
            raise ValueError(f"no saturating {op!r} for type {type_.name}")
        return lambda args: (_saturating(op, args), None)
    return lambda args: operation(type_, args)


def _relu(function: Function, type_: Type) -> Function:
    """``function``, with a negative result (not a NaN) replaced by +0."""
    element = type_.element

    def clamp(bits: Bits) -> Bits:
        top = bits.dtype.type(1 << (element.bits - 1))
        negative = (bits & top) != 0
        if element.floating:
            negative &= ~np.isnan(decode(np.ascontiguousarray(bits), format_of(element)))
        return np.where(negative, bits.dtype.type(0), bits)

    def run(args: Sequence[Bits]) -> Result:
        out, undef = function(args)
        if type_.count == 1:
            return clamp(out), undef
        lanes = split(Lane(out), type_.count)
        return join([Lane(clamp(lane.bits)) for lane in lanes]).bits, undef

    return run


def _select(choice: Bits, a: Bits, b: Bits) -> Bits:
    return np.asarray(np.where(choice[:, None] if a.ndim == 2 else choice, a, b))


def _saturating(op: str, args: Sequence[Bits]) -> Bits:
    a, b = (arg.view(np.int32).astype(np.int64) for arg in args)
    wide = a + b if op == "add" else a - b
    return np.asarray(np.clip(wide, -(1 << 31), (1 << 31) - 1).astype(np.int32).view(np.uint32))


def _packed(type_: Type, function: Function) -> Function:
    if type_.count == 1:
        return function
    count = type_.count

    def packed(args: Sequence[Bits]) -> Result:
        cut = [split(Lane(arg), count) for arg in args]
        parts = [function([lanes[k].bits for lanes in cut])[0] for k in range(count)]
        return join([Lane(part) for part in parts]).bits, None

    return packed


def _predicate(op: str) -> Function:
    table: dict[str, Callable[[Sequence[Bits]], Bits]] = {
        "and": lambda a: np.logical_and(a[0], a[1]), "or": lambda a: np.logical_or(a[0], a[1]),
        "xor": lambda a: np.not_equal(a[0], a[1]), "not": lambda a: np.logical_not(a[0]),
        "eq": lambda a: np.equal(a[0], a[1]), "ne": lambda a: np.not_equal(a[0], a[1]),
    }
    function = table.get(op)
    if function is None:
        raise ValueError(f"no operation {op!r} for predicates")
    return lambda args: (np.asarray(function(args)), None)


def _floating(op: str, type_: Type, mode: str, *, ftz: bool, sat: bool, nan: bool) -> Function:
    name = format_of(type_)
    inner: Callable[[Sequence[Bits]], Bits]
    if op in _FLOAT_COMPARE or op in _UNORDERED or op in ("num", "nan", "isnan"):
        return _compare_float(op, name, ftz=ftz)
    if op in ("neg", "abs"):
        inner = _sign(op, name, type_.bits)
    elif op in ("min", "max"):
        inner = lambda a: _extreme(a[0], a[1], name, largest=op == "max", nan=nan)  # noqa: E731
    elif op in ("add", "sub", "mul", "div", "fma", "sqrt", "rcp"):
        inner = _arithmetic(op, name, mode or "rn", ftz=ftz)
    else:
        raise ValueError(f"no operation {op!r} for type {type_.name}")

    def run(args: Sequence[Bits]) -> Result:
        if ftz:
            args = [flush(arg, name) for arg in args]
        out = inner(args)
        if ftz:
            out = flush(out, name)
        return (saturate(out, name) if sat else out), None

    return run


def _sign(op: str, name: str, width: int) -> Callable[[Sequence[Bits]], Bits]:
    """``neg`` and ``abs`` change one bit, except of a NaN: that becomes canonical, in f64 quiet with its own sign."""
    top = 1 << (width - 1)

    def run(args: Sequence[Bits]) -> Bits:
        bits = args[0]
        word = bits.dtype.type
        out: Bits = bits ^ word(top) if op == "neg" else bits & word(top - 1)
        nan = np.isnan(decode(np.ascontiguousarray(bits), name))
        if name == "f64":
            return np.where(nan, floats.quiet(bits, name), out)
        return canonical(out, nan, name)

    return run


def _arithmetic(op: str, name: str, mode: str, *, ftz: bool = False) -> Callable[[Sequence[Bits]], Bits]:
    if mode in APPROXIMATE:
        mode = "rn"
    if mode not in ("rn", "rz", "rm", "rp"):
        raise ValueError(f"no rounding mode is called {mode!r}")
    # Flushing looks at the exact result, so it needs the longer way wherever a result can be tiny.
    if mode == "rn" and name in ("f32", "f64") and op in _NATIVE and not (ftz and op in ("mul", "div", "rcp")):
        kind = np.dtype(np.float32 if name == "f32" else np.float64)
        native = _NATIVE[op]
        word = UNSIGNED[kind.itemsize * 8]

        def direct(args: Sequence[Bits]) -> Bits:
            out = np.asarray(native(*(np.ascontiguousarray(arg).view(kind) for arg in args)))
            bits = out.view(word)
            return floats.propagate(bits, op, args) if name == "f64" else canonical(bits, np.isnan(out), name)

        return direct
    if name == "f64":
        return _arithmetic64(op, mode)
    operation = _ODD.get(op)
    if operation is None:
        raise ValueError(f"no operation {op!r} in mode {mode!r} for {name}")

    def narrow(args: Sequence[Bits]) -> Bits:
        out = operation([decode(np.ascontiguousarray(arg), name) for arg in args], mode)
        return encode(floats.flush_exact(out, name, mode) if ftz else out, name, mode)

    return narrow


def _arithmetic64(op: str, mode: str) -> Callable[[Sequence[Bits]], Bits]:
    if op not in ("add", "sub", "mul", "div", "fma", "sqrt", "rcp"):
        raise ValueError(f"no operation {op!r} in mode {mode!r} for f64")

    def wide(args: Sequence[Bits]) -> Bits:
        values = [np.ascontiguousarray(arg).view(np.float64) for arg in args]
        if op == "sqrt":
            out = exact.sqrt64(values[0], mode)
        elif op == "rcp":
            out = exact.directed64("div", mode, [np.ones(1), *values])
        else:
            out = exact.fma64(*values) if mode == "rn" else exact.directed64(op, mode, values)
        return floats.propagate(out.view(np.uint64), op, args)

    return wide


_NATIVE: dict[str, Callable[..., Bits]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "rcp": lambda a: np.divide(a.dtype.type(1), a),
}


def _odd_add(a: Sequence[floats.F64], mode: str) -> floats.F64:
    return zero_sum_sign(add_odd(a[0], a[1]), a[0], a[1], mode)


def _odd_fma(a: Sequence[floats.F64], mode: str) -> floats.F64:
    return _odd_add((a[0] * a[1], a[2]), mode)


def _odd_divide(a: Sequence[floats.F64], mode: str) -> floats.F64:
    quotient = a[0] / a[1]
    # The sign of the remainder says on which side of the exact quotient the rounded one lies: the product of a
    # 24-bit divisor and the head of the quotient is exact, and so is the difference that is left.
    head = quotient.astype(np.float32).astype(np.float64)
    rest = (a[0] - head * a[1]) - (quotient - head) * a[1]
    error = np.where(np.isfinite(quotient), rest * np.sign(a[1]), 0.0)
    return floats.to_odd(quotient, error)


_ODD: dict[str, Callable[[Sequence[floats.F64], str], floats.F64]] = {
    "add": _odd_add, "sub": lambda a, mode: _odd_add((a[0], -a[1]), mode), "mul": lambda a, mode: a[0] * a[1],
    "fma": _odd_fma, "div": _odd_divide, "sqrt": lambda a, mode: exact.sqrt_odd(a[0]),
    "rcp": lambda a, mode: _odd_divide((np.ones(1), a[0]), mode),
}


def _extreme(a: Bits, b: Bits, name: str, *, largest: bool, nan: bool) -> Bits:
    x, y = (decode(np.ascontiguousarray(bits), name) for bits in (a, b))
    x_nan, y_nan = np.isnan(x), np.isnan(y)
    # Zeros are ordered by sign here: -0 is below +0.
    below = (x < y) | ((x == y) & np.signbit(x) & ~np.signbit(y))
    out = np.where(below != largest, a, b)
    if x_nan.any() or y_nan.any():
        out = np.where(x_nan, b, np.where(y_nan, a, out))
        if name == "f64":
            return floats.propagate(out, "min", (a, b))
        out = canonical(out, x_nan | y_nan if nan else x_nan & y_nan, name)
    return out


def _compare_float(op: str, name: str, *, ftz: bool) -> Function:
    unordered = op in _UNORDERED
    base = op[:-1] if unordered else op
    table: dict[str, Callable[[floats.F64, floats.F64], Bits]] = {
        "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
        "ge": np.greater_equal}

    def run(args: Sequence[Bits]) -> Result:
        values = [decode(flush(arg, name) if ftz else np.ascontiguousarray(arg), name) for arg in args]
        if op == "isnan":
            return np.isnan(values[0]), None
        either = np.isnan(values[0]) | np.isnan(values[1])
        if op == "nan":
            return either, None
        if op == "num":
            return ~either, None
        out = table[base](values[0], values[1])
        return (out | either if unordered else out & ~either), None

    return run


def fit(bits: Bits, width: int) -> Bits:
    """``bits`` at ``width`` bits, contiguous, as the functions of this module take them."""
    return np.ascontiguousarray(resize(bits, width))


__all__ = ["argument_widths", "build", "fit"]
