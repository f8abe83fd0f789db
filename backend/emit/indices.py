"""Exact index expressions to registers, in 32 bits where their bounds prove that enough, else in 64.

Sums and products may wrap on the way when the final value fits: two's-complement arithmetic is exact modulo a power
of two. Divisions, comparisons, minima and bit operations need exact operands and are computed wide enough for those.
"""

from __future__ import annotations

from ptxspec.ptx.operand import Register
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Expr, Monomial, Op, Poly, Var, is_signed

from .context import Context, integer
from .division import divide
from .scalars import Scalars
from .scopes import Value
from .sums import S32, U32, as_signed, fits, form, grouped, in_order
from .types import VALUE_CLASS

_COMMUTES = ("min", "max", "and", "or", "xor")


class Indices:
    """Evaluates :class:`Poly` and the index operations inside it."""

    def __init__(self, context: Context, scalars: Scalars) -> None:
        self.context = context
        self.scalars = scalars

    # -- whole values --------------------------------------------------------------------------------------------

    def wide(self, poly: Poly) -> Value:
        """``poly`` in 64 bits."""
        if poly.is_const:
            return integer(poly.const)
        bits, signed = form(poly)
        if bits == 32:
            return self._extend(self.low(poly), signed, poly)
        return self.context.cached((64, poly), poly, "b64", lambda register: self.sum64(poly, None, register))

    def low(self, poly: Poly) -> Value:
        """The low 32 bits of ``poly``: its value where it fits 32 bits."""
        if poly.is_const:
            return integer(poly.const)
        if poly.const == 0 and len(poly.terms) == 1 and poly.terms[0][1] == 1 and len(poly.terms[0][0]) == 1:
            return self._low_atom(poly.terms[0][0][0])
        return self.context.cached((32, poly), poly, "b32", lambda register: self._sum32(poly, register))

    def exact(self, poly: Poly, bits: int) -> Value:
        """``poly`` in ``bits``, which its bounds must allow."""
        return self.low(poly) if bits == 32 else self.wide(poly)

    def register(self, poly: Poly, bits: int) -> Register:
        """:meth:`exact` in a register."""
        return self.context.materialise(self.exact(poly, bits), f"b{bits}")

    def _extend(self, value: Value, signed: bool, depends: Expr) -> Value:
        if not isinstance(value, Register):
            return value
        kind = "s" if signed else "u"
        return self.context.cached(("extend", kind, depends), depends, "b64", lambda register: self.context.instr(
            f"cvt.{kind}64.{kind}32", (register, value)))

    # -- sums ----------------------------------------------------------------------------------------------------

    def _sum32(self, poly: Poly, target: Register) -> None:
        """Sum of products modulo 2**32."""
        context = self.context
        # A plain term first: the others multiply and add onto it.
        steps = sorted(in_order(poly), key=lambda step: step[1] != 1)
        total: Value | None = None
        for position, (monomial, coefficient) in enumerate(steps):
            last = position == len(steps) - 1 and poly.const == 0
            if total is None and coefficient != 1 and not last:
                total = self._kept(coefficient, monomial)   # because other sums often start with the same term
                continue
            value = self._low_product(monomial)
            result = target if last or total is None else context.registers.fresh("b32")
            if total is None:
                if coefficient == 1 and not last:
                    total = value
                    continue
                self._scale32(value, coefficient, result)
            elif coefficient == 1:
                context.instr("add.s32", (result, total, value))
            elif coefficient == -1:
                context.instr("sub.s32", (result, total, value))
            else:
                context.instr("mad.lo.s32", (result, value, integer(as_signed(coefficient, 32)), total))
            total = result
        if poly.const:
            assert total is not None
            context.instr("add.s32", (target, total, integer(as_signed(poly.const, 32))))

    def plus32(self, base: Register, poly: Poly, target: Register) -> None:
        """``base + poly`` modulo 2**32."""
        if len(poly.terms) == 1 and poly.const == 0 and poly.terms[0][1] not in (1, -1):
            (monomial, coefficient), = poly.terms
            factor = integer(as_signed(coefficient, 32))
            self.context.instr("mad.lo.s32", (target, self._low_product(monomial), factor, base))
        else:
            self.context.instr("add.s32", (target, base, self.low(poly)))

    def _kept(self, coefficient: int, monomial: Monomial) -> Value:
        term = Poly(0, ((monomial, coefficient),))
        # The product is written where the term will stand, so that it dominates it.
        return self.context.cached((32, term), term, "b32", lambda register: self._scale32(
            self._low_product(monomial), coefficient, register), eager=True)

    def _scale32(self, value: Value, coefficient: int, result: Register) -> None:
        if coefficient == 1:
            self.context.instr("mov.b32", (result, value))
        elif coefficient > 0 and coefficient & (coefficient - 1) == 0 and coefficient < 1 << 32:
            self.context.instr("shl.b32", (result, value, integer(coefficient.bit_length() - 1)))
        elif coefficient == -1:
            self.context.instr("neg.s32", (result, value))
        else:
            self.context.instr("mul.lo.s32", (result, value, integer(as_signed(coefficient, 32))))

    def _low_product(self, monomial: Monomial) -> Register:
        value: Register | None = None
        for count, part in enumerate(monomial, 1):
            factor = self.context.materialise(self._low_atom(part), "b32")
            if value is None:
                value = factor
                continue
            left = value
            found = self.context.cached(("mul32", monomial[:count]), _level_of(monomial[:count]), "b32",
                                        lambda register, a=left, b=factor: self.context.instr(  # type: ignore[misc]
                                            "mul.lo.s32", (register, a, b)))
            assert isinstance(found, Register)
            value = found
        assert value is not None
        return value

    def sum64(self, poly: Poly, base: Value | None, target: Register) -> None:
        """``base + poly`` exactly in 64 bits: 32-bit parts enter through one widening multiply-add each."""
        context = self.context
        parts = grouped(poly)
        total = base
        for position, (part, factor) in enumerate(parts):
            last = position == len(parts) - 1 and poly.const == 0
            result = target if last else context.registers.fresh("b64")
            self._add64(total, part, factor, result)
            total = result
        if poly.const or not parts:
            constant = integer(poly.const)
            if total is None:
                context.instr("mov.b64", (target, constant))
            else:
                context.instr("add.s64", (target, total, constant))

    def _add64(self, total: Value | None, part: Poly, factor: int, result: Register) -> None:
        context = self.context
        bits, signed = form(part)
        if bits == 32 and (signed or factor >= 0) and S32[0] <= factor <= S32[1]:
            kind = "s32" if signed else "u32"
            if factor == 1:
                self._plus(total, self._extend(context.materialise(self.low(part), "b32"), signed, part), result)
                return

            def write(register: Register) -> None:
                value = context.materialise(self.low(part), "b32")
                context.instr(f"mul.wide.{kind}", (register, value, integer(factor)))
            if total is None:
                write(result)
                return
            # A product and a sum: arrays of one shape share the product, and assemblers make one IMAD.WIDE of the two,
            # where they take a mad.wide apart into high and low half.
            product = context.cached(("wide", kind, part, factor), part, "b64", write, eager=True)
            context.instr("add.s64", (result, total, product))
            return
        value64 = self._product64(part)
        if factor == 1:
            self._plus(total, value64, result)
        elif total is None:
            context.instr("mul.lo.s64", (result, value64, integer(as_signed(factor, 64))))
        else:
            context.instr("mad.lo.s64", (result, value64, integer(as_signed(factor, 64)), total))

    def _plus(self, total: Value | None, value: Value, result: Register) -> None:
        if total is None:
            self.context.instr("mov.b64", (result, value))
        else:
            self.context.instr("add.s64", (result, total, value))

    def _product64(self, part: Poly) -> Register:
        """A single product of atoms (coefficient 1) in 64 bits."""
        (monomial, _), = part.terms
        value: Register | None = None
        done = 0
        if len(monomial) > 1:
            value = self._both_narrow(monomial[0], monomial[1])
            done = 0 if value is None else 2
        for count, atom in enumerate(monomial, 1):
            if count <= done:
                continue
            factor = self.context.materialise(self._wide_atom(atom), "b64")
            if value is None:
                value = factor
                continue
            left = value
            found = self.context.cached(("mul64", monomial[:count]), _level_of(monomial[:count]), "b64",
                                        lambda register, a=left, b=factor: self.context.instr(  # type: ignore[misc]
                                            "mul.lo.s64", (register, a, b)))
            assert isinstance(found, Register)
            value = found
        assert value is not None
        return value

    def _both_narrow(self, left: Expr, right: Expr) -> Register | None:
        """The product of two signed 32-bit atoms in one widening multiplication; None where an atom is wider."""
        if not all(self._narrow(atom) for atom in (left, right)):
            return None

        def write(register: Register) -> None:   # the factors too, where the product will stand
            a, b = (self.context.materialise(self._atom(atom), "b32") for atom in (left, right))
            self.context.instr("mul.wide.s32", (register, a, b))
        found = self.context.cached(("mul64", (left, right)), _level_of((left, right)), "b64", write, eager=True)
        assert isinstance(found, Register)
        return found

    def _narrow(self, atom: Expr) -> bool:
        """True for an atom that :meth:`_atom` gives as a signed 32-bit register."""
        if atom.dtype != INDEX:
            return VALUE_CLASS[atom.dtype] == "b32" and is_signed(atom.dtype)
        if isinstance(atom, Op):
            return self._bits(atom) == 32 and form(ix.atom(atom))[1]
        return isinstance(atom, Poly) and not atom.is_const and form(atom) == (32, True)

    # -- atoms ---------------------------------------------------------------------------------------------------

    def _low_atom(self, atom: Expr) -> Value:
        value = self._atom(atom)
        if isinstance(value, Register) and value.cls == "b64":
            return self.context.cached(("low", atom), atom, "b32", lambda register: self.context.instr(
                "cvt.u32.u64", (register, value)))
        return value

    def _wide_atom(self, atom: Expr) -> Value:
        value = self._atom(atom)
        if isinstance(value, Register) and value.cls == "b32":
            signed = form(ix.atom(atom))[1] if atom.dtype == INDEX else is_signed(atom.dtype)
            return self._extend(value, signed, atom)
        return value

    def _atom(self, atom: Expr) -> Value:
        """An atom in its own width: typed ones as their type says, index operations as their bounds allow."""
        if atom.dtype != INDEX or isinstance(atom, Var):
            return self.scalars.value(atom)
        if isinstance(atom, Poly):
            return self.exact(atom, form(atom)[0])
        assert isinstance(atom, Op)
        bits = self._bits(atom)
        if atom.name in _COMMUTES:
            turned = self.context.scope.find((bits, Op(atom.name, atom.args[::-1], INDEX)))
            if turned is not None:
                return turned
        return self.context.cached((bits, atom), atom, f"b{bits}",
                                   lambda register: self._operation(atom, bits, register))

    def _bits(self, op: Op) -> int:
        """Width in which operands and result of ``op`` are all exact in one signedness."""
        numbers = [a for a in op.args if a.dtype == INDEX] + [op]
        for limits in (S32, U32):
            if all(fits(n, limits) for n in numbers):
                return 32
        return 64

    def _operation(self, op: Op, bits: int, target: Register) -> None:
        context, name = self.context, op.name
        if name == "select":
            condition = self.scalars.predicate(op.args[0])
            context.instr(f"selp.b{bits}", (target, self.exact(ix.index(op.args[1]), bits),
                                            self.exact(ix.index(op.args[2]), bits), condition))
            return
        left = ix.index(op.args[0])
        right = ix.index(op.args[1])
        signed = bits == 64 or all(fits(a, S32) for a in (left, right, op))
        kind = f"{'s' if signed else 'u'}{bits}"
        first = self.register(left, bits)
        if name in ("floordiv", "floormod", "truncdiv", "truncmod"):
            lo, positive = ix.bounds(left)[0], ix.bounds(right)[0]
            divide(context, name, kind, target, first, self.exact(right, bits), right.const if right.is_const else None,
                   nonnegative=lo is not None and lo >= 0, positive=positive is not None and positive > 0)
        elif name in ("min", "max"):
            context.instr(f"{name}.{kind}", (target, first, self.exact(right, bits)))
        elif name in ("and", "or", "xor"):
            context.instr(f"{name}.b{bits}", (target, first, self.exact(right, bits)))
        elif name in ("shl", "shr"):
            amount = self.low(right)
            context.instr(f"shl.b{bits}" if name == "shl" else f"shr.{kind}", (target, first, amount))
        else:
            raise context.error("E105", f"`{name}` has no index instruction (internal)", span=op.span)

    def compare(self, name: str, left: Poly, right: Poly, target: Register) -> None:
        """Set predicate ``target`` to an exact comparison."""
        both_signed = fits(left, S32) and fits(right, S32)
        bits = 32 if both_signed or (fits(left, U32) and fits(right, U32)) else 64
        kind = f"{'s' if both_signed or bits == 64 else 'u'}{bits}"
        self.context.instr(f"setp.{name}.{kind}", (target, self.register(left, bits), self.exact(right, bits)))


def _level_of(monomial: Monomial) -> Expr:
    return Poly(0, ((monomial, 1),))


__all__ = ["S32", "U32", "Indices", "fits", "form"]
