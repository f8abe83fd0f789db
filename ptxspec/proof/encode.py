"""Translation of scalar expressions into Z3 integer and boolean terms, with exactly the meaning that
:func:`ptxspec.scalar.evaluate.evaluate` gives them in machine mode: index arithmetic is exact, typed integers wrap.

Bitwise operations never become bit-vectors: a known mask is cut into runs of ones, each of which is a quotient and a
remainder; two unknowns are compared bit by bit where their ranges are small. What has no encoding raises
:class:`Unsupported`, which the prover reports as ``unknown``. Floats are opaque: comparing them is a free truth.
"""

from __future__ import annotations

import z3

from ptxspec.proof.determine import runs
from ptxspec.proof.interval import interval
from ptxspec.scalar.expr import BITS, BOOL, INDEX, Const, Expr, Op, Poly, Var, int_range, is_integer
from ptxspec.scalar.interval import operation

#: Two unknown operands of a bitwise operation are encoded bit by bit up to this many bits.
MAX_BITS = 64


class Unsupported(Exception):
    """The expression has no encoding; the text says which part and why."""


class Encoder:
    """Terms of one Z3 context, built once for each expression.

    The context is its own unless one is given, and unknowns are numbered as they come: what Z3 does with a kernel
    depends on nothing that the process asked before. (In one context for all, one query in twenty of those that take
    long reached the limit.)

    ``definitions`` collects constraints that define helper unknowns (quotients, bits). They only restrict helpers,
    never the kernel's own variables, so they may stand beside every query. ``opaque`` are the expressions that became
    free unknowns, with their Z3 constant.
    """

    def __init__(self, context: z3.Context | None = None) -> None:
        self.context = z3.Context() if context is None else context
        self.terms: dict[Expr, z3.ExprRef] = {}
        self.definitions: list[z3.BoolRef] = []
        self.opaque: dict[Expr, z3.ExprRef] = {}
        self._count = 0
        #: Quotient and remainder by kind of division and operands' ids, with the operands, which keep their ids.
        self._pairs: dict[tuple[str, int, int], tuple[z3.ArithRef, ...]] = {}

    def fresh(self, hint: str) -> z3.ArithRef:
        """A helper integer."""
        self._count += 1
        return z3.Int(f"{hint}!{self._count}", self.context)

    def number(self, value: int) -> z3.ArithRef:
        """A constant."""
        return z3.IntVal(value, self.context)

    def boolean(self, expr: Expr) -> z3.BoolRef:
        """``expr`` (dtype bool) as a Z3 truth."""
        term = self.term(expr)
        if z3.is_bool(term):
            return term
        return term != 0

    def integer(self, expr: Expr) -> z3.ArithRef:
        """``expr`` as a Z3 integer; a truth becomes 0 or 1."""
        term = self.term(expr)
        if z3.is_bool(term):
            return z3.If(term, self.number(1), self.number(0))
        return term

    def term(self, expr: Expr) -> z3.ExprRef:
        """``expr`` as a Z3 term, cached."""
        found = self.terms.get(expr)
        if found is None:
            found = self._build(expr)
            self.terms[expr] = found
        return found

    def bounds(self, var: Var) -> list[z3.BoolRef]:
        """The declared bounds of a variable, where it has any that its type does not already give it."""
        term = self.integer(var)
        low, high = var.lo, var.hi
        if var.dtype == BOOL:
            return []
        if is_integer(var.dtype):
            least, most = int_range(var.dtype)
            low = least if low is None else max(low, least)
            high = most if high is None else min(high, most)
        return ([term >= low] if low is not None else []) + ([term <= high] if high is not None else [])

    def _build(self, expr: Expr) -> z3.ExprRef:
        if isinstance(expr, Const):
            if expr.dtype == BOOL:
                return z3.BoolVal(bool(expr.value), self.context)
            if isinstance(expr.value, float):
                raise Unsupported(f"the float {expr.value}")
            return self.number(int(expr.value))
        if isinstance(expr, Var):
            self._count += 1
            name = f"{expr.name}#{self._count}"
            if expr.dtype == BOOL:
                term = z3.Bool(name, self.context)
            elif is_integer(expr.dtype) or expr.dtype == INDEX:
                term = z3.Int(name, self.context)
            else:
                raise Unsupported(f"`{expr.name}` holds {expr.dtype}, which is not an integer")
            return term
        if isinstance(expr, Poly):
            parts: list[z3.ArithRef] = [self.number(expr.const)] if expr.const or not expr.terms else []
            for monomial, coefficient in expr.terms:
                factors = [self.integer(part) for part in monomial]
                product = self._times(factors) if len(factors) > 1 else factors[0]
                parts.append(product if coefficient == 1 else self.number(coefficient) * product)
            return parts[0] if len(parts) == 1 else z3.Sum(parts)
        assert isinstance(expr, Op)
        if expr.dtype == BOOL:
            return self._truth(expr)
        if expr.dtype != INDEX and not is_integer(expr.dtype):
            raise Unsupported(f"a {expr.dtype} value")
        value = self._value(expr)
        return value if expr.dtype == INDEX else self._wrap(value, expr)

    def _wrap(self, value: z3.ArithRef, expr: Op) -> z3.ArithRef:
        low, high = int_range(expr.dtype)
        if expr.name in ("min", "max", "select", "and", "or", "xor"):
            return value  # both operands are already in the type
        lo, hi = self._range(expr)
        if lo is not None and hi is not None and low <= lo and hi <= high:
            return value
        size = high - low + 1
        return (value - low) % size + low if low else value % size

    def _range(self, expr: Op) -> tuple[int | None, int | None]:
        """Bounds of the value before wrapping, from what the operands can hold in the machine."""
        memo: dict[Expr, tuple[int | None, int | None]] = {}
        return operation(expr.name, [interval(a, {}, memo) for a in expr.args])

    def _free(self, expr: Expr, boolean: bool) -> z3.ExprRef:
        self._count += 1
        kind = z3.Bool if boolean else z3.Int
        term: z3.ExprRef = kind(f"free!{self._count}", self.context)
        self.opaque[expr] = term
        if not boolean and is_integer(expr.dtype):
            low, high = int_range(expr.dtype)
            self.definitions.append(z3.And(term >= low, term <= high))
        return term

    def _truth(self, expr: Op) -> z3.ExprRef:
        name, args = expr.name, expr.args
        if name == "land":
            return z3.And(self.boolean(args[0]), self.boolean(args[1]))
        if name == "lor":
            return z3.Or(self.boolean(args[0]), self.boolean(args[1]))
        if name == "lnot":
            return z3.Not(self.boolean(args[0]))
        if name == "select":
            return z3.If(self.boolean(args[0]), self.boolean(args[1]), self.boolean(args[2]))
        if name == "cast":
            if args[0].dtype == BOOL:
                return self.term(args[0])
            if is_integer(args[0].dtype) or args[0].dtype == INDEX:
                return self.integer(args[0]) != 0
            return self._free(expr, True)
        if name in ("eq", "ne", "lt", "le", "gt", "ge"):
            if all(a.dtype == BOOL for a in args) and name in ("eq", "ne"):
                a, b = self.boolean(args[0]), self.boolean(args[1])
                return a == b if name == "eq" else z3.Xor(a, b)
            if any(not (a.dtype in (BOOL, INDEX) or is_integer(a.dtype)) for a in args):
                return self._free(expr, True)
            x, y = self.integer(args[0]), self.integer(args[1])
            return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[name]
        raise Unsupported(f"`{name}` of truths")

    def _value(self, expr: Op) -> z3.ArithRef:
        name, args = expr.name, expr.args
        if name == "select":
            return z3.If(self.boolean(args[0]), self.integer(args[1]), self.integer(args[2]))
        if name == "cast":
            source = args[0].dtype
            if source in (BOOL, INDEX) or is_integer(source):
                return self.integer(args[0])  # _wrap cuts it to the type
            return self._free(expr, False)
        x = self.integer(args[0])
        if name == "neg":
            return -x
        if name == "abs":
            return z3.If(x >= 0, x, -x)
        if name == "not":
            return -x - 1 if expr.dtype.startswith("int") else self.number((1 << BITS[expr.dtype]) - 1) - x
        y = self.integer(args[1])
        if name == "add":
            return x + y
        if name == "sub":
            return x - y
        if name == "mul":
            return self._times([x, y]) if all(constant(a) is None for a in args) else x * y
        if name == "min":
            return z3.If(x <= y, x, y)
        if name == "max":
            return z3.If(x >= y, x, y)
        if name in ("floordiv", "floormod", "truncdiv", "truncmod"):
            return self._division(name, expr, x, y)
        if name in ("shl", "shr"):
            return self._shift(name, expr, x, y)
        if name in ("and", "or", "xor"):
            return self._bitwise(name, expr, x, y)
        raise Unsupported(f"`{name}` of integers")

    def _times(self, factors: list[z3.ArithRef]) -> z3.ArithRef:
        """The product of unknowns."""
        product = factors[0]
        for factor in factors[1:]:
            product = product * factor
        return product

    def _division(self, name: str, expr: Op, x: z3.ArithRef, y: z3.ArithRef) -> z3.ArithRef:
        known = constant(expr.args[1])
        if known is not None and known > 0:
            c = self.number(known)
            if name == "floordiv":
                return x / c  # Z3 divides so that the remainder is not negative
            if name == "floormod":
                return x % c
            down = z3.If(x >= 0, x / c, -((-x) / c))
            return down if name == "truncdiv" else x - c * down
        kind = name.removesuffix("div").removesuffix("mod")
        key = (kind, x.get_id(), y.get_id())
        if key not in self._pairs:
            self._pairs[key] = self.fresh("q"), self.fresh("r"), x, y
            self._define(kind, x, y, *self._pairs[key][:2])
        return self._pairs[key][0 if name.endswith("div") else 1]

    def _define(self, kind: str, x: z3.ArithRef, y: z3.ArithRef, q: z3.ArithRef, r: z3.ArithRef) -> None:
        """``q`` and ``r`` are quotient and remainder, rounded down (``floor``) or to zero (``trunc``)."""
        self.definitions.append(z3.Implies(y != 0, x == y * q + r))
        if kind == "floor":
            self.definitions.append(z3.Implies(y > 0, z3.And(r >= 0, r < y)))
            self.definitions.append(z3.Implies(y < 0, z3.And(r <= 0, r > y)))
        else:
            self.definitions.append(z3.Implies(z3.And(y > 0, x >= 0), z3.And(r >= 0, r < y)))
            self.definitions.append(z3.Implies(z3.And(y > 0, x < 0), z3.And(r <= 0, r > -y)))
            self.definitions.append(z3.Implies(z3.And(y < 0, x >= 0), z3.And(r >= 0, r < -y)))
            self.definitions.append(z3.Implies(z3.And(y < 0, x < 0), z3.And(r <= 0, r > y)))

    def _shift(self, name: str, expr: Op, x: z3.ArithRef, y: z3.ArithRef) -> z3.ArithRef:
        known = constant(expr.args[1])
        if known is not None:
            if not 0 <= known < 128:
                raise Unsupported(f"a shift by {known}")
            power = self.number(1 << known)
            return x * power if name == "shl" else x / power
        lo, hi = self._bounds(expr.args[1])
        if lo is None or hi is None or lo < 0 or hi > 63:
            lo, hi = 0, 63  # amounts outside are refused by their own goal
        result = self.fresh("shift")
        cases = [
            z3.Implies(y == k, result == (x * self.number(1 << k) if name == "shl" else x / self.number(1 << k)))
            for k in range(lo, hi + 1)
        ]
        self.definitions.extend(cases)
        return result

    def _bounds(self, expr: Expr) -> tuple[int | None, int | None]:
        return interval(expr, {}, {})

    def _bitwise(self, name: str, expr: Op, x: z3.ArithRef, y: z3.ArithRef) -> z3.ArithRef:
        left, right = constant(expr.args[0]), constant(expr.args[1])
        if left is not None:
            x, y, right = y, x, left
        if right is not None:
            return mask(name, x, right)
        bounds = [self._bounds(a) for a in expr.args]
        signed = any(lo is None or lo < 0 for lo, _ in bounds)
        width = 0
        for lo, hi in bounds:
            if lo is None or hi is None:
                raise Unsupported(f"`{name}` of two values without known bounds")
            width = max(width, hi.bit_length() if hi >= 0 else 0, (-lo - 1).bit_length() if lo < 0 else 0)
        if width > MAX_BITS:
            raise Unsupported(f"`{name}` of two unknown values of {width} bits")
        a, b = self._bits(x, width, signed), self._bits(y, width, signed)
        pairs = list(zip(a, b, strict=True))
        joined = [{"and": z3.And(p, q), "or": z3.Or(p, q), "xor": z3.Xor(p, q)}[name] for p, q in pairs]
        weights = [1 << k for k in range(width)] + ([-(1 << width)] if signed else [])
        return (
            z3.Sum([z3.If(bit, self.number(w), self.number(0)) for bit, w in zip(joined, weights, strict=True)])
            if joined
            else self.number(0)
        )

    def _bits(self, value: z3.ArithRef, width: int, signed: bool) -> list[z3.BoolRef]:
        """Truths for the bits of ``value``, least significant first, then the sign where there is one."""
        bits = []
        for k in range(width + int(signed)):
            self._count += 1
            bits.append(z3.Bool(f"bit{k}!{self._count}", self.context))
        weights = [1 << k for k in range(width)] + ([-(1 << width)] if signed else [])
        if bits:
            total = z3.Sum([z3.If(bit, self.number(w), self.number(0)) for bit, w in zip(bits, weights, strict=True)])
            # The bounds are a matter of the query's facts; where they fail the bits are simply left free.
            low = -(1 << width) if signed else 0
            self.definitions.append(z3.Implies(z3.And(value >= low, value < 1 << width), value == total))
        return bits


