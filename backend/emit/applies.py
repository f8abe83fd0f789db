"""``apply``: one instruction for each repeat, operands bound directly to slots and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from ptxspec.diagnostics import Note
from ptxspec.forms.use import OperandUse
from ptxspec.lang.ir import Apply, Buffer, Located, View
from ptxspec.ptx.operand import Guard, Immediate, Operand, Register, Vector
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, BOOL, INDEX, Const, Expr, Op, Poly, Var

from .addresses import Addresses
from .analysis import bound
from .chosen import Chosen
from .context import Context
from .elements import Elements
from .folding import folded, recombined
from .scalars import Scalars
from .slots import Slots
from .statics import Split
from .types import bit_pattern, immediate, slot_class

#: Stands for "no word axis" where an element is accessed alone.
_WORD = Var("w", INDEX, "word", 0, 0)


@dataclass(slots=True)
class Placement:
    """A view operand with its offset as a function of repeat and word."""

    view: View
    use: OperandUse | None
    located: Located
    repeats: tuple[Var, ...]
    word: Var
    words: int
    indices: tuple[Expr, ...] = ()
    split: Split | None = None

    @staticmethod
    def element(view: View, located: Located, indices: tuple[Expr, ...]) -> Placement:
        """The place of one element of scalar code; ``indices`` are the typed expressions that lead there."""
        return Placement(view, None, located, (), _WORD, 1, indices)


@dataclass(frozen=True, slots=True)
class _Return:
    """A stand-in that the instruction writes: what it stands for, and ``memory`` where that lies in local memory."""

    register: Register
    buffer: Buffer
    runtime: Poly
    byte: int
    bits: int
    memory: Split | None = None


class Applies:
    """Writes :class:`Apply` statements."""

    def __init__(self, context: Context, scalars: Scalars, addresses: Addresses, slots: Slots,
                 elements: Elements, chosen: Chosen) -> None:
        self.context = context
        self.scalars = scalars
        self.addresses = addresses
        self.slots = slots
        self.elements = elements
        self.chosen = chosen

    def write(self, apply: Apply, placements: dict[int, Placement]) -> None:
        """All instructions of ``apply``; ``placements`` by operand position."""
        context, use = self.context, apply.use
        guard = self._guard(apply.pred)
        if guard is False:
            return
        assert guard is None or isinstance(guard, Guard)
        repeats: tuple[Var, ...] = ()
        for placement in placements.values():
            repeats = placement.repeats
            if placement.split is None:
                placement.split = self.split(placement, context.static | {*placement.repeats, placement.word})
        fixed = self._fixed(apply, placements)
        loaded = self._loaded(apply, placements)
        each = loaded // max(prod(apply.repeat), 1)
        held = self.slots.pending.holds(apply, loaded)
        env = dict(context.env)
        names = [r.uid for r in repeats]
        for position in product(*map(range, apply.repeat)):
            env.update(zip(names, position))
            after: list[_Return] = []
            operands = [fixed[k] if k in fixed else self._place(placements[k], env, after)
                        for k in range(len(use.operands))]
            if held and not after:
                self.slots.pending.hold(apply, operands, each)
                continue
            context.form(use.mnemonic, use.slots, operands, guard)
            for back in after:
                self._give_back(back, guard)

    def _loaded(self, apply: Apply, placements: dict[int, Placement]) -> int:
        """32-bit registers that all repeats together write."""
        return sum(prod(apply.repeat) * p.words * max(BITS[p.view.dtype], 32) // 32 for p in placements.values()
                   if p.use is not None and p.use.role == "out" and self.elements.in_registers(p.view))

    def offset(self, placement: Placement) -> Poly:
        """Byte offset of a word of the operand."""
        located = placement.located
        buffer = placement.view.buffer
        if self.elements.in_registers(placement.view):
            return ix.add(ix.scale(located.slot, BITS[buffer.dtype] // 8), located.slot_byte)
        return located.byte

    def split(self, placement: Placement, known: frozenset[Var]) -> Split:
        """The operand's offset, ready to be evaluated for each repeat."""
        offset = recombined(self.offset(placement))
        context = self.context
        _, home = context.scope.place(context.levels.of(offset), context.levels.pinned(offset), eager=True)

        def computed(expr: Expr) -> bool:
            return home.find(expr) is not None

        return Split(folded(offset, placement.indices, known, context.levels, computed), known)

    def _guard(self, pred: Expr | None) -> Guard | bool | None:
        """The guard; None without one, False where the predicate is known to be false."""
        if pred is None:
            return None
        pred = self.context.known(pred)
        if isinstance(pred, Const):
            return None if pred.value else False
        if isinstance(pred, Op) and pred.name == "lnot":
            return Guard(self.scalars.predicate(pred.args[0]), True)
        return Guard(self.scalars.predicate(pred))

    def _fixed(self, apply: Apply, placements: dict[int, Placement]) -> dict[int, Operand]:
        """Operands that do not change over repeats: scalars and the cache policy."""
        fixed: dict[int, Operand] = {}
        for k, scalar, use in bound(apply):
            if k in placements:
                continue
            if scalar is None or isinstance(scalar, View):
                raise self.context.error("E110", f"operand {k + 1} (`{use.name}`) of {apply.use.opcode} is missing")
            value = self._scalar(scalar, use)
            if use.lanes > 1:   # the same value in each lane
                fixed[k] = Vector((self.context.materialise(value, f"b{use.bits}"),) * use.lanes)
            else:
                fixed[k] = value
        return fixed

    def _scalar(self, scalar: Expr, use: OperandUse) -> Register | Immediate:
        scalar = self.context.known(scalar)
        if "predicate" in use.kinds and scalar.dtype == BOOL:
            return self.scalars.predicate(scalar)
        if isinstance(scalar, Const) and "immediate" in use.kinds and use.bits in (32, 64):
            if use.type == "f32" or use.type == "f64":
                return immediate(scalar.value, f"float{use.bits}")
            if scalar.dtype.startswith("float"):
                return Immediate(f"0x{bit_pattern(scalar.value, scalar.dtype):0{use.bits // 4}X}")
            return immediate(int(scalar.value), scalar.dtype)
        if use.bits and scalar.dtype != BOOL and BITS.get(scalar.dtype, use.bits) != use.bits:
            raise self.context.error("E111", f"`{use.name}` of this instruction has {use.bits} bits, but the value is "
                                     f"{scalar.dtype}", Note("help", "cast it to a type of that width"))
        return self.scalars.slot_bits(scalar, use.bits or BITS[scalar.dtype], slot_class(use.bits))

    def _place(self, placement: Placement, env: dict[int, int], after: list[_Return]) -> Operand:
        view, split, word = placement.view, placement.split, placement.word
        assert split is not None
        assert placement.use is not None
        if "address" in placement.use.kinds:
            env[word.uid] = 0
            runtime, constant = split.at(env)
            return self.addresses.operand(view.buffer, runtime, constant, split.runtime)
        bits = BITS[view.dtype]
        registers: list[Register] = []
        for w in range(placement.words):
            env[word.uid] = w
            runtime, byte = split.at(env)
            registers.append(self._register(placement, runtime, byte, bits, after))
        return registers[0] if placement.words == 1 else Vector(tuple(registers))

    def _register(self, placement: Placement, runtime: Poly, byte: int, bits: int, after: list[_Return]) -> Register:
        """One register of a ``local`` operand: its slot, or a stand-in that is filled before and spread after."""
        assert placement.use is not None
        view, role = placement.view, placement.use.role
        buffer = view.buffer
        stays = self.elements.in_registers(view)
        if buffer.scope != "local":
            raise self.context.error("E112", f"`{buffer.name}` is {buffer.scope} memory, but this operand is "
                                     "registers", Note("help", "load it into a register tensor first"))
        if not (stays and runtime.is_const):
            return self._elsewhere(_Return(self.context.registers.fresh(slot_class(bits)), buffer, runtime, byte, bits,
                                           None if stays else placement.split), role, after)
        parts = self.slots.span(buffer, byte, bits)
        if len(parts) == 1:
            return parts[0]
        unit = self.slots.slot_bits[buffer]
        if role == "in":
            return self.slots.pack(parts, unit)
        whole = self.slots.pack(parts, unit) if role == "inout" else self.context.registers.fresh(slot_class(bits))
        after.append(_Return(whole, buffer, runtime, byte, bits))
        return whole

    def _elsewhere(self, copy: _Return, role: str, after: list[_Return]) -> Register:
        """A stand-in for a register that is chosen at run time, or whose tensor lies in local memory."""
        if role != "out":
            source = (self.chosen.read(copy.buffer, copy.runtime, copy.byte, copy.bits) if copy.memory is None else
                      self.chosen.fetch(copy.buffer, copy.runtime, copy.byte, copy.bits, copy.memory.runtime))
            if role == "in":
                return source
            self.context.instr(f"mov.{source.cls}", (copy.register, source))
        after.append(copy)
        return copy.register

    def _give_back(self, back: _Return, guard: Guard | None) -> None:
        """Spread a stand-in over its slots, under the instruction's own guard: what it kept, the slots keep."""
        buffer, byte, bits = back.buffer, back.byte, back.bits
        if back.memory is not None:
            self.chosen.put_back(buffer, back.runtime, byte, bits, back.register, back.memory.runtime, guard)
        elif not back.runtime.is_const:
            self.chosen.write(buffer, back.runtime, byte, bits, back.register, guard)
        else:
            self.slots.unpack(back.register, self.slots.span(buffer, byte, bits), self.slots.slot_bits[buffer], guard)
