"""Integer division with Python's rounding, from PTX's division that rounds to zero."""

from __future__ import annotations

from ptxspec.ptx.operand import Immediate, Register

from .context import Context, integer
from .scopes import Value


def divide(context: Context, name: str, kind: str, target: Register, left: Register, right: Value,
           known: int | None, *, nonnegative: bool, positive: bool) -> None:
    """Write ``floordiv``, ``floormod``, ``truncdiv`` or ``truncmod`` of ``left`` by ``right`` into ``target``.

    ``kind`` is the PTX type (``s32``); ``known`` the divisor where it is a constant; ``nonnegative`` and ``positive``
    say what is proved of dividend and divisor. Division by zero has no defined result and does not trap (PTX manual,
    "Integer Arithmetic Instructions: div").
    """
    bits = int(kind[1:])
    unsigned = kind.startswith("u")
    wants_quotient = name in ("floordiv", "truncdiv")
    floors = name.startswith("floor")
    plain = unsigned or (nonnegative and positive)   # then rounding down and rounding to zero agree
    if known is not None and known > 0 and known & (known - 1) == 0 and (floors or plain):
        shift = known.bit_length() - 1
        if wants_quotient:
            context.instr(f"shr.{'u' if plain else 's'}{bits}", (target, left, integer(shift)))
        else:
            context.instr(f"and.b{bits}", (target, left, integer(known - 1)))
        return
    if plain or not floors:
        opcode = "div" if wants_quotient else "rem"
        context.instr(f"{opcode}.{'u' if plain else 's'}{bits}", (target, left, right))
        return
    _floored(context, wants_quotient, bits, target, left, right, positive)


def _floored(context: Context, wants_quotient: bool, bits: int, target: Register, left: Register, right: Value,
             positive: bool) -> None:
    """Signed division rounded down: correct the truncated result where the remainder has the wrong sign."""
    cls, kind = f"b{bits}", f"s{bits}"
    fresh = context.registers.fresh
    quotient, remainder = fresh(cls), fresh(cls)
    context.instr(f"div.{kind}", (quotient, left, right))
    back = fresh(cls)
    context.instr(f"mul.lo.{kind}", (back, quotient, right))
    context.instr(f"sub.{kind}", (remainder, left, back))
    wrong = fresh("pred")
    if positive:
        context.instr(f"setp.lt.{kind}", (wrong, remainder, integer(0)))
    else:
        mixed, nonzero, signs = fresh(cls), fresh("pred"), fresh("pred")
        context.instr(f"xor.b{bits}", (mixed, remainder, right))
        context.instr(f"setp.lt.{kind}", (signs, mixed, integer(0)))
        context.instr(f"setp.ne.{kind}", (nonzero, remainder, integer(0)))
        context.instr("and.pred", (wrong, signs, nonzero))
    change = fresh(cls)
    if wants_quotient:
        context.instr(f"selp.b{bits}", (change, integer(-1), integer(0), wrong))
        context.instr(f"add.{kind}", (target, quotient, change))
    else:
        shift: Value = right if isinstance(right, (Register, Immediate)) else integer(0)
        context.instr(f"selp.b{bits}", (change, shift, integer(0), wrong))
        context.instr(f"add.{kind}", (target, remainder, change))
