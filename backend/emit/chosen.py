"""Registers chosen at run time: one of a few by comparing, and of many by keeping the tensor in local memory instead.

Registers have no addresses. Where an index that only the thread knows picks one of at most :data:`MOST_CHOICES`, each
candidate gets a comparison and a guarded move, so that nothing leaves the register file. A tensor with more of them
lives in local memory, like any other addressable one, and instructions that name it as registers read and write copies.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import TYPE_CHECKING

from ptxspec.lang.ir import Buffer
from ptxspec.ptx.operand import Address, Guard, Register
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, Poly, Var

from .context import Context, integer
from .statics import free
from .types import slot_class

if TYPE_CHECKING:
    from .addresses import Addresses
    from .analysis import Analysis
    from .applies import Placement
    from .indices import Indices
    from .slots import Slots

#: Candidates that are told apart by comparing.
MOST_CHOICES = 16


def candidates(buffer: Buffer, runtime: Poly, constant: int, bits: int) -> list[int]:
    """Bytes of the tensor at which ``bits`` at ``runtime + constant`` may start: its bounds and its common factor."""
    step = 0
    for _, coefficient in runtime.terms:
        step = gcd(step, coefficient)
    low, high = ix.bounds(runtime)
    first, last = 0, storage_bytes(buffer) - bits // 8
    first = first if low is None else max(first, low + constant)
    last = last if high is None else min(last, high + constant)
    step = max(step, 1)
    return list(range(first + (constant - first) % step, last + 1, step))


def storage_bytes(buffer: Buffer) -> int:
    """Bytes of a tensor's own storage."""
    low, high = buffer.layout.memory_range()
    return max(0, high.const - low.const) * BITS[buffer.dtype] // 8 if low.is_const and high.is_const else 0


def spill(placements: Iterable[Placement], analysis: Analysis, enumerated: set[Var]) -> None:
    """Put register tensors into local memory of which an index that emission does not enumerate picks among many."""
    for placement in placements:
        buffer, located = placement.view.buffer, placement.located
        if buffer.scope != "local" or buffer in analysis.addressable:
            continue
        offset = ix.add(ix.scale(located.slot, BITS[buffer.dtype] // 8), located.slot_byte)
        known = enumerated | {*placement.repeats, placement.word}
        bits = BITS[placement.view.dtype]
        if free(offset) <= known:
            continue
        # Enumerated variables move the constant: counting with them as unknowns gives at least as many candidates.
        choices = candidates(buffer, Poly(0, offset.terms), offset.const, bits)
        unit = analysis.slot_bits[buffer] // 8
        if len(choices) > MOST_CHOICES or bits > 64 or any(b % unit for b in choices):
            analysis.addressable.add(buffer)
            analysis.spilled.append(buffer)


class Chosen:
    """Writes the moves from and to registers that are chosen at run time."""

    def __init__(self, context: Context, indices: Indices, slots: Slots, addresses: Addresses) -> None:
        self.context = context
        self.indices = indices
        self.slots = slots
        self.addresses = addresses

    def _cases(self, buffer: Buffer, runtime: Poly, constant: int, bits: int) -> list[tuple[int, Guard]]:
        """Each candidate with the predicate that says it is the one."""
        context = self.context
        found: list[tuple[int, Guard]] = []
        for byte in candidates(buffer, runtime, constant, bits):
            def write(register: Register, wanted: int = byte - constant) -> None:
                context.instr("setp.eq.s32", (register, context.materialise(self.indices.low(runtime), "b32"),
                                              integer(wanted)))
            predicate = context.cached(("chosen", runtime, byte - constant), runtime, "pred", write)
            assert isinstance(predicate, Register)
            found.append((byte, Guard(predicate)))
        return found

    def read(self, buffer: Buffer, runtime: Poly, constant: int, bits: int) -> Register:
        """A copy of ``bits`` at ``runtime + constant``."""
        copy = self.context.registers.fresh(slot_class(bits))
        for byte, guard in self._cases(buffer, runtime, constant, bits):
            self.context.instr(f"mov.{copy.cls}", (copy, self.slots.read(buffer, byte, bits)), guard)
        return copy

    def write(self, buffer: Buffer, runtime: Poly, constant: int, bits: int, value: Register,
              under: Guard | None = None) -> None:
        """``value`` to the register that is meant, where the predicate ``under`` holds."""
        for byte, guard in self._cases(buffer, runtime, constant, bits):
            both = guard if under is None else self._both(guard, under)
            parts = self.slots.span(buffer, byte, bits)
            if len(parts) == 1:
                self.context.instr(f"mov.{parts[0].cls}", (parts[0], value), both)
            else:
                self.slots.unpack(value, parts, self.slots.slot_bits[buffer], both)

    def _both(self, a: Guard, b: Guard) -> Guard:
        other = b.register
        if b.negated:
            other = self.context.registers.fresh("pred")
            self.context.instr("not.pred", (other, b.register))
        both = self.context.registers.fresh("pred")
        self.context.instr("and.pred", (both, a.register, other))
        return Guard(both)

    # -- tensors in local memory ---------------------------------------------------------------------------------

    def _pieces(self, buffer: Buffer, runtime: Poly, constant: int, bits: int,
                fixed: Poly | None) -> tuple[int, list[Address]]:
        """Width of the pieces that ``bits`` are moved in, and the address of each."""
        unit = min(self.slots.slot_bits[buffer], BITS[buffer.dtype], bits)
        return unit, [self.addresses.operand(buffer, runtime, constant + k * unit // 8, fixed)
                      for k in range(bits // unit)]

    def fetch(self, buffer: Buffer, runtime: Poly, constant: int, bits: int, fixed: Poly | None) -> Register:
        """A register with ``bits`` of a tensor in local memory."""
        unit, places = self._pieces(buffer, runtime, constant, bits, fixed)
        parts = [self.context.registers.fresh(slot_class(unit)) for _ in places]
        for part, place in zip(parts, places):
            self.context.instr(f"ld.local.b{unit}", (part, place))
        return self.slots.pack(parts, unit)

    def put_back(self, buffer: Buffer, runtime: Poly, constant: int, bits: int, value: Register, fixed: Poly | None,
                 guard: Guard | None) -> None:
        """``value`` to its place in local memory, under the guard of the instruction that made it."""
        unit, places = self._pieces(buffer, runtime, constant, bits, fixed)
        parts = [self.context.registers.fresh(slot_class(unit)) for _ in places] if len(places) > 1 else [value]
        if len(places) > 1:
            self.slots.unpack(value, parts, unit, guard)
        for part, place in zip(parts, places):
            self.context.instr(f"st.local.b{unit}", (place, part), guard)
