"""Operand rules of loads and stores: data, address, cache policy.

PTX manual, "ld", "st", "ldu", "Operand Size Exceeding Instruction-Type Size", "Addresses as Operands". Where
ptxas takes more than the manual, the problem is a warning.
"""

from __future__ import annotations

from ptxspec.ptx.element import Element, GroupError, element_of, fits_exactly, fits_memory, group_type, sum_fits
from ptxspec.ptx.module import TYPE_BITS
from ptxspec.ptx.operand import (
    Address,
    Component,
    Immediate,
    Label,
    NotPredicate,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from ptxspec.ptx.problem import Context, Problem, Shape
from ptxspec.ptx.special import special_info

GROUP_MESSAGES = {
    "sinks": "a vector needs at least one element that is not '_'",
    "width": "the elements of a vector must have one width",
    "mixed": "the elements of a vector must have one type",
    "value": "an element of a vector must be a register or a constant",
    "component": "a component such as '.x' cannot stand beside a constant in a vector",
}
_GROUP_CODES = {"sinks": "L204", "width": "L203", "mixed": "L203", "value": "L206", "component": "L203"}
# The manual has .unified on loads alone.
_UNIFIED = frozenset({"ld", "ldu", "atom", "createpolicy"})
_SYMBOL_SPACES = {
    "": frozenset({"global", "shared", "local"}), "global": frozenset({"global"}), "shared": frozenset({"shared"}),
    "shared::cta": frozenset({"shared"}), "shared::cluster": frozenset({"shared"}), "local": frozenset({"local"}),
    "const": frozenset({"const"}), "param": frozenset({"param"}), "param::entry": frozenset({"param"}),
    "param::func": frozenset({"param"}),
}


def judge_memory(
    mnemonic: str, shape: Shape, operands: tuple[Operand, ...], guarded: bool, context: Context
) -> list[Problem]:
    """Everything wrong with the operands of a ``ld``, ``ldu`` or ``st`` whose opcode is fine."""
    store = mnemonic == "st"
    wanted = 3 if shape.hint else 2
    if len(operands) != wanted:
        if len(operands) == 3:
            return [Problem("L200", f"a third operand needs '.L2::cache_hint' on '{mnemonic}'", 2)]
        what = "an address, a value and a cache policy" if store and shape.hint else (
            "an address and a value" if store else (
                "a destination, an address and a cache policy" if shape.hint else "a destination and an address"))
        return [Problem("L200", f"'{mnemonic}' takes {what}, {len(operands)} operands are written")]
    at, data = (0, 1) if store else (1, 0)
    found = judge_address(mnemonic, shape, operands[at], at, guarded, context)
    found += _judge_data(mnemonic, shape, operands[data], data, store)
    if shape.hint:
        found += _judge_policy(operands[2])
    return found


def _judge_data(mnemonic: str, shape: Shape, data: Operand, index: int, store: bool) -> list[Problem]:
    bits = TYPE_BITS[shape.type]
    found: list[Problem] = []
    if isinstance(data, Vector):
        if len(data.elements) != shape.lanes:
            return [Problem("L202", f"'{mnemonic}' moves {shape.lanes} elements, the vector has {len(data.elements)}",
                            index)]
        sinks = sum(isinstance(e, Sink) for e in data.elements)
        if store and 0 < sinks < len(data.elements) and shape.lanes * bits <= 128:
            return [Problem("L204", "'_' is a source element of 256-bit stores only", index)]
        literal = next((e for e in data.elements if isinstance(e, Immediate)), None)
        if not store and literal is not None:
            return [Problem("L206", f"'{literal}' is a constant and cannot be loaded into", index)]
        try:
            element = group_type(data)
        except GroupError as error:
            rule, which = error.args
            blamed = data.elements[which]
            return [Problem(_GROUP_CODES[rule], f"{GROUP_MESSAGES[rule]}, here '{blamed}'", index)]
        if any(isinstance(e, Special) for e in data.elements):
            found.append(Problem("L232", "a special register in a vector is not in the manual", index, False))
        if element.literal == "int" and element.mixed and not fits_memory(
                shape.kind, bits, Element("b", bits, f"b{bits}"), shape.lanes):
            return found
    elif isinstance(data, Register) and data.lanes > 1:
        if data.lanes != shape.lanes:
            return [Problem("L202", f"'{mnemonic}' moves {shape.lanes} elements, '{data}' has {data.lanes}", index)]
        made = element_of(Register(data.name, data.cls))
        assert made is not None
        element = made
    elif shape.lanes > 1 and isinstance(data, (Register, Component, Immediate, Special, Symbol, NotPredicate)):
        return [Problem("L202", f"'{mnemonic}' moves {shape.lanes} elements, '{data}' is one value", index)]
    else:
        scalar = _scalar(mnemonic, data, index, store, shape.kind)
        if isinstance(scalar, Problem):
            return [scalar]
        if isinstance(scalar, list):
            return scalar
        element = scalar
    if fits_memory(shape.kind, bits, element, 2 if isinstance(data, Vector) else shape.lanes):
        return found
    return [_misfit(mnemonic, shape, data, element, index)]


def _misfit(mnemonic: str, shape: Shape, data: Operand, element: Element, index: int) -> Problem:
    if element.literal:
        kind = "an integer" if element.literal == "int" else "a floating-point constant"
        return Problem("L205", f"'{data}' is {kind}, which '.{shape.type}' does not take", index)
    what = f"'{mnemonic}' with '.{shape.type}'"
    return Problem("L201", f"'{data}' is of class .{element.cls}, which {what} does not take", index)


def _scalar(
    mnemonic: str, data: Operand, index: int, store: bool, kind: str
) -> Element | Problem | list[Problem]:
    if isinstance(data, Component) and data.register.lanes == 1:
        return Problem("L219", f"'{data}' selects a part of a register, which only video instructions do", index)
    if isinstance(data, (Register, Component)) and (element := element_of(data)) is not None:
        return element
    if isinstance(data, Special):
        return Problem("L215", f"'{mnemonic}' takes no special register such as '{data}'", index)
    if not store:
        if isinstance(data, Sink):
            return Problem("L204", "'_' cannot be the whole destination of a load", index)
        return Problem("L206", f"the destination of '{mnemonic}' must be a register, '{data}' is not", index)
    if isinstance(data, Immediate):
        made = element_of(data)
        assert made is not None
        return made
    if isinstance(data, Symbol):
        if data.kind in ("function", "entry"):
            if data.form:
                return Problem("L233", f"nothing can be added to the address of the function '{data.name}'", index)
            return [Problem("L233", f"storing the address of '{data.name}' itself is not in the manual", index, False)]
        if data.kind in ("register", "label"):
            refused = not sum_fits(data, kind)
            return [Problem("L234", f"'{data}' outside an address is not in the manual", index, refused)]
        if data.form == "plus":
            return Element("i", 64, "s64", "int")
        return Problem("L206", f"'{data}' is a variable; take its address with 'mov' first", index)
    return Problem("L206", f"the value of a store must be a register or a constant, '{data}' is not", index)


def _judge_policy(policy: Operand) -> list[Problem]:
    element: Element | None = None
    if isinstance(policy, (Register, Component, Immediate)):
        element = element_of(policy)
    if isinstance(policy, Symbol) and policy.kind in ("register", "label"):
        refused = not sum_fits(policy, "u", 64)
        return [Problem("L234", f"'{policy}' outside an address is not in the manual", 2, refused)]
    if element is not None and fits_exactly("u", 64, element) and element.kind != "h":
        return []
    return [Problem("L216", f"a cache policy is a 64-bit integer register, '{policy}' is not", 2)]


def judge_address(
    mnemonic: str, shape: Shape, operand: Operand, index: int, guarded: bool, context: Context
) -> list[Problem]:
    """The address operand: what may stand in the brackets, state spaces, ``.unified``, parameters."""
    if not isinstance(operand, Address):
        return [Problem("L207", f"'{mnemonic}' needs an address in brackets, '{operand}' is not", index)]
    base = operand.base
    found: list[Problem] = []
    if isinstance(base, Immediate):
        if base.kind == "float":
            return [Problem("L207", f"an address must be an integer, '{base}' is not", index)]
        if shape.space != "local":
            return [Problem("L208", "only '.local' memory is addressed by a constant", index)]
    elif isinstance(base, Label):
        return [Problem("L207", f"'{base}' is not a variable and cannot be an address", index)]
    elif isinstance(base, Symbol):
        found += _judge_symbol(mnemonic, shape, base, index, guarded)
    elif isinstance(base, (Register, Special)):
        found += _judge_base(shape, base, index, guarded, context)
    if operand.unified and not any(p.error for p in found):
        declared = isinstance(base, Register) or (isinstance(base, Symbol) and base.unified)
        if mnemonic not in _UNIFIED or shape.space not in ("", "global") or not declared:
            found.append(Problem("L210", "'.unified' is for loads from global memory through a register", index))
    return found + _judge_parameter_space(shape, base, index, context)


def _judge_parameter_space(shape: Shape, base: Operand, index: int, context: Context) -> list[Problem]:
    """Releases after 13.0 hold ``::entry`` and ``::func`` against the variable and the kind of function."""
    refused = context.toolkit > (13, 0)
    argument = isinstance(base, Symbol) and base.kind == "argument"
    if shape.space == "param::func" and context.function == "entry" and not argument:
        return [Problem("L214", "an entry's parameters are not '.param::func'", index, refused)]
    if shape.space == "param::entry" and argument:
        return [Problem("L214", f"'{base}' is a call's variable, not a parameter of an entry", index, refused)]
    return []


def _judge_symbol(mnemonic: str, shape: Shape, base: Symbol, index: int, guarded: bool) -> list[Problem]:
    if base.kind in ("function", "entry"):
        return [Problem("L207", f"'{base.name}' is a function and cannot be an address", index)]
    if base.space not in _SYMBOL_SPACES.get(shape.space, frozenset()):
        named = f"'.{shape.space}'" if shape.space else "generic"
        return [Problem("L209", f"'{base.name}' lies in '.{base.space}', the address is {named}", index)]
    if mnemonic == "st" and base.kind == "parameter":
        return [Problem("L212", f"'{base.name}' is an input parameter and cannot be written", index)]
    if mnemonic == "ld" and base.kind == "result":
        return [Problem("L212", f"'{base.name}' is a return parameter and cannot be read", index)]
    if guarded and base.kind == "argument":
        return [Problem("L213", f"'{mnemonic}.param' of a call's variable '{base.name}' cannot be predicated", index)]
    return []


def _judge_base(
    shape: Shape, base: Register | Special, index: int, guarded: bool, context: Context
) -> list[Problem]:
    if isinstance(base, Special):
        info = special_info(base.name)
        if info is None or info.parts != 1 or info.cls == "pred":
            return [Problem("L207", f"'{base}' cannot be an address", index)]
        if guarded and shape.space.startswith("param"):
            return [Problem("L213", f"parameter memory at '{base}' cannot be accessed under a predicate", index)]
        return [Problem("L232", f"the special register '{base}' as an address is not in the manual", index, False)]
    cls = base.cls
    if base.lanes > 1 or cls[:1] not in ("b", "u", "s") or cls in ("b128", "bf16", "bf16x2"):
        return [Problem("L207", f"'{base}' of class .{cls or 'unknown'} cannot be an address", index)]
    bits = TYPE_BITS[cls]
    if bits < 32:
        return [Problem("L235", f"'{base}' has {bits} bits, fewer than an address", index, False)]
    if bits == 32 and context.address_bits == 64 and shape.space in ("", "global"):
        where = "a generic" if not shape.space else "a global"
        message = f"'{base}' has 32 bits, {where} address of this module has 64"
        return [Problem("L218", message, index, context.refuses_narrow)]
    return []
