"""Operand rules of single instructions, and what some releases of the assembler take that no manual has."""

from __future__ import annotations

import struct

from ptxspec.forms import OperandUse
from ptxspec.ptx.constant import evaluate
from ptxspec.ptx.element import GroupError, element_of, fits_exactly, group_type
from ptxspec.ptx.module import TYPE_BITS
from ptxspec.ptx.operand import (
    Address,
    Component,
    Immediate,
    Negated,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from ptxspec.ptx.problem import Problem
from ptxspec.ptx.rules_memory import GROUP_MESSAGES

BRAIN = frozenset({"bf16", "bf16x2"})
_UNTYPED = frozenset({"and", "or", "xor", "exch"})
_WHOLE_32 = frozenset({"b32", "u32", "s32"})


def without_minus(operands: tuple[Operand, ...]) -> tuple[tuple[Operand, ...], list[Problem]]:
    """The operands without the two minus signs of ``shr.s32 d, -a, -b``, and the warning that they deserve.

    The assembler refuses one such sign and takes two, on the first two sources of any instruction, where both are
    32-bit integer registers.
    """
    if len(operands) < 3:
        return operands, []
    first, second = operands[1], operands[2]
    plain: list[Operand] = []
    for operand in (first, second):
        if not isinstance(operand, Negated) or not isinstance(operand.operand, Register):
            return operands, []
        if operand.operand.cls not in _WHOLE_32 or operand.operand.lanes > 1:
            return operands, []
        plain.append(operand.operand)
    message = f"a minus before registers such as '{first}' and '{second}' is not in the manual"
    return (operands[0], *plain, *operands[3:]), [Problem("L245", message, 1, False)]


def without_stray(operands: tuple[Operand, ...], words: tuple[str, ...]) -> tuple[tuple[Operand, ...], list[Problem]]:
    """The operands of ``atom.and.b32 d, [a], b, c`` without the last, and the warning that it deserves.

    The assembler reads a fourth operand of a bitwise operation or an exchange as that of ``cas``, and drops it.
    """
    type_ = next((w for w in words if w in ("b32", "b128")), "")
    if len(operands) != 4 or not type_ or "L2::cache_hint" in words or _UNTYPED.isdisjoint(words):
        return operands, []
    last = operands[3]
    element = element_of(last) if isinstance(last, Register) else None
    fits = element is not None and fits_exactly("b", TYPE_BITS[type_], element)
    function = isinstance(last, Symbol) and last.kind in ("function", "entry") and not last.form
    if not fits and not function:
        return operands, []
    message = f"the operand '{last}' is one too many; the assembler takes it and drops it"
    return operands[:3], [Problem("L249", message, 3, False)]


def judge_braces(use: OperandUse, group: Vector, index: int) -> list[Problem]:
    """A brace group where one ``.bf16`` or ``.bf16x2`` value belongs: some releases look at its type only."""
    if len(group.elements) not in (1, 2, 4):
        return [Problem("L202", f"operand '{use.name}' is one value, '{group}' is a vector", index)]
    for element in group.elements:
        if isinstance(element, Sink) and use.role == "in":
            return [Problem("L204", "'_' cannot be a source", index)]
        if isinstance(element, (Immediate, Special)) and use.role == "out":
            return [Problem("L206", f"'{element}' cannot be a destination", index)]
        if isinstance(element, Component) and element.register.lanes == 1:
            return [Problem("L219", f"'{element}' selects a part of a register", index)]
    try:
        made = group_type(group)
    except GroupError as error:
        rule, which = error.args
        return [Problem("L203", f"{GROUP_MESSAGES[rule]}, here '{group.elements[which]}'", index)]
    # An integer in front takes the width of the registers behind it.
    widths = [found.bits for e in group.elements if (found := element_of(e)) is not None and not found.literal]
    bits = widths[0] if widths and made.literal == "int" else made.bits
    if made.kind != "b" or bits != TYPE_BITS[use.type] or not widths:
        return [Problem("L201", f"the elements of '{group}' do not fit '.{use.type}'", index)]
    return [Problem("L248", f"'{group}' in braces is not in the manual", index, False)]


def judge_policy(operands: tuple[Operand, ...], words: tuple[str, ...]) -> list[Problem]:
    """``createpolicy``: the fraction and the sizes that are written as constants."""
    if "range" in words:
        return _judge_range(operands)
    if "fractional" in words and len(operands) == 2 and isinstance(operands[1], Immediate):
        fraction = operands[1]
        if fraction.kind == "float":
            value = _as_f32(float(evaluate(fraction.text)))
            if not 0.0 < value <= 1.0:
                return [Problem("L247", f"the fraction {fraction} is not above 0 and at most 1", 1)]
    return []


def _as_f32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf")


def _judge_range(operands: tuple[Operand, ...]) -> list[Problem]:
    """``createpolicy.range d, [a], primary, total``: the part is not larger than the whole."""
    address, primary, total = operands[1], operands[2], operands[3]
    narrow = isinstance(address, Address) and isinstance(address.base, Register) and (
        TYPE_BITS.get(address.base.cls, 32) < 32)
    if narrow:
        return [Problem("L235", f"'{address}' has fewer bits than an address", 1)]
    if isinstance(primary, Immediate) and isinstance(total, Immediate) and "float" not in (primary.kind, total.kind):
        part, whole = (int(evaluate(o.text)) % (1 << 32) for o in (primary, total))
        if part > whole:
            return [Problem("L243", f"the primary size {part} is larger than the total size {whole}", 2)]
    return []
