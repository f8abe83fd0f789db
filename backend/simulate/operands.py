"""Operands of parsed instructions as readers and writers of values."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ptxspec.ptx.constant import evaluate
from ptxspec.ptx.module import TYPE_BITS
from ptxspec.ptx.operand import (
    Address,
    Immediate,
    NotPredicate,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

from ..memory import WINDOWS
from . import special
from .access import base_space
from .faults import unsupported
from .state import Active, Batch, uniform
from .values import Lane, Value, parse_type, resize

Reader = Callable[[Batch, Active], Value]
Writer = Callable[[Batch, Active, Value], None]


class OperandLike(Protocol):
    """What the simulator needs to know of a form's operand (:class:`ptxspec.forms.use.OperandUse`)."""

    @property
    def name(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def kinds(self) -> tuple[str, ...]: ...
    @property
    def type(self) -> str: ...
    @property
    def lanes(self) -> int: ...


@dataclass(slots=True)
class Names:
    """Registers and variables of one entry. ``symbols`` maps a variable to (space, address in that space)."""

    symbols: dict[str, tuple[str, int]] = field(default_factory=dict)
    widths: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    _slots: dict[tuple[str, str], int] = field(default_factory=dict)

    def register(self, register: Register) -> int:
        """The number of a register, given on first sight."""
        slot = self._slots.get((register.name, register.cls))
        if slot is None:
            if register.lanes != 1:
                raise unsupported(f"{register.name} is a vector register")
            width = TYPE_BITS.get(register.cls, 0)
            if width not in (1, 8, 16, 32, 64, 128):
                raise unsupported(f"{register.name} has the class {register.cls or 'unknown'}")
            slot = self._slots[register.name, register.cls] = len(self.widths)
            self.widths.append(width)
            self.labels.append(register.name)
        return slot

    def symbol(self, symbol: Symbol) -> tuple[str, int]:
        """Space and address (offset included) of a variable."""
        found = self.symbols.get(symbol.name)
        if found is None or symbol.form == "minus":
            raise unsupported(f"{symbol} has no address that the simulator knows")
        space, address = found
        if symbol.form == "generic":
            return "generic", address + symbol.offset + WINDOWS.get(space, 0)
        if symbol.form == "element":
            return space, address + symbol.offset * max(TYPE_BITS.get(symbol.type, 0) // 8, 1)
        return space, address + symbol.offset


def immediate_bits(text: str, kind: str, type_name: str) -> tuple[int, int]:
    """(bit pattern, width) of a literal where an operand of ``type_name`` is expected."""
    type_ = parse_type(type_name or "b64")
    if kind == "name":
        if text != "WARP_SZ":
            raise unsupported(f"the constant {text} is not known")
        return 32, type_.total
    lower = text.lower()
    if lower[:2] == "0f" and len(lower) == 10 and type_.total == 32:
        return int(lower[2:], 16), 32
    if lower[:2] == "0d" and len(lower) == 18 and type_.total == 64:
        return int(lower[2:], 16), 64
    value = evaluate(text)
    if isinstance(value, int):
        if type_.floating:
            if type_.total not in (32, 64):
                return value & ((1 << type_.total) - 1), type_.total
            value = float(value)
        else:
            return value & ((1 << type_.total) - 1), type_.total
    if type_.total == 32:
        with np.errstate(all="ignore"):
            return int(np.array(value).astype(np.float32).view(np.uint32)), 32
    if type_.total == 64:
        return int(struct.unpack("<Q", struct.pack("<d", value))[0]), 64
    raise unsupported(f"the literal {text} cannot be a {type_name}")


def read(names: Names, operand: Operand, type_name: str) -> Reader:
    """A reader of ``operand``. Registers are read whole; the steps cut values to the width they need."""
    if isinstance(operand, Vector):
        readers = [read(names, element, type_name) for element in operand.elements]
        return lambda batch, active: [lane for reader in readers for lane in reader(batch, active)]
    if isinstance(operand, Register):
        slot = names.register(operand)
        return lambda batch, active: [batch.registers[slot].read(active)]
    if isinstance(operand, NotPredicate):
        slot = names.register(operand.register)

        def inverted(batch: Batch, active: Active) -> Value:
            lane = batch.registers[slot].read(active)
            return [Lane(~lane.bits, lane.undef, lane.origin)]

        return inverted
    if isinstance(operand, Immediate):
        constant = uniform(*immediate_bits(operand.text, operand.kind, type_name))
        return lambda batch, active: [constant]
    if isinstance(operand, Special):
        if not special.known(operand.name):
            raise unsupported(f"the special register {operand.name} is not known")
        name = operand.name

        def read_special(batch: Batch, active: Active) -> Value:
            bits = special.value(batch, name)
            return [Lane(bits if bits.shape[0] == 1 else active.take(bits))]

        return read_special
    if isinstance(operand, Symbol):
        address = uniform(names.symbol(operand)[1], 64)
        return lambda batch, active: [address]
    raise unsupported(f"the operand {operand} cannot be read")


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an output goes: register numbers (None for the sink) and their widths in bits (0 for the sink)."""

    slots: tuple[int | None, ...]
    widths: tuple[int, ...]

    def write(self, batch: Batch, active: Active, value: Sequence[Lane]) -> None:
        """Set the registers; one lane may serve them all."""
        for k, slot in enumerate(self.slots):
            if slot is not None:
                batch.registers[slot].write(active, value[k if len(value) > 1 else 0])


def destination(names: Names, operand: Operand) -> Destination:
    """The registers of an output operand."""
    elements: Sequence[Operand] = operand.elements if isinstance(operand, Vector) else (operand,)
    slots: list[int | None] = []
    widths: list[int] = []
    for element in elements:
        if isinstance(element, Sink):
            slots.append(None)
            widths.append(0)
        elif isinstance(element, Register):
            slot = names.register(element)
            slots.append(slot)
            widths.append(names.widths[slot])
        else:
            raise unsupported(f"the operand {operand} cannot be written")
    return Destination(tuple(slots), tuple(widths))


def sources(names: Names, operand: Operand) -> set[int]:
    """Numbers of the registers that reading ``operand`` looks at."""
    if isinstance(operand, Vector):
        return {slot for element in operand.elements for slot in sources(names, element)}
    if isinstance(operand, Register):
        return {names.register(operand)}
    if isinstance(operand, NotPredicate):
        return {names.register(operand.register)}
    return set()


def address(names: Names, operand: Operand, space: str) -> Reader:
    """A reader of the addresses of a memory operand, as addresses of ``space`` (uint64)."""
    if not isinstance(operand, Address):
        raise unsupported(f"{operand} is no address")
    base, offset = operand.base, operand.offset
    if isinstance(base, Symbol):
        own, where = names.symbol(base)
        if base_space(space) == "generic":
            where += WINDOWS.get(own, 0)
        elif base_space(space) != base_space(own):
            raise unsupported(f"{base} lies in {own or 'unknown'} memory and is accessed as {space} memory")
        constant = uniform(where + offset, 64)
        return lambda batch, active: [constant]
    if isinstance(base, Immediate):
        constant = uniform(int(evaluate(base.text)) + offset, 64)
        return lambda batch, active: [constant]
    if not isinstance(base, Register):
        raise unsupported(f"the address {operand} cannot be read")
    slot = names.register(base)
    if names.widths[slot] not in (32, 64):
        raise unsupported(f"the address {operand} has a register of {names.widths[slot]} bits")
    # Addresses held in 32 bits are added to in 32 bits.
    width = names.widths[slot]
    add = np.uint64(offset & ((1 << 64) - 1)) if width == 64 else np.uint32(offset & 0xFFFFFFFF)

    def register_address(batch: Batch, active: Active) -> Value:
        lane = batch.registers[slot].read(active)
        bits = lane.bits + add if offset else lane.bits
        return [Lane(resize(bits, 64), lane.undef, lane.origin)]

    return register_address
