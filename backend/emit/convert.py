"""Casts between kernel types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.ptx.operand import Register
from ptxspec.scalar.expr import BITS, BOOL, INDEX, Const, Expr, is_float, is_integer, is_signed

from .context import integer
from .types import ARITHMETIC, VALUE_CLASS, narrow

if TYPE_CHECKING:
    from .scalars import Scalars


def convert(scalars: Scalars, source: Expr, dtype: str, target: Register) -> None:
    """Write ``source`` converted to ``dtype`` (not bool) into ``target``.

    Integer narrowing keeps the low bits; float to integer rounds to zero and saturates; float narrowing rounds to
    nearest even.
    """
    context, origin = scalars.context, source.dtype
    if origin == BOOL:
        _from_bool(scalars, source, dtype, target)
        return
    register = scalars.register(source)
    if is_integer(dtype) and not is_float(origin):
        _integers(scalars, register, origin, dtype, target)
    elif is_float(dtype) and is_float(origin):
        _floats(scalars, register, origin, dtype, target)
    elif is_float(dtype):
        if origin not in ARITHMETIC:
            raise context.error("E105", f"no conversion from {origin} to {dtype}", span=source.span)
        context.instr(f"cvt.rn.{ARITHMETIC[dtype]}.{ARITHMETIC[origin]}", (target, register))
    elif is_integer(dtype) and is_float(origin):
        kind = f"{'s' if is_signed(dtype) else 'u'}{BITS[dtype]}"
        if origin == "bfloat16":
            wide = context.registers.fresh("b32")
            _floats(scalars, register, origin, "float32", wide)
            register, origin = wide, "float32"
        if BITS[dtype] == 8:
            # PTX rounds to 8 bits only from a register it then extends; going through 16 bits keeps one spelling.
            limit_low, limit_high = (-128, 127) if is_signed(dtype) else (0, 255)
            sign = kind[0]
            context.instr(f"cvt.rzi.{sign}32.{ARITHMETIC[origin]}", (target, register))
            context.instr(f"max.{sign}32", (target, target, integer(limit_low)))
            context.instr(f"min.{sign}32", (target, target, integer(limit_high)))
        elif BITS[dtype] == 16:
            half = context.registers.fresh("b16")
            context.instr(f"cvt.rzi.{kind}.{ARITHMETIC[origin]}", (half, register))
            context.instr(f"cvt.{kind[0]}32.{kind}", (target, half))
        else:
            context.instr(f"cvt.rzi.{kind}.{ARITHMETIC[origin]}", (target, register))
    elif VALUE_CLASS.get(dtype) == VALUE_CLASS.get(origin):
        context.instr(f"mov.{VALUE_CLASS[dtype]}", (target, register))
    else:
        raise context.error("E105", f"no conversion from {origin} to {dtype}", span=source.span)


def _from_bool(scalars: Scalars, source: Expr, dtype: str, target: Register) -> None:
    predicate = scalars.predicate(source)
    if is_float(dtype):
        one, zero = Const(1.0, dtype), Const(0.0, dtype)
        operands = (scalars.literal_bits(one), scalars.literal_bits(zero)) if VALUE_CLASS[dtype] != "b16" \
            else (scalars.register(one), scalars.register(zero))
        scalars.context.instr(f"selp.{VALUE_CLASS[dtype]}", (target, *operands, predicate))
    else:
        scalars.context.instr(f"selp.{VALUE_CLASS[dtype]}", (target, integer(1), integer(0), predicate))


def _integers(scalars: Scalars, register: Register, origin: str, dtype: str, target: Register) -> None:
    """``register`` holds a value extended by its own type's sign, so widening depends on ``origin`` alone."""
    context = scalars.context
    sign = "s" if is_signed(origin) or origin == INDEX else "u"
    if register.cls == "b16":
        context.instr("cvt.u32.u16" if target.cls == "b32" else "cvt.u64.u16", (target, register))
    elif register.cls == target.cls:
        if narrow(dtype):
            context.instr(f"cvt.{_sign(dtype)}32.{_sign(dtype)}{BITS[dtype]}", (target, register))
        else:
            context.instr(f"mov.{target.cls}", (target, register))
        return
    elif target.cls == "b64":
        context.instr(f"cvt.{sign}64.{sign}32", (target, register))
    else:
        context.instr("cvt.u32.u64", (target, register))
    scalars.normalise(target, dtype)


def _sign(dtype: str) -> str:
    return "s" if is_signed(dtype) else "u"


def same_register(origin: str, dtype: str) -> bool:
    """True where a cast changes neither the bits nor the register: it costs no instruction."""
    if not (is_integer(dtype) and (is_integer(origin) or origin == INDEX)):
        return False
    if VALUE_CLASS[origin] != VALUE_CLASS[dtype]:
        return False
    if not narrow(dtype):
        return True
    return narrow(origin) and is_signed(origin) == is_signed(dtype) and BITS[origin] <= BITS[dtype]


def _floats(scalars: Scalars, register: Register, origin: str, dtype: str, target: Register) -> None:
    context = scalars.context
    if origin == "bfloat16":
        # The upper half of a binary32: exact, and needs no instruction newer than a shift.
        wide = target if dtype == "float32" else context.registers.fresh("b32")
        context.instr("cvt.u32.u16", (wide, register))
        context.instr("shl.b32", (wide, wide, integer(16)))
        if dtype != "float32":
            _floats(scalars, wide, "float32", dtype, target)
        return
    if dtype == "bfloat16" and origin == "float16":
        middle = context.registers.fresh("b32")
        context.instr("cvt.f32.f16", (middle, register))
        register, origin = middle, "float32"
    exact = BITS[dtype] > BITS[origin]
    rounding = "" if exact else ".rn"
    context.instr(f"cvt{rounding}.{ARITHMETIC[dtype]}.{ARITHMETIC[origin]}", (target, register))
