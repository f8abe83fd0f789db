"""Register tensors: each slot of a ``local`` tensor is a virtual register.

All accesses of a tensor name slots of one width, the narrowest that any access uses; a wider access packs and unpacks
(PTX ``mov`` with a brace list, which costs nothing where the registers end up adjacent).
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.diagnostics import Note
from ptxspec.lang.ir import Buffer
from ptxspec.ptx.operand import Guard, Register, Vector

from .context import Context, integer
from .pending import Pending
from .types import slot_class


class Slots:
    """Slot registers of every register tensor, made on first use."""

    def __init__(self, context: Context, slot_bits: dict[Buffer, int], pending: Pending) -> None:
        self.context = context
        self.pending = pending
        self.slot_bits = slot_bits
        self._registers: dict[Buffer, dict[int, Register]] = {}

    def slot(self, buffer: Buffer, number: int) -> Register:
        """The register of slot ``number``, counted in slot widths."""
        held = self._registers.get(buffer)
        if held is None:
            held = self._registers[buffer] = {}
        found = held.get(number)
        if found is None:
            found = held[number] = self.context.registers.fresh(slot_class(self.slot_bits[buffer]))
        else:
            self.pending.need(found)
        return found

    def hand(self, buffer: Buffer, byte: int, register: Register) -> None:
        """The slot at ``byte`` is ``register`` from here on (see :mod:`.forwarding`)."""
        self._registers.setdefault(buffer, {})[byte * 8 // self.slot_bits[buffer]] = register

    def span(self, buffer: Buffer, byte: int, bits: int) -> list[Register]:
        """The slots behind ``bits`` bits at ``byte``, lowest first."""
        unit = self.slot_bits[buffer] // 8
        first, rest = divmod(byte, unit)
        if rest:
            raise self.context.error(
                "E102", f"a {bits}-bit access at byte {byte} of register tensor `{buffer.name}` starts inside a slot",
                Note("fact", f"its registers hold {unit * 8} bits each"),
                Note("help", "start the view at a multiple of that width"))
        if bits <= unit * 8:
            return [self.slot(buffer, first)]
        return [self.slot(buffer, first + k) for k in range(bits // (unit * 8))]

    def read(self, buffer: Buffer, byte: int, bits: int) -> Register:
        """``bits`` bits at ``byte`` as one register: the slot itself where it has that width."""
        return self.pack(self.span(buffer, byte, bits), self.slot_bits[buffer])

    def pack(self, parts: Sequence[Register], unit: int) -> Register:
        """Join ``parts`` of ``unit`` bits, lowest first."""
        if len(parts) == 1:
            return parts[0]
        if unit == 8:
            pairs = [self._pair(parts[k], parts[k + 1]) for k in range(0, len(parts), 2)]
            return self.pack(pairs, 16)
        total = unit * len(parts)
        if total > 64 and unit < 64:
            half = len(parts) // 2
            return self.pack([self.pack(parts[:half], unit), self.pack(parts[half:], unit)], unit * half)
        whole = self.context.registers.fresh(slot_class(total))
        self.context.instr(f"mov.b{total}", (whole, Vector(tuple(parts))))
        return whole

    def unpack(self, whole: Register, parts: Sequence[Register], unit: int,
               guard: Guard | None = None) -> None:
        """Spread ``whole`` over ``parts`` of ``unit`` bits, lowest first."""
        context = self.context
        total = unit * len(parts)
        if unit == 8:
            if len(parts) == 2:
                context.instr("and.b16", (parts[0], whole, integer(255)), guard)
                context.instr("shr.u16", (parts[1], whole, integer(8)), guard)
                return
            halves = [context.registers.fresh("b16") for _ in range(len(parts) // 2)]
            self.unpack(whole, halves, 16, guard)
            for k, half in enumerate(halves):
                self.unpack(half, parts[2 * k:2 * k + 2], 8, guard)
            return
        if total > 64 and unit < 64:
            half_count = len(parts) // 2
            halves = [context.registers.fresh(slot_class(unit * half_count)) for _ in range(2)]
            context.instr(f"mov.b{total}", (Vector(tuple(halves)), whole), guard)
            self.unpack(halves[0], parts[:half_count], unit, guard)
            self.unpack(halves[1], parts[half_count:], unit, guard)
            return
        context.instr(f"mov.b{total}", (Vector(tuple(parts)), whole), guard)

    def _pair(self, low: Register, high: Register) -> Register:
        context = self.context
        masked, moved, both = (context.registers.fresh("b16") for _ in range(3))
        context.instr("and.b16", (masked, low, integer(255)))
        context.instr("shl.b16", (moved, high, integer(8)))
        context.instr("or.b16", (both, masked, moved))
        return both