def constant(expr: Expr) -> int | None:
    """The value of a known integer."""
    if isinstance(expr, Const) and not isinstance(expr.value, float):
        return int(expr.value)
    if isinstance(expr, Poly) and expr.is_const:
        return expr.const
    return None


def mask(name: str, x: z3.ArithRef, c: int) -> z3.ArithRef:
    """``x name c`` for a known ``c`` and any integer ``x``, exact on infinite two's complement."""
    if name == "and":
        if c < 0:
            return x - mask("and", x, ~c)
        return z3.Sum([_field(x, at, width) * (1 << at) for at, width in runs(c)]) if c else z3.IntVal(0, x.ctx)
    if name == "or":
        if c < 0:  # x | c == ~(~x & ~c)
            return -1 - mask("and", -1 - x, ~c)
        return (
            x
            + z3.Sum([((1 << width) - 1 << at) - _field(x, at, width) * (1 << at) for at, width in runs(c)])
            if c
            else x
        )
    if c < 0:  # x ^ c == ~(x ^ ~c)
        return -1 - mask("xor", x, ~c)
    return (
        x
        + z3.Sum([((1 << width) - 1 << at) - 2 * _field(x, at, width) * (1 << at) for at, width in runs(c)])
        if c
        else x
    )


def _field(x: z3.ArithRef, at: int, width: int) -> z3.ArithRef:
    shifted = x / (1 << at) if at else x
    return shifted % (1 << width)
