"""What one value operand is to the type rules, and how a brace group gets its one type.

The assembler compares neighbours in a brace group, then gives the whole group a type: that of its elements where all
agree, else untyped bits. The rules here restate what ptxas 12.9 to 13.5 were seen to do; the manual says only that
"a vector's elements have one type".
"""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.ptx.module import TYPE_BITS
from ptxspec.ptx.operand import Component, Immediate, Operand, Register, Sink, Special, Symbol, Vector
from ptxspec.ptx.special import special_info

_KINDS = {"pred": "p", "f16x2": "h", "bf16x2": "h"}


@dataclass(frozen=True, slots=True)
class Element:
    """``kind`` is ``b`` (bits), ``i`` (integer), ``f`` (float), ``h`` (packed half) or ``p`` (predicate).

    ``literal`` is empty for a register, else ``int``, ``f32`` (written 0f...) or ``f64``; ``component`` marks ``v.x``;
    ``mixed`` marks the type of a group whose elements differ; ``special`` names a special register.
    """

    kind: str
    bits: int
    cls: str
    literal: str = ""
    component: bool = False
    mixed: bool = False
    special: str = ""


def register_element(cls: str, component: bool = False) -> Element:
    """The element that a register of class ``cls`` is. A predicate counts as 32 bits wide in a group."""
    kind = _KINDS.get(cls) or {"b": "b", "u": "i", "s": "i", "f": "f", "t": "f", "e": "b"}[cls[0]]
    if cls == "bf16":
        kind = "f"
    return Element(kind, 32 if kind == "p" else TYPE_BITS[cls], cls, "", component)


def literal_element(immediate: Immediate) -> Element:
    """The element that a constant is: integers are s64, ``0f...`` is f32, other floats are f64."""
    if immediate.kind != "float":
        return Element("i", 64, "s64", "int")
    single = immediate.text.lstrip("-+( ")[:2] in ("0f", "0F")
    return Element("f", 32, "f32", "f32") if single else Element("f", 64, "f64", "f64")


def element_of(operand: Operand) -> Element | None:
    """The element of a scalar value operand, None for what is not a value (sink, symbol, label, address...)."""
    if isinstance(operand, Register):
        return register_element(operand.cls) if operand.cls in TYPE_BITS and operand.lanes == 1 else None
    if isinstance(operand, Immediate):
        return literal_element(operand)
    if isinstance(operand, Component):
        return register_element(operand.register.cls, True) if operand.register.cls in TYPE_BITS else None
    if isinstance(operand, Special):
        info = special_info(operand.name)
        if info is None or info.parts != 1:
            return None
        made = register_element(info.cls, "." in operand.name)
        return Element(made.kind, made.bits, made.cls, "", made.component, False, operand.name)
    return None


def sum_fits(symbol: Symbol, kind: str, bits: int = 0) -> bool:
    """May the odd ``register+4`` outside an address be an operand of this kind (first letter of the type)?

    The assembler looks at the kind of the register's class and not at its width, unless ``bits`` says which one an
    integer must have. A label plus a constant is nothing.
    """
    if symbol.kind != "register" or symbol.type not in TYPE_BITS:
        return symbol.kind != "label"
    element = register_element(symbol.type)
    if bits:
        return element.kind in "bi" and element.bits == bits
    taken = {"p": "p", "b": "bifh", "u": "bih", "s": "bih", "f": "bf"}
    return element.kind in taken[kind]


def neighbours_fit(left: Element, right: Element) -> bool:
    """May the two stand side by side in a group? Bits go with everything, other kinds with themselves."""
    return left.kind == right.kind or left.kind == "b" or right.kind == "b"


class GroupError(Exception):
    """A brace group has no type; ``args`` are the rule (``sinks``, ``width``, ``mixed``, ``value``, ``component``) and
    the index of the element to blame."""


def group_type(group: Vector) -> Element:
    """The one type of a brace group (sinks left out); raises :class:`GroupError`."""
    elements: list[tuple[int, Element]] = []
    for index, operand in enumerate(group.elements):
        if isinstance(operand, Sink):
            continue
        element = element_of(operand)
        if element is None:
            raise GroupError("value", index)
        elements.append((index, element))
    if not elements:
        raise GroupError("sinks", 0)
    first = elements[0][1]
    previous = first
    last_bits = first.bits
    for index, element in elements[1:]:
        if not neighbours_fit(previous, element):
            raise GroupError("mixed", index)
        if not element.literal:
            if not first.literal and element.bits != first.bits:
                raise GroupError("width", index)
        if element.bits != first.bits:
            last_bits = element.bits  # behind a floating-point constant the last other width counts
        previous = element
    literals = any(e.literal for _, e in elements)
    if literals and any(e.component for _, e in elements):
        raise GroupError("component", next(i for i, e in elements if e.component))
    if all(e.cls == first.cls for _, e in elements):
        return first
    if first.literal == "int":
        return Element("b", 64, "b64", "int", mixed=True)
    if first.literal:
        return Element("b", last_bits, f"b{last_bits}", first.literal, mixed=True)
    return Element("b", first.bits, f"b{first.bits}", "", mixed=True)


def fits_memory(kind: str, bits: int, element: Element, lanes: int) -> bool:
    """May a register (or group) of this type hold a loaded or stored ``kind``/``bits`` value? Wider registers may.

    ``kind`` is the first letter of the instruction's type (``b``, ``u``, ``s``, ``f``).
    """
    if element.kind == "p":
        return False
    if element.literal:
        return _constant_fits(kind, bits, lanes, element)
    if bits == 128:
        return element.bits == 128 and element.kind == "b"
    if kind == "b":
        return element.bits >= bits
    if kind in "us":
        return element.kind in "bih" and element.bits >= bits
    if element.kind == "f":
        return element.bits == bits
    if element.kind == "b":
        return element.bits >= bits
    return lanes > 1 and element.kind == "i" and element.bits == bits


def fits_exactly(kind: str, bits: int, element: Element, lanes: int = 1) -> bool:
    """May a register (or group) of this type be an operand of exactly this type (``mov``, arithmetic)?"""
    if element.literal:
        return _constant_fits(kind, bits, lanes, element)
    if kind == "p":
        return element.kind in "ph"
    if element.kind == "p" or element.bits != bits:
        return False
    if kind == "b":
        return True
    if kind in "us":
        return element.kind in "bih"
    return element.kind in "bf" or (lanes > 1 and element.kind == "i")


def _constant_fits(kind: str, bits: int, lanes: int, element: Element) -> bool:
    if element.literal == "int":
        # A group that begins with an integer and goes on with registers counts as 64 untyped bits; two integers
        # count as s64, which a vector of f64 takes as it takes s64 registers.
        return kind != "f" or element.mixed or (lanes > 1 and bits == 64)
    if kind == "f":
        return True
    if not element.mixed:
        return kind == "b" and element.bits == bits
    return element.bits == bits if kind == "b" else kind != "p" and element.bits >= bits
