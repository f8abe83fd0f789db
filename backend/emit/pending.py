"""Loads held back until their values are near use, where all at once would not fit the register file.

An ``apply`` that loads more registers than a thread can hold would make the assembler spill them to local memory. Such
loads are written in batches instead, each when the first value of it is needed. That is allowed for plain loads from
arrays that the kernel never writes: no store can lie between the two places that they would notice, since parameters
share no memory (checked at launch).
"""

from __future__ import annotations

from ptxspec.diagnostics import Span
from ptxspec.lang.ir import Apply, Buffer, View
from ptxspec.ptx.operand import Operand, Register, Vector

from .context import Context

#: An apply that loads more 32-bit registers than this is written in batches (a thread has at most 255).
HELD_FROM = 176
#: 32-bit registers that one batch loads: one vector of 16 bytes. Each more in flight costs its registers twice (the
#: next batch is loaded while the last one is stored): the document's strided load takes 30 registers so, as many as
#: nvcc's code, 46 with four vectors and 176 with 32. On an H200 a copy is fastest with one vector a thread in flight
#: and full occupancy; who wants more takes several smaller applies, which are not held back.
BATCH = 4

_Held = tuple[Apply, list[Operand], Span | None, int]


class Pending:
    """Instructions that are decided but not written yet, in order."""

    def __init__(self, context: Context, written: frozenset[Buffer]) -> None:
        self.context = context
        self.written = written
        self._held: list[_Held] = []
        self._next = 0
        self._owner: dict[str, int] = {}   # by name: hashing text is cheapest

    def holds(self, apply: Apply, registers: int) -> bool:
        """True where ``apply``, which loads ``registers`` 32-bit registers in all, is to be held back."""
        if registers <= HELD_FROM or apply.pred is not None:
            return False
        use = apply.use
        if any(goal.access not in ("", "read") for goal in use.obligations):
            return False
        if use.slots.get("sem", "weak") != "weak" or "mmio" in use.slots or len(apply.operands) != 2:
            return False
        source = apply.operands[1]
        return (isinstance(source, View) and source.buffer.scope == "global" and source.buffer.is_param
                and source.buffer not in self.written and use.operands[0].role == "out")

    def hold(self, apply: Apply, operands: list[Operand], registers: int) -> None:
        """Keep one instruction; its first operand is what it writes."""
        target = operands[0]
        for register in target.elements if isinstance(target, Vector) else (target,):
            if isinstance(register, Register):
                self._owner[register.name] = len(self._held)
        self._held.append((apply, operands, self.context.span, registers))

    def need(self, register: Register) -> None:
        """``register`` is about to be used: write what loads it, and the rest of its batch."""
        index = self._owner.get(register.name)
        if index is None or index < self._next:
            return
        size = 0
        while self._next < len(self._held) and (self._next <= index or size < BATCH):
            size += self._held[self._next][3]
            self._write()

    def flush(self) -> None:
        """Write everything that is left: control flow follows."""
        while self._next < len(self._held):
            self._write()
        self._held.clear()
        self._owner.clear()
        self._next = 0

    def _write(self) -> None:
        apply, operands, span, _ = self._held[self._next]
        self._next += 1
        with self.context.at(span):
            self.context.form(apply.use.mnemonic, apply.use.slots, operands)
