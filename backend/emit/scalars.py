"""Typed kernel expressions to registers.

Every operation keeps the type's machine meaning: integers wrap at their width, ``//`` and ``%`` round down as in
Python, float arithmetic names its rounding so that the assembler fuses nothing and results equal the simulator's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.ptx.operand import Address, Immediate, Register, Special
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, BOOL, INDEX, Const, Expr, Op, Poly, Var, is_float, is_integer, is_signed

from .context import Context, integer
from .convert import convert, same_register
from .division import divide
from .machine import machine_bounds
from .scopes import Value
from .types import ARITHMETIC, VALUE_CLASS, bit_pattern, immediate, memory_type, narrow, width

if TYPE_CHECKING:
    from .indices import Indices

_COMPARE_FLOAT = {"ne": "neu"}   # a NaN differs from everything, as in Python
_BITWISE = {"and": "and", "or": "or", "xor": "xor"}
_COMMUTES = {"add", "mul", "min", "max", "and", "or", "xor", "eq", "ne"}
_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_LOGIC = {"land": "and.pred", "lor": "or.pred"}


class Scalars:
    """Evaluates typed expressions in the current scope."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.indices: Indices
        self.parameters: dict[Var, Address] = {}

    def value(self, expr: Expr) -> Value:
        """``expr`` as a register of its type's class, or as a literal where PTX arithmetic takes one."""
        context = self.context
        expr = context.known(expr)
        if isinstance(expr, Const):
            return self._constant(expr)
        if isinstance(expr, Var):
            return self._variable(expr)
        if isinstance(expr, Poly):
            return self.indices.wide(expr)
        assert isinstance(expr, Op)
        if expr.dtype == INDEX:
            return self.indices.wide(ix.index(expr))
        if expr.dtype not in ARITHMETIC and expr.dtype != BOOL and expr.name != "select":
            raise context.error("E105", f"no arithmetic on {expr.dtype}; it can only be moved", span=expr.span)
        if _neutral(expr):
            return self.value(expr.args[0])
        if expr.name == "cast" and same_register(expr.args[0].dtype, expr.dtype):
            return self.value(expr.args[0])
        found = context.scope.find(expr)
        return found if found is not None else context.cached(expr, expr, VALUE_CLASS[expr.dtype],
                                                              lambda register: self.write(expr, register))

    def register(self, expr: Expr) -> Register:
        """``expr`` in a register, literals included."""
        expr = self.context.known(expr)
        if isinstance(expr, Const):
            if expr.dtype == BOOL:
                return self.predicate(expr)
            cls = VALUE_CLASS[expr.dtype]

            def write(register: Register) -> None:
                self.context.instr(f"mov.{cls}", (register, self.literal_bits(expr)))
            found = self.context.cached(("literal", cls, expr), 0, cls, write)
            assert isinstance(found, Register)
            return found
        value = self.value(expr)
        return self.context.materialise(value, VALUE_CLASS[expr.dtype])

    def predicate(self, expr: Expr) -> Register:
        """A bool as a predicate register."""
        expr = self.context.known(expr)
        if isinstance(expr, Const):
            state = 1 if expr.value else 0

            def write(register: Register) -> None:
                self.context.instr("setp.eq.u32", (register, self.context.materialise(integer(1), "b32"),
                                                   integer(state)))
            found = self.context.cached(("pred", state), 0, "pred", write)
        else:
            found = self.value(expr)
        assert isinstance(found, Register)
        return found

    def literal_bits(self, constant: Const) -> Immediate:
        """A constant as an integer literal of its bits, for ``mov``; narrow integers keep their extended value."""
        if is_float(constant.dtype):
            pattern = bit_pattern(constant.value, constant.dtype)
            return Immediate(f"0x{pattern:0{BITS[constant.dtype] // 4}X}")
        return integer(int(constant.value))

    def _constant(self, constant: Const) -> Value:
        if constant.dtype == BOOL:
            return self.predicate(constant)
        if constant.dtype in ("float16", "bfloat16") or constant.dtype.startswith(("bits", "float8")):
            return self.register(constant)
        return immediate(constant.value, constant.dtype)

    def _variable(self, variable: Var) -> Value:
        found = self.context.scope.find(variable.uid)
        if found is not None:
            return found
        address = self.parameters.get(variable)
        if address is not None:
            return self._parameter(variable, address)
        if "." in variable.role or variable.role.startswith(("lane", "warp", "cluster")):
            special = Special(f"%{variable.role}")
            return self.context.once(variable, "b32", lambda register: self.context.instr(
                "mov.u32", (register, special)))
        raise self.context.error("E108", f"`{variable.name}` has no value here (internal: role {variable.role})",
                                 span=variable.span)

    def _parameter(self, variable: Var, address: Address) -> Value:
        """A scalar argument, read once."""
        dtype, context = variable.dtype, self.context

        def write(register: Register) -> None:
            kind = "s64" if dtype == INDEX else memory_type(dtype)
            if dtype == BOOL:
                byte = context.registers.fresh("b32")
                context.instr(f"ld.param.{kind}", (byte, address))
                context.instr("setp.ne.u32", (register, byte, integer(0)))
            else:
                context.instr(f"ld.param.{kind}", (register, address))
        return context.once(variable, VALUE_CLASS[dtype], write)

    # -- operations ----------------------------------------------------------------------------------------------

    def write(self, op: Op, target: Register) -> None:
        """Compute ``op`` into ``target``."""
        context, name, dtype = self.context, op.name, op.dtype
        if dtype == BOOL:
            self._truth(op, target)
        elif name == "cast":
            convert(self, op.args[0], dtype, target)
        elif name == "select":
            self._select(op, target)
        elif name in ("floordiv", "floormod", "truncdiv", "truncmod"):
            self._divide(op, target)
        elif name == "abs" and ARITHMETIC[dtype].startswith("u"):
            context.instr(f"mov.{target.cls}", (target, self.register(op.args[0])))
        elif name in ("neg", "abs", "not"):
            operand = self.register(op.args[0])
            kind = f"b{width(dtype)}" if name == "not" else ARITHMETIC[dtype]
            if kind.startswith("u"):
                kind = f"s{kind[1:]}"   # PTX negates signed types; the bits are the same
            context.instr(f"{name}.{kind}", (target, operand))
            self.normalise(target, dtype)
        elif name in ("shl", "shr"):
            kind = f"b{width(dtype)}" if name == "shl" else ARITHMETIC[dtype]
            context.instr(f"{name}.{kind}", (target, self.register(op.args[0]), self._amount(op.args[1])))
            if name == "shl":
                self.normalise(target, dtype)
        elif name == "fma":
            a, b, c = (self.register(arg) for arg in op.args)
            context.instr(f"fma.rn.{ARITHMETIC[dtype]}", (target, a, b, c))
        else:
            self._arithmetic(op, target)

    def _arithmetic(self, op: Op, target: Register) -> None:
        name, dtype = op.name, op.dtype
        kind = ARITHMETIC[dtype]
        left, right = op.args
        if name == "div" and kind in ("f16", "bf16"):
            # A binary32 quotient rounded again to 16 bits is the correctly rounded one: 24 >= 2*11 + 2.
            convert(self, _in_binary32(op), dtype, target)
            return
        if name in _BITWISE:
            opcode = f"{name}.b{width(dtype)}"
        elif name in ("min", "max"):
            opcode = f"{name}.{kind}"
        elif is_float(dtype) and name in ("add", "sub", "mul", "div"):
            opcode = f"{name}.rn.{kind}"
        elif name in ("add", "sub"):
            opcode = f"{name}.{kind}"
        elif name == "mul":
            opcode = f"mul.lo.{kind}"
        else:
            raise self.context.error("E105", f"`{name}` has no instruction for {dtype}", span=op.span)
        operands = (target, *self._pair(name, left, right))
        if kind in ("f16", "bf16") and not self.context.offers(opcode, operands):
            # As above; sums, products and extremes come out right for the same reason.
            convert(self, _in_binary32(op), dtype, target)
            return
        self.context.instr(opcode, operands)
        if name in ("add", "sub", "mul"):
            self.normalise(target, dtype)

    def _pair(self, name: str, left: Expr, right: Expr) -> tuple[Value, Value]:
        """Both operands, the literal second."""
        a, b = self.value(left), self.value(right)
        if isinstance(a, Immediate):
            if name in _COMMUTES and isinstance(b, Register):
                return b, a
            a = self.register(left)
        return a, b

    def _amount(self, amount: Expr) -> Value:
        """A shift amount as a 32-bit value; PTX clamps amounts above the width, which is the machine meaning here."""
        amount = self.context.known(amount)
        value = self.value(amount)
        if isinstance(value, Register) and value.cls == "b64":
            def write(register: Register) -> None:
                small = self.context.registers.fresh("b64")
                self.context.instr("min.u64", (small, value, integer(64)))
                self.context.instr("cvt.u32.u64", (register, small))
            return self.context.cached(("amount", amount), amount, "b32", write)
        return value

    def _divide(self, op: Op, target: Register) -> None:
        left, right = op.args
        lo, _ = machine_bounds(left)
        divisor = self.context.known(right)
        known = int(divisor.value) if isinstance(divisor, Const) else None
        positive = machine_bounds(divisor)[0]
        divide(self.context, op.name, ARITHMETIC[op.dtype], target, self.register(left),
               self.value(divisor), known, nonnegative=lo is not None and lo >= 0,
               positive=positive is not None and positive > 0)
        self.normalise(target, op.dtype)

    def _select(self, op: Op, target: Register) -> None:
        condition, left, right = op.args
        chosen = self.predicate(condition)
        bits = target.cls
        operands = (target, self._plain(left), self._plain(right), chosen)
        if bits == "b128":
            raise self.context.error("E105", "no select on 128-bit values", span=op.span)
        self.context.instr(f"selp.{bits}", operands)

    def _plain(self, expr: Expr) -> Value:
        expr = self.context.known(expr)
        return self.literal_bits(expr) if isinstance(expr, Const) and width(expr.dtype) >= 32 else self.register(expr)

    def _truth(self, op: Op, target: Register) -> None:
        context, name = self.context, op.name
        if name in _LOGIC:
            context.instr(_LOGIC[name], (target, self.predicate(op.args[0]), self.predicate(op.args[1])))
        elif name == "lnot":
            context.instr("not.pred", (target, self.predicate(op.args[0])))
        elif name == "cast":
            source = op.args[0]
            zero = Const(0.0 if is_float(source.dtype) else 0, source.dtype)
            self._compare("ne", source, zero, target)
        elif name == "select":
            condition = self.predicate(op.args[0])
            yes, no, opposite = (context.registers.fresh("pred") for _ in range(3))
            context.instr("and.pred", (yes, condition, self.predicate(op.args[1])))
            context.instr("not.pred", (opposite, condition))
            context.instr("and.pred", (no, opposite, self.predicate(op.args[2])))
            context.instr("or.pred", (target, yes, no))
        else:
            self._compare(name, op.args[0], op.args[1], target)

    def _compare(self, name: str, left: Expr, right: Expr, target: Register) -> None:
        context, dtype = self.context, left.dtype
        if dtype == BOOL:
            if name in ("eq", "ne"):
                context.instr("xor.pred", (target, self.predicate(left), self.predicate(right)))
                if name == "eq":
                    context.instr("not.pred", (target, target))
                return
            left, right, dtype = Op("cast", (left,), "int32"), Op("cast", (right,), "int32"), "int32"
        if dtype == INDEX or right.dtype == INDEX:
            self.indices.compare(name, ix.index(left), ix.index(right), target)
            return
        if dtype not in ARITHMETIC:
            raise context.error("E105", f"{dtype} values cannot be compared", span=left.span)
        a, b = self.value(left), self.value(right)
        if isinstance(a, Immediate) and isinstance(b, Register):
            a, b, name = b, a, _SWAPPED.get(name, name)
        elif isinstance(a, Immediate):
            a = self.register(left)
        if is_float(dtype):
            name = _COMPARE_FLOAT.get(name, name)
        opcode = f"setp.{name}.{ARITHMETIC[dtype]}"
        if dtype == "bfloat16" and not context.offers(opcode, (target, a, b)):
            wide = [self.register(Op("cast", (side,), "float32")) for side in (left, right)]
            opcode, (a, b) = f"setp.{name}.f32", wide
        context.instr(opcode, (target, a, b))

    def normalise(self, register: Register, dtype: str) -> None:
        """Bring a narrow integer back to its range after an operation that may have left it."""
        if narrow(dtype):
            sign = "s" if is_signed(dtype) else "u"
            self.context.instr(f"cvt.{sign}32.{sign}{BITS[dtype]}", (register, register))

    # -- bits ----------------------------------------------------------------------------------------------------

    def as_bits(self, expr: Expr, bits: int) -> Register:
        """The memory representation of ``expr`` in a register at least ``bits`` wide (bool as 0 or 1)."""
        if isinstance(expr, Var) and expr.dtype != BOOL:   # the common case: an element read before
            held = self.context.scope.find(expr.uid)
            if isinstance(held, Register):
                return held
        if expr.dtype == BOOL:
            predicate, known = self.predicate(expr), self.context.known(expr)

            def write(register: Register) -> None:
                self.context.instr("selp.b32", (register, integer(1), integer(0), predicate))
            found = self.context.cached(("bit", known), known, "b32", write)
            assert isinstance(found, Register)
            return found
        register = self.register(expr)
        if int(register.cls[1:]) < bits:
            raise self.context.error("E105", f"a {expr.dtype} value has fewer than {bits} bits", span=expr.span)
        return register

    def slot_bits(self, expr: Expr, bits: int, cls: str) -> Register:
        """:meth:`as_bits` in a register of exactly class ``cls`` (narrow integers live in 32-bit registers)."""
        register = self.as_bits(expr, bits)
        if register.cls == cls:
            return register
        if cls == "b16" and register.cls == "b32":
            known = self.context.known(expr)

            def write(low: Register) -> None:
                self.context.instr("cvt.u16.u32", (low, register))
            found = self.context.cached(("low16", known), known, "b16", write)
            assert isinstance(found, Register)
            return found
        if not is_integer(expr.dtype):
            raise self.context.error("E105", f"a {expr.dtype} value does not fit a .{cls} register", span=expr.span)
        raise self.context.error("E105", f"an {expr.dtype} value needs a cast to fit a .{cls} register",
                                 span=expr.span)


def _in_binary32(op: Op) -> Op:
    """The same operation on operands widened to binary32."""
    return Op(op.name, tuple(Op("cast", (a,), "float32", op.span) for a in op.args), "float32", op.span)


def _neutral(op: Op) -> bool:
    """``x + 0``, ``x * 1`` and the like on integers: what unrolled indices leave behind."""
    if len(op.args) != 2 or not isinstance(op.args[1], Const) or not is_integer(op.dtype):
        return False
    if op.name in ("add", "sub", "shl", "shr", "or", "xor"):
        return op.args[1].value == 0
    return op.name in ("mul", "floordiv", "truncdiv") and op.args[1].value == 1
