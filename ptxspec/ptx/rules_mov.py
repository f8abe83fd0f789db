"""Operand rules of ``mov``: copies, constants, addresses, special registers, packing and unpacking.

PTX manual, "mov". Widths are exact here, unlike in loads and stores.
"""

from __future__ import annotations

from dataclasses import replace

from ptxspec.forms.defects import tolerated
from ptxspec.ptx.element import Element, GroupError, element_of, fits_exactly, group_type, sum_fits
from ptxspec.ptx.module import TYPE_BITS
from ptxspec.ptx.operand import (
    Component,
    Immediate,
    Negated,
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
from ptxspec.ptx.rules_memory import GROUP_MESSAGES
from ptxspec.ptx.special import special_info

_GROUP_CODES = {"sinks": "L204", "width": "L203", "mixed": "L203", "value": "L206", "component": "L203"}


def judge_mov(shape: Shape, operands: tuple[Operand, ...], context: Context) -> list[Problem]:
    """Everything wrong with the operands of a ``mov`` whose opcode is fine."""
    if len(operands) != 2:
        return [Problem("L200", f"'mov' takes a destination and a source, {len(operands)} operands are written")]
    target, source = operands
    if shape.lanes > 1:
        return _judge_vector(shape, target, 0, context) + _judge_vector(shape, source, 1, context)
    grouped = [_is_group(o) for o in operands]
    if all(grouped):
        return [Problem("L202", "'mov' between two vectors needs '.v2' or '.v4'")]
    if shape.type == "pred" and any(isinstance(o, Vector) for o in operands):
        return [Problem("L202", "'mov.pred' takes no vector", grouped.index(True))]
    return _judge_target(shape, target) + _judge_source(shape, source, context)


def _is_group(operand: Operand) -> bool:
    if isinstance(operand, Vector):
        return True
    if isinstance(operand, Special):
        info = special_info(operand.name)
        return info is not None and info.parts > 1
    return isinstance(operand, Register) and operand.lanes > 1


def _group(operand: Operand) -> tuple[int, Element] | GroupError:
    """Lanes and type of a brace group, a vector register or a vector special register."""
    if isinstance(operand, Vector):
        try:
            return len(operand.elements), group_type(operand)
        except GroupError as error:
            return error
    if isinstance(operand, Register):
        made = element_of(Register(operand.name, operand.cls))
        return (operand.lanes, made) if made is not None else GroupError("value", 0)
    return 4, Element("b", 32, "b32", "", False, False, str(operand))


def _group_problem(error: GroupError, operand: Operand, index: int) -> Problem:
    rule, which = error.args
    blamed = operand.elements[which] if isinstance(operand, Vector) else operand
    return Problem(_GROUP_CODES[rule], f"{GROUP_MESSAGES[rule]}, here '{blamed}'", index)


def _judge_target(shape: Shape, target: Operand) -> list[Problem]:
    bits = TYPE_BITS[shape.type]
    if isinstance(target, Vector) and any(isinstance(e, Immediate) for e in target.elements):
        return [Problem("L206", "a constant cannot be a destination", 0)]
    if isinstance(target, Special):
        return [Problem("L206", f"'{target}' is a special register and cannot be written", 0)]
    if _is_group(target):
        return _judge_pack(shape, target, 0)
    if isinstance(target, Sink):
        return [Problem("L204", "'_' cannot be the destination of 'mov'", 0)]
    if isinstance(target, Pair):
        return [Problem("L219", "'mov' has a single destination", 0)]
    if isinstance(target, Component) and target.register.lanes == 1:
        return [Problem("L219", f"'{target}' selects a part of a register, which only video instructions do", 0)]
    element = element_of(target) if isinstance(target, (Register, Component)) else None
    if element is None:
        return [Problem("L206", f"the destination of 'mov' must be a register, '{target}' is not", 0)]
    if fits_exactly(shape.kind, bits, element):
        return _odd_predicate(shape, element, target, 0)
    return [Problem("L201", f"'{target}' is of class .{element.cls}, which 'mov.{shape.type}' does not take", 0)]


def _odd_predicate(shape: Shape, element: Element, operand: Operand, index: int) -> list[Problem]:
    if shape.type == "pred" and element.kind == "h":
        return [Problem("L236", f"'{operand}' is no predicate; the assembler takes it by mistake", index, False)]
    return []


def _judge_source(shape: Shape, source: Operand, context: Context) -> list[Problem]:
    bits = TYPE_BITS[shape.type]
    if isinstance(source, Special):
        special = _judge_special(shape, source, bits)
        if special is not None:
            return special
    if _is_group(source):
        if isinstance(source, Vector) and any(isinstance(e, Sink) for e in source.elements):
            if not all(isinstance(e, Sink) for e in source.elements):
                return _judge_sinks(shape, context) + _judge_pack(shape, source, 1)
        return _judge_pack(shape, source, 1)
    if isinstance(source, NotPredicate):
        if shape.type == "pred" and source.register.cls == "pred":
            return []
        return [Problem("L219", "only a predicate can be negated with '!'", 1)]
    if isinstance(source, Negated):
        return [Problem("L219", "'mov' does not negate its source", 1)]
    if isinstance(source, Symbol):
        return _judge_symbol(shape, source, context)
    if isinstance(source, Component) and source.register.lanes == 1:
        return [Problem("L219", f"'{source}' selects a part of a register, which only video instructions do", 1)]
    element = element_of(source) if isinstance(source, (Register, Component, Immediate)) else None
    if element is None:
        return [Problem("L206", f"'mov' cannot copy '{source}'", 1)]
    if fits_exactly(shape.kind, bits, element):
        return _odd_predicate(shape, element, source, 1)
    if element.literal:
        kind = "an integer" if element.literal == "int" else "a floating-point constant"
        return [Problem("L205", f"'{source}' is {kind}, which 'mov.{shape.type}' does not take", 1)]
    return [Problem("L201", f"'{source}' is of class .{element.cls}, which 'mov.{shape.type}' does not take", 1)]


def _judge_sinks(shape: Shape, context: Context) -> list[Problem]:
    """``_`` among the elements of a source: nonsense that some releases take for ``.b32``."""
    taken = shape.type == "b32" and tolerated("mov", "sink-as-source", context.toolkit, context.sm) is not None
    return [Problem("L204", "'_' cannot be a source", 1, not taken)]


def _judge_special(shape: Shape, source: Special, bits: int) -> list[Problem] | None:
    """The verdict on a scalar special register; None for a vector one, which packs like a vector."""
    info = special_info(source.name)
    if info is None or info.parts > 1:
        return None
    if info.cls == "pred":
        fits = shape.type == "pred"
    else:
        fits = shape.kind in "bus" and bits in info.widths
    if fits:
        return []
    return [Problem("L215", f"'{source}' is not read as '.{shape.type}'", 1)]


def _judge_symbol(shape: Shape, source: Symbol, context: Context) -> list[Problem]:
    if source.kind in ("function", "entry"):
        if shape.type in ("b32", "u32", "s32", "b64", "u64", "s64") and source.form == "":
            return []
        if source.form:
            return [Problem("L233", f"nothing can be added to the address of the function '{source.name}'", 1)]
        return [Problem("L233", f"the address of '{source.name}' is not of type '.{shape.type}'", 1, False)]
    if source.kind == "argument" and source.form == "":
        return [Problem("L217", f"'{source.name}' is a call's parameter; its address cannot be taken", 1)]
    if source.kind in ("register", "label") or source.kind == "argument":
        refused = source.kind != "argument" and not sum_fits(source, shape.kind)
        return [Problem("L234", f"'{source}' outside an address is not in the manual", 1, refused)]
    if shape.kind not in "bus":
        return [Problem("L205", f"an address is not of type '.{shape.type}'", 1)]
    narrow = TYPE_BITS[shape.type] == 32 and context.address_bits == 64
    if narrow and source.space == "global" and source.form != "plus":
        message = f"the address of '{source.name}' has 64 bits in this module"
        return [Problem("L218", message, 1, context.refuses_narrow)]
    if TYPE_BITS[shape.type] not in (32, 64):
        return [Problem("L237", f"an address does not have {TYPE_BITS[shape.type]} bits", 1, False)]
    return []


def _judge_pack(shape: Shape, operand: Operand, index: int) -> list[Problem]:
    """A vector packed into, or unpacked from, one untyped value."""
    if shape.kind != "b":
        return [Problem("L202", f"packing and unpacking take an untyped-bits type, not '.{shape.type}'", index)]
    made = _group(operand)
    if isinstance(made, GroupError):
        return [_group_problem(made, operand, index)]
    lanes, element = made
    bits = TYPE_BITS[shape.type]
    if lanes not in (1, 2, 4):
        return [Problem("L202", f"a vector of {lanes} elements cannot be packed", index)]
    if element.bits * lanes != bits and element.literal != "int":
        return [Problem("L202", f"{lanes} elements of {element.bits} bits are not {bits} bits", index)]
    if not fits_exactly("b", bits // lanes, element, lanes):
        return [Problem("L201", f"'{operand}' cannot be packed", index)]
    return []


def _judge_vector(shape: Shape, operand: Operand, index: int, context: Context) -> list[Problem]:
    """One side of ``mov.v2`` or ``mov.v4``."""
    bits = TYPE_BITS[shape.type]
    if index == 0:
        if isinstance(operand, Special):
            return [Problem("L206", f"'{operand}' is a special register and cannot be written", 0)]
        if isinstance(operand, Vector) and any(isinstance(e, Immediate) for e in operand.elements):
            return [Problem("L206", "a constant cannot be a destination", 0)]
    if not _is_group(operand):
        label = isinstance(operand, Symbol) and operand.kind == "label"
        if index == 1 and not label and not isinstance(operand, (NotPredicate, Negated, Pair, Sink)):
            alone = _judge_source(replace(shape, lanes=1), operand, context)
            if not any(p.error for p in alone):
                return [*alone, Problem("L238", "one value for all lanes of a vector is not in the manual", 1, False)]
        return [Problem("L202", f"'mov.v{shape.lanes}' needs a vector, '{operand}' is not", index)]
    made = _group(operand)
    if isinstance(made, GroupError):
        return [_group_problem(made, operand, index)]
    lanes, element = made
    if lanes != shape.lanes:
        return [Problem("L202", f"'mov.v{shape.lanes}' needs {shape.lanes} elements, '{operand}' has {lanes}", index)]
    if isinstance(operand, Special):
        info = special_info(operand.name)
        if info is None or shape.kind not in "bus" or bits not in info.widths:
            return [Problem("L215", f"'{operand}' is not read as '.{shape.type}'", index)]
        return []
    if index and isinstance(operand, Vector) and any(isinstance(e, Sink) for e in operand.elements):
        sinks = _judge_sinks(shape, context)
        if sinks[0].error:
            return sinks
    if fits_exactly(shape.kind, bits, element, lanes):
        return [Problem("L239", "'mov' between vectors is not in the manual", index, False)] if index else []
    return [Problem("L201", f"'{operand}' does not fit 'mov.v{lanes}.{shape.type}'", index)]
