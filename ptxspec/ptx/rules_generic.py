"""Operand rules of every other instruction, read from the database's description of its operands.

A line is fine if the operands fit one of the forms that its spelling can stand for.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.forms import OperandUse
from ptxspec.ptx.element import GroupError, element_of, fits_exactly, fits_memory, group_type
from ptxspec.ptx.module import TYPE_BITS
from ptxspec.ptx.operand import (
    Address,
    Component,
    Group,
    Immediate,
    Label,
    NotPredicate,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from ptxspec.ptx.problem import Context, Problem, Shape
from ptxspec.ptx.rules_memory import GROUP_MESSAGES, judge_address
from ptxspec.ptx.special import special_info

_LETTER = {"p": "p", "b": "b", "u": "u", "s": "s", "f": "f", "t": "f", "e": "b"}


def judge_generic(
    mnemonic: str, forms: Sequence[Sequence[OperandUse]], operands: tuple[Operand, ...], guarded: bool, context: Context
) -> list[Problem]:
    """What is wrong under the form that fits best; empty when one fits."""
    best: list[Problem] | None = None
    for uses in forms:
        found = _judge_form(mnemonic, uses, operands, guarded, context)
        errors = sum(p.error for p in found)
        if not errors:
            return found
        if best is None or errors < sum(p.error for p in best):
            best = found
    return best or []


def _judge_form(
    mnemonic: str, uses: Sequence[OperandUse], operands: tuple[Operand, ...], guarded: bool, context: Context
) -> list[Problem]:
    if len(uses) != len(operands):
        wanted = ", ".join(u.name for u in uses) or "no operands"
        return [Problem("L200", f"'{mnemonic}' takes {wanted}; {len(operands)} operands are written")] * 9
    found: list[Problem] = []
    for index, (use, operand) in enumerate(zip(uses, operands, strict=True)):
        found += _judge_one(mnemonic, use, operand, index, guarded, context)
    return found


def _judge_one(
    mnemonic: str, use: OperandUse, operand: Operand, index: int, guarded: bool, context: Context
) -> list[Problem]:
    kinds = use.kinds
    if "address" in kinds and isinstance(operand, Address):
        space = "" if use.space == "generic" else use.space
        return judge_address(mnemonic, Shape("b8", 1, space, False), operand, index, guarded, context)
    if isinstance(operand, Label):
        if "label" in kinds or "function" in kinds:
            return []
    elif isinstance(operand, Symbol):
        if ("function" in kinds and operand.kind in ("function", "entry")) or "symbol" in kinds or (
                operand.kind == "function" and "label" in kinds):
            return []
        if operand.kind in ("register", "label") and "immediate" in kinds:
            return [Problem("L234", f"'{operand}' outside an address is not in the manual", index, False)]
    elif isinstance(operand, Immediate):
        return _judge_constant(mnemonic, use, operand, index)
    elif isinstance(operand, Vector):
        return _judge_vector(mnemonic, use, operand, index)
    elif isinstance(operand, (Register, Component)):
        return _judge_register(mnemonic, use, operand, index)
    elif isinstance(operand, Special) and use.role == "in" and ("special" in kinds or "register" in kinds):
        info = special_info(operand.name)
        if info is not None and info.parts == 1 and "special" in kinds:
            return []
    elif isinstance(operand, NotPredicate):
        if use.type == "pred" and use.role == "in":
            return []
    elif isinstance(operand, Sink) and use.sink and use.lanes == 1:
        return []
    elif isinstance(operand, (Pair, Group)):
        pass
    what = " or ".join(kinds) or "nothing"
    return [Problem("L219", f"operand '{use.name}' of '{mnemonic}' is a {what}; '{operand}' is not", index)]


def _judge_constant(mnemonic: str, use: OperandUse, operand: Immediate, index: int) -> list[Problem]:
    if use.role != "in" or "immediate" not in use.kinds:
        return [Problem("L206", f"operand '{use.name}' of '{mnemonic}' cannot be a constant", index)]
    element = element_of(operand)
    bits = TYPE_BITS.get(use.type, 0)
    if element is None or not bits or fits_exactly(_LETTER[use.type[0]], bits, element):
        return []
    kind = "an integer" if element.literal == "int" else "a floating-point constant"
    return [Problem("L205", f"'{operand}' is {kind}, which '.{use.type}' does not take", index)]


def _judge_register(mnemonic: str, use: OperandUse, operand: Register | Component, index: int) -> list[Problem]:
    if not {"register", "predicate"} & set(use.kinds):
        return [Problem("L219", f"operand '{use.name}' of '{mnemonic}' is not a register, '{operand}' is", index)]
    element = element_of(operand)
    if element is None:
        return [Problem("L202", f"operand '{use.name}' of '{mnemonic}' is one value, '{operand}' is not", index)]
    if not _fits(use, element.kind, element.bits, operand):
        return [Problem("L201", f"'{operand}' is of class .{element.cls}, which '.{use.type}' does not take", index)]
    return []


def _fits(use: OperandUse, kind: str, bits: int, operand: Register | Component) -> bool:
    element = element_of(operand)
    wanted = TYPE_BITS.get(use.type, 0)
    if element is None or not wanted:
        return element is not None
    letter = _LETTER[use.type[0]]
    if use.classes == "wide":
        return fits_memory(letter, wanted, element, use.lanes)
    if letter == "p":
        return kind == "p"
    if use.type in ("f16x2", "bf16x2", "u16x2", "s16x2"):
        return (kind in "bh" and bits == 32) or (use.type[1:] == "16x2" and kind == "i" and bits == 32)
    return fits_exactly(letter, wanted, element, use.lanes)


def _judge_vector(mnemonic: str, use: OperandUse, operand: Vector, index: int) -> list[Problem]:
    if use.lanes == 1 and "vector" not in use.kinds:
        return [Problem("L202", f"operand '{use.name}' of '{mnemonic}' is one value, '{operand}' is a vector", index)]
    if use.lanes > 1 and len(operand.elements) != use.lanes:
        return [Problem("L202", f"operand '{use.name}' has {use.lanes} elements, the vector has "
                                f"{len(operand.elements)}", index)]
    try:
        element = group_type(operand)
    except GroupError as error:
        rule, which = error.args
        return [Problem("L203", f"{GROUP_MESSAGES[rule]}, here '{operand.elements[which]}'", index)]
    bits = TYPE_BITS.get(use.type, 0)
    fits = fits_memory if use.classes == "wide" else fits_exactly
    if bits and not fits(_LETTER[use.type[0]], bits, element, use.lanes):
        return [Problem("L201", f"the elements of '{operand}' do not fit '.{use.type}'", index)]
    return []
