"""Scalar expression nodes: what a kernel computes with, and what proofs and emission reason about.

Two families share these nodes:

* *typed* expressions are the user's arithmetic (``int32``, ``float32``, ``bool`` ...). Integer ``+ - *`` there must
  not wrap where they feed an index; that is a proof goal, never an assumption.
* *index* expressions (dtype ``"index"``) are exact mathematical integers: offsets that layouts and views compute.
  They are kept as :class:`Poly`, a polynomial with integer coefficients over atoms, so equal offsets are equal objects.

Nodes are immutable, hash by value (the hash is computed once) and know the user's line through ``span``.
``==`` is structural equality and returns a plain ``bool``; kernel comparisons are built by :mod:`ptxspec.scalar.typed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import count
from zlib import crc32

from ptxspec.diagnostics import Span

INDEX = "index"
BOOL = "bool"

#: Bits of every element type a kernel may name. fp8 types are storage only (moved as bits).
BITS: dict[str, int] = {
    "bool": 8, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64,
    "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64, "float8_e4m3": 8, "float8_e5m2": 8,
    "bits8": 8, "bits16": 16, "bits32": 32, "bits64": 64, "bits128": 128,
}


def is_float(dtype: str) -> bool:
    """True for the floating-point types that have arithmetic."""
    return dtype in ("float16", "bfloat16", "float32", "float64")


def is_signed(dtype: str) -> bool:
    """True for two's-complement integer types."""
    return dtype.startswith("int") and dtype != INDEX


def is_integer(dtype: str) -> bool:
    """True for sized integer types (not ``index``, not ``bool``)."""
    return dtype.startswith(("int", "uint")) and dtype != INDEX


