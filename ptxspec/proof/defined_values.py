"""Expressions for all threads of a block at once: arrays of 64-bit integers, exact or not at all.

Only imported when shared memory is looked at byte by byte, because it loads NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ptxspec.scalar.expr import BITS, BOOL, INDEX, Const, Expr, Op, Poly, Var, int_range, is_integer

Array = NDArray[np.int64]

#: Results beyond this are not computed: nothing below it can have overflowed.
LARGE = 1 << 61


class Unclear(Exception):  # noqa: N818 - a verdict, not a fault
    """The expression has no known value here; the text names what it depends on."""


class Residue(int):
    """What is known of a variable: its value modulo ``modulus``."""

    modulus: int

    def __new__(cls, value: int, modulus: int) -> Residue:
        made = super().__new__(cls, value % modulus)
        made.modulus = modulus
        return made


Env = Mapping[Expr, "Array | int"]


class Values:
    """Values of expressions where ``env`` gives the variables; arrays broadcast against each other.

    ``same`` says what variables equal that are not in ``env``.
    """

    def __init__(self, env: Env, same: Mapping[Expr, Expr | int]) -> None:
        self.env = env
        self.same = same
        self._memo: dict[Expr, Array | str] = {}

    def of(self, expr: Expr) -> Array:
        """The value, or :class:`Unclear`."""
        found = self._memo.get(expr)
        if found is None:
            try:
                found = self._compute(expr)
            except Unclear as problem:
                found = str(problem)
            self._memo[expr] = found
        if isinstance(found, str):
            raise Unclear(found)
        return found

    def _compute(self, expr: Expr) -> Array:
        if isinstance(expr, Const):
            if isinstance(expr.value, float):
                raise Unclear("a float")
            return _array(int(expr.value))
        if isinstance(expr, Var):
            value = self.env.get(expr)
            if value is None and expr.lo is not None and expr.lo == expr.hi:
                value = expr.lo
            if value is None and expr in self.same:
                known = self.same[expr]
                return self.of(known) if isinstance(known, Expr) else _array(known)
            if value is None or isinstance(value, Residue):
                raise Unclear(f"`{expr.name}`")
            return _array(value)
        if isinstance(expr, Poly):
            return self._poly(expr, 0)
        assert isinstance(expr, Op)
        if expr.dtype not in (INDEX, BOOL) and not is_integer(expr.dtype):
            raise Unclear("a float")
        if any(a.dtype.startswith(("float", "bfloat")) for a in expr.args):
            raise Unclear("a float")
        return _fits(self._op(expr), expr.dtype)

    def _poly(self, poly: Poly, modulus: int) -> Array:
        """A sum of products; with ``modulus`` only its residue counts, so known residues of variables will do."""
        total, peak = _array(poly.const), abs(poly.const)
        for monomial, coefficient in poly.terms:
            product, most = _array(coefficient), abs(coefficient)
            for part in monomial:
                value = self._residue(part, modulus)
                product, most = product * value, most * _peak(value)
                if most > LARGE:
                    raise Unclear("a large number")
            total, peak = total + product, peak + most
        if peak > LARGE:
            raise Unclear("a large number")
        return total

    def _residue(self, part: Expr, modulus: int) -> Array:
        value = self.env.get(part) if modulus else None
        if isinstance(value, Residue) and value.modulus % modulus == 0:
            return _array(int(value))
        return self.of(part)

    def _op(self, expr: Op) -> Array:
        name, args = expr.name, expr.args
        if name in ("land", "lor"):
            return self._logic(name, args)
        if name == "select":
            chosen = self.of(args[0]) != 0
            if chosen.all():
                return self.of(args[1])
            if not chosen.any():
                return self.of(args[2])
            return np.where(chosen, self.of(args[1]), self.of(args[2]))
        if name == "floormod":
            modulus = self.of(args[1])
            if modulus.ndim == 0 and int(modulus) > 0:
                inner = self._modular(args[0], int(modulus), expr.dtype)
                if inner is not None:
                    return np.asarray(inner % modulus, np.int64)
        values = [self.of(a) for a in args]
        if name == "cast":
            if expr.dtype == BOOL:
                return np.asarray(values[0] != 0, np.int64)
            return values[0]
        if len(values) == 1:
            return _UNARY[name](values[0]) if name != "not" else _invert(values[0], expr.dtype)
        left, right = values
        if name in ("add", "sub", "mul", "shl"):
            bound = _peak(left) * _peak(right) if name == "mul" else _peak(left) + _peak(right)
            if name == "shl":
                right = np.clip(right, 0, 63)
                bound = _peak(left) << _peak(right)
            if bound > LARGE:
                raise Unclear("a large number")
        if name in _DIVISIONS:
            right = np.where(right == 0, 1, right)  # where it is 0 something else is wrong
        if name not in _BINARY:
            raise Unclear(f"{name}")
        return _BINARY[name](left, right)

    def _modular(self, expr: Expr, modulus: int, dtype: str) -> Array | None:
        """The operand of a remainder up to multiples of ``modulus``; None where that says no more than its value."""
        if isinstance(expr, Poly):
            return self._poly(expr, modulus)
        if isinstance(expr, Var) and isinstance(self.env.get(expr), Residue):
            return self._residue(expr, modulus)
        if isinstance(expr, Op) and expr.name in ("add", "sub", "mul") and is_integer(dtype) \
                and modulus & (modulus - 1) == 0:
            parts = [self._modular(a, modulus, dtype) for a in expr.args]
            left, right = (self.of(a) if p is None else p for a, p in zip(expr.args, parts, strict=True))
            if _peak(left) * _peak(right) + _peak(left) + _peak(right) > LARGE:
                raise Unclear("a large number")
            return _BINARY[expr.name](left, right)
        return None

    def _logic(self, name: str, args: tuple[Expr, ...]) -> Array:
        """``and``/``or`` where one known side may decide alone."""
        stops = 0 if name == "land" else 1
        known: list[Array] = []
        missing = ""
        for arg in args:
            try:
                known.append((self.of(arg) != 0).astype(np.int64))
            except Unclear as problem:
                missing = str(problem)
        for value in known:
            if missing and bool((value == stops).all()):
                return _array(stops)
        if missing:
            raise Unclear(missing)
        result = known[0]
        for value in known[1:]:
            result = np.minimum(result, value) if name == "land" else np.maximum(result, value)
        return result


def _array(value: Array | int) -> Array:
    return np.asarray(value, np.int64) if not isinstance(value, np.ndarray) else value


def _peak(value: Array) -> int:
    """The largest magnitude in an array."""
    if value.size == 0:
        return 0
    return max(abs(int(value.min())), abs(int(value.max())))


def _fits(value: Array, dtype: str) -> Array:
    """Machine meaning: typed results wrap."""
    if not is_integer(dtype):
        return value
    low, high = int_range(dtype)
    if value.size == 0 or (int(value.min()) >= low and int(value.max()) <= high):
        return value
    if BITS[dtype] >= 64:
        raise Unclear("a large number")
    return (value - low) % (high - low + 1) + low


def _truncdiv(a: Array, b: Array) -> Array:
    return np.abs(a) // np.abs(b) * np.where((a < 0) == (b < 0), 1, -1)


def _truth(compare: Callable[[Array, Array], NDArray[np.bool_]]) -> Callable[[Array, Array], Array]:
    return lambda a, b: compare(a, b).astype(np.int64)


def _invert(value: Array, dtype: str) -> Array:
    if dtype.startswith("int") or BITS.get(dtype, 64) >= 64:
        return ~value
    mask = np.int64((1 << BITS[dtype]) - 1)
    return mask - value


_DIVISIONS = ("floordiv", "floormod", "truncdiv", "truncmod")
_UNARY: dict[str, Callable[[Array], Array]] = {
    "neg": lambda a: -a,
    "abs": lambda a: np.abs(a),
    "lnot": lambda a: (a == 0).astype(np.int64),
}
_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "truncdiv": _truncdiv,
    "truncmod": lambda a, b: a - b * _truncdiv(a, b),
    "min": lambda a, b: np.minimum(a, b),
    "max": lambda a, b: np.maximum(a, b),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b,
    "shr": lambda a, b: a >> np.clip(b, 0, 63),
    "eq": _truth(lambda a, b: a == b),
    "ne": _truth(lambda a, b: a != b),
    "lt": _truth(lambda a, b: a < b),
    "le": _truth(lambda a, b: a <= b),
    "gt": _truth(lambda a, b: a > b),
    "ge": _truth(lambda a, b: a >= b),
}
