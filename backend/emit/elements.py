"""Element reads and writes of scalar code."""

from __future__ import annotations

from ptxspec.lang.ir import Load, Store, View
from ptxspec.ptx.operand import Register
from ptxspec.scalar.expr import BITS, BOOL, Const, Op, Poly, is_signed

from .addresses import Addresses
from .analysis import Analysis
from .context import Context, integer
from .scalars import Scalars
from .slots import Slots
from .types import VALUE_CLASS, memory_type, narrow, slot_class


class Elements:
    """Writes the instructions of :class:`Load` and :class:`Store`."""

    def __init__(self, context: Context, scalars: Scalars, addresses: Addresses, slots: Slots,
                 analysis: Analysis) -> None:
        self.context = context
        self.scalars = scalars
        self.addresses = addresses
        self.slots = slots
        self.analysis = analysis

    def in_registers(self, view: View) -> bool:
        """True where the tensor's elements are registers."""
        return view.buffer.scope == "local" and view.buffer not in self.analysis.addressable

    def load_memory(self, load: Load, runtime: Poly, constant: int, fixed: Poly) -> None:
        """``result = memory[...]``."""
        address = self.addresses.operand(load.view.buffer, runtime, constant, fixed)
        dtype = load.view.dtype
        cls = "b32" if dtype == BOOL else VALUE_CLASS[dtype]
        register = self.context.registers.fresh(cls)
        self.context.instr(f"ld.{load.view.buffer.scope}.{memory_type(dtype)}", (register, address))
        if dtype == BOOL:
            register = self._nonzero(register, "u32")
        self.context.define(load.result, register)

    def load_register(self, load: Load, slot: Register, copy: bool) -> None:
        """``result = registers[...]``: ``slot`` itself where it does not change before the value's last use."""
        context, dtype = self.context, load.view.dtype
        if dtype == BOOL:
            value = self._nonzero(slot, "u16")
        elif narrow(dtype):
            value = context.registers.fresh("b32")
            sign = "s" if is_signed(dtype) else "u"
            context.instr(f"cvt.{sign}32.{sign}{BITS[dtype]}", (value, slot))
        elif copy:
            value = context.registers.fresh(slot.cls)
            context.instr(f"mov.{slot.cls}", (value, slot))
        else:
            value = slot
        context.define(load.result, value)

    def _nonzero(self, register: Register, kind: str) -> Register:
        predicate = self.context.registers.fresh("pred")
        self.context.instr(f"setp.ne.{kind}", (predicate, register, integer(0)))
        return predicate

    def store_memory(self, store: Store, runtime: Poly, constant: int, fixed: Poly) -> None:
        """``memory[...] = value``."""
        bits = BITS[store.view.dtype]
        value = self.scalars.as_bits(store.value, bits)
        address = self.addresses.operand(store.view.buffer, runtime, constant, fixed)
        self.context.instr(f"st.{store.view.buffer.scope}.b{bits}", (address, value))

    def store_register(self, store: Store, byte: int) -> None:
        """``registers[...] = value``, computed straight into the slot where that is possible."""
        context, buffer, bits = self.context, store.view.buffer, BITS[store.view.dtype]
        if buffer in self.analysis.forwarded:
            value = context.known(store.value)
            self.slots.hand(buffer, byte, self.scalars.slot_bits(value, bits, slot_class(bits)))
            return
        parts = self.slots.span(buffer, byte, bits)
        value = context.known(store.value)
        cls = slot_class(bits)
        if len(parts) > 1:
            self.slots.unpack(self.scalars.slot_bits(value, bits, cls), parts, self.slots.slot_bits[buffer])
            return
        slot = parts[0]
        if isinstance(value, Const) and value.dtype != BOOL:
            context.instr(f"mov.{cls}", (slot, self.scalars.literal_bits(value)))
        elif (isinstance(value, Op) and value.dtype == store.view.dtype and VALUE_CLASS[value.dtype] == cls
              and value.name != "cast" and context.scope.find(value) is None):
            self.scalars.write(value, slot)
        else:
            context.instr(f"mov.{cls}", (slot, self.scalars.slot_bits(value, bits, cls)))