def int_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of a sized integer type or ``bool``."""
    if dtype == BOOL:
        return 0, 1
    bits = BITS[dtype]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed(dtype) else (0, (1 << bits) - 1)


def wrap(value: int, dtype: str) -> int:
    """``value`` modulo 2**bits, in the range of ``dtype``."""
    low, high = int_range(dtype)
    return (value - low) % (high - low + 1) + low


@lru_cache(maxsize=4096)
def _code(text: str) -> int:
    """A number for a name that is the same in every process, unlike ``hash(text)``: orders must not vary."""
    return crc32(text.encode())


class Expr:
    """Base of all nodes. ``dtype`` names the type; ``span`` is where the user wrote it (not part of equality)."""

    __slots__ = ("_hash", "_variables", "dtype", "span")

    dtype: str
    span: Span | None
    _hash: int
    _variables: tuple[Var, ...]     # set when first asked for

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (type(self) is type(other) and isinstance(other, Expr) and self._hash == other._hash
                and self._key() == other._key())

    def __bool__(self) -> bool:
        raise TypeError("a kernel value has no truth value while the kernel is being read; use `if` inside a kernel")

    def children(self) -> tuple[Expr, ...]:
        """Direct operands."""
        return ()

    def __repr__(self) -> str:
        return show(self)


class Const(Expr):
    """A literal of a typed expression; ``value`` is int, float or bool."""

    __slots__ = ("value",)

    def __init__(self, value: int | float | bool, dtype: str, span: Span | None = None) -> None:
        self.value = value
        self.dtype = dtype
        self.span = span
        self._hash = hash((1, _code(repr(value)), _code(dtype)))

    def _key(self) -> tuple[object, ...]:
        return (repr(self.value), self.dtype)   # repr tells -0.0 from 0.0 and keeps NaN equal to itself


_uids = count()


class Var(Expr):
    """A named unknown. Equality is identity of ``uid``; ``lo``/``hi`` are inclusive bounds, None when unbounded.

    ``role`` says what it is: ``tid.x`` ``tid.y`` ``tid.z`` ``ctaid.x`` ... (hardware ids), ``loop``, ``param`` (scalar
    argument), ``dim`` (symbolic extent bound at launch), ``value`` (result of a load; anything its type can hold),
    ``repeat``, ``word``, ``group`` (coordinates introduced by the compiler), ``stride`` (runtime stride).
    ``hi_expr`` is an optional symbolic exclusive upper bound (a loop's stop, a grid extent) used as a fact by proofs;
    ``lo_expr`` the inclusive symbolic lower bound; ``step_of`` (start, step) says value = start + step*k, k >= 0.
    """

    __slots__ = ("hi", "hi_expr", "lo", "lo_expr", "name", "role", "step_of", "uid")

    def __init__(self, name: str, dtype: str, role: str, lo: int | None = None, hi: int | None = None,
                 span: Span | None = None, *, lo_expr: Expr | None = None, hi_expr: Expr | None = None,
                 step_of: tuple[Expr, Expr] | None = None) -> None:
        self.name = name
        self.dtype = dtype
        self.role = role
        self.lo = lo
        self.hi = hi
        self.lo_expr = lo_expr
        self.hi_expr = hi_expr
        self.step_of = step_of
        self.span = span
        self.uid = next(_uids)
        self._hash = hash((2, self.uid))

    def _key(self) -> tuple[object, ...]:
        return (self.uid,)


class Op(Expr):
    """``name`` applied to ``args``.

    Integer and float: ``add sub mul neg min max abs floordiv floormod truncdiv truncmod div fma``; bitwise:
    ``and or xor not shl shr``; comparisons (dtype bool): ``eq ne lt le gt ge``; logic: ``land lor lnot``;
    ``select`` (cond, a, b); ``cast``.
    With dtype ``index`` the arithmetic is exact and arguments are :class:`Poly`.
    """

    __slots__ = ("args", "name")

    def __init__(self, name: str, args: tuple[Expr, ...], dtype: str, span: Span | None = None) -> None:
        self.name = name
        self.args = args
        self.dtype = dtype
        self.span = span
        self._hash = hash((3, _code(name), _code(dtype), args))

    def _key(self) -> tuple[object, ...]:
        return (self.name, self.dtype, self.args)

    def children(self) -> tuple[Expr, ...]:
        return self.args


Monomial = tuple[Expr, ...]


class Poly(Expr):
    """An exact integer: ``const + sum(coefficient * product(atoms))``. Built only through :mod:`ptxspec.scalar.index`.

    ``terms`` maps a monomial (atoms sorted by hash) to a non-zero coefficient, in a canonical order.
    """

    __slots__ = ("const", "terms")

    def __init__(self, const: int, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.const = const
        self.terms = terms
        self.dtype = INDEX
        self.span = None
        self._hash = hash((4, const, terms))

    def _key(self) -> tuple[object, ...]:
        return (self.const, self.terms)

    def children(self) -> tuple[Expr, ...]:
        return tuple(atom for monomial, _ in self.terms for atom in monomial)

    @property
    def is_const(self) -> bool:
        """True when the value is known."""
        return not self.terms

    def __index__(self) -> int:
        """The value of a known integer; TypeError for any other."""
        if self.terms:
            raise TypeError(f"{show(self)} is not a known integer")
        return self.const


def walk(expr: Expr) -> Iterator[Expr]:
    """Every distinct node under ``expr``, children first."""
    seen: set[Expr] = set()
    stack: list[tuple[Expr, bool]] = [(expr, False)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((c, False) for c in node.children() if c not in seen)


def variables(expr: Expr) -> tuple[Var, ...]:
    """The distinct variables of ``expr``, in order of creation."""
    try:
        return expr._variables
    except AttributeError:
        expr._variables = tuple(sorted((n for n in walk(expr) if isinstance(n, Var)), key=lambda v: v.uid))
        return expr._variables


_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "floormod": "%", "div": "/", "and": "&", "or": "|",
          "xor": "^", "shl": "<<", "shr": ">>", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "land": "and", "lor": "or"}
_LEVEL = {"lor": 1, "land": 2, "eq": 4, "ne": 4, "lt": 4, "le": 4, "gt": 4, "ge": 4, "or": 5, "xor": 6, "and": 7,
          "shl": 8, "shr": 8, "add": 9, "sub": 9, "mul": 10, "floordiv": 10, "floormod": 10, "div": 10}


def show(expr: Expr, level: int = 0) -> str:
    """``expr`` as the user would write it."""
    text, own = _show(expr)
    return f"({text})" if own < level else text


def _show(expr: Expr) -> tuple[str, int]:
    if isinstance(expr, Const):
        return str(expr.value), 20 if not (isinstance(expr.value, (int, float)) and expr.value < 0) else 9
    if isinstance(expr, Var):
        return expr.name, 20
    if isinstance(expr, Poly):
        return _show_poly(expr)
    assert isinstance(expr, Op)
    if expr.name in _INFIX:
        own = _LEVEL[expr.name]
        left, right = expr.args
        return f"{show(left, own)} {_INFIX[expr.name]} {show(right, own + 1)}", own
    if expr.name == "neg":
        return f"-{show(expr.args[0], 11)}", 9
    if expr.name == "not":
        return f"~{show(expr.args[0], 11)}", 11
    if expr.name == "lnot":
        return f"not {show(expr.args[0], 4)}", 3
    name = {"cast": expr.dtype, "select": "Select"}.get(expr.name, expr.name)
    return f"{name}({', '.join(show(a) for a in expr.args)})", 20


def _show_poly(poly: Poly) -> tuple[str, int]:
    parts: list[tuple[int, str]] = []
    for monomial, coefficient in poly.terms:
        body = "*".join(show(a, 11) for a in monomial)
        parts.append((coefficient, body if abs(coefficient) == 1 else f"{abs(coefficient)}*{body}"))
    if poly.const or not parts:
        parts.append((poly.const, str(abs(poly.const))))
    first_sign, first = parts[0]
    text = ("-" if first_sign < 0 else "") + first
    for sign, body in parts[1:]:
        text += f" {'-' if sign < 0 else '+'} {body}"
    if len(parts) == 1:
        return text, 20 if first_sign >= 0 and "*" not in first else 9
    return text, 9
