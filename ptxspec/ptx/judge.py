"""The verdict on one instruction: opcode by the database, operands by the rules, both remembered.

A module repeats a few hundred opcodes with a few operand shapes, so the verdict on an opcode, and the fact that a shape
of operands is fine for it, are kept.
"""

from __future__ import annotations

from collections.abc import Hashable

from ptxspec.diagnostics import Note, Severity
from ptxspec.forms import FormVerdict, OperandUse, Outcome, check, registry, uses
from ptxspec.forms.defects import wrong_code
from ptxspec.ptx.lint_target import Chosen
from ptxspec.ptx.module import TYPE_BITS, Instruction
from ptxspec.ptx.operand import (
    Address,
    Component,
    Group,
    Immediate,
    Negated,
    NotPredicate,
    Operand,
    Pair,
    Register,
    Special,
    Symbol,
    Vector,
)
from ptxspec.ptx.problem import Context, Problem, Shape, shape_of
from ptxspec.ptx.rules_generic import judge_generic
from ptxspec.ptx.rules_memory import judge_memory
from ptxspec.ptx.rules_mov import judge_mov
from ptxspec.ptx.special import special_info

Said = tuple[str, Severity, str, int, tuple[Note, ...]]
# Mnemonics with operand rules of their own; the others' operands are held against the database's description.
CORE = frozenset({"ld", "ldu", "st", "mov"})
# Mnemonics whose constants are judged by their value, so that one good line says nothing about the next.
BY_VALUE = frozenset({"bar", "barrier", "createpolicy"})
_UNLISTED = frozenset({"F001", "F101", "F102", "F103", "F104"})
_TYPES = frozenset(TYPE_BITS)


def full_name(instruction: Instruction) -> str:
    """The mnemonic, with its second word where the manual has the two as an instruction of its own (``st.async``)."""
    return registry.words_of(instruction.opcode)[0]


class _Opcode:
    """What is known of one spelling: judged at all, complaints, and what its operands are held against."""

    __slots__ = ("forms", "good", "known", "refused", "said", "shape")

    def __init__(self) -> None:
        self.known = False
        self.refused = False
        self.said: tuple[Said, ...] = ()
        self.shape: Shape | None = None
        self.forms: tuple[tuple[OperandUse, ...], ...] = ()
        self.good: set[Hashable] = set()


class Judge:
    """Judges instructions for one machine. Keep one for a module."""

    def __init__(self, chosen: Chosen) -> None:
        self._chosen = chosen
        self._opcodes: dict[str, dict[str, _Opcode]] = {"entry": {}, "func": {}}
        self._known = frozenset(registry.mnemonics()) if chosen.known else frozenset[str]()
        self._keys: dict[int, Hashable] = {}

    def instruction(self, instruction: Instruction, context: Context) -> tuple[bool, tuple[Said, ...]]:
        """Was the instruction judged, and what there is to say about it (code, severity, message, operand, notes)."""
        guard = instruction.guard
        said: tuple[Said, ...] = ()
        if guard is not None and guard.register.cls != "pred" and guard.register.cls:
            name = guard.register
            said = (("L211", "error", f"a guard is a predicate, '{name}' is of class .{name.cls}", -2, ()),)
        opcodes = self._opcodes[context.function]
        opcode = opcodes.get(instruction.opcode)
        if opcode is None:
            opcode = opcodes[instruction.opcode] = self._judge_opcode(instruction, context)
        if not opcode.known:
            return False, said
        said += opcode.said
        if opcode.refused:
            return True, said
        keys = self._keys
        operands = instruction.operands
        key: Hashable = (
            guard is not None,
            *[keys.get(id(o)) or keys.setdefault(id(o), operand_key(o)) for o in operands],
        )
        if key in opcode.good:
            return True, said
        problems = self._judge_operands(instruction, opcode, context)
        if problems is None:
            return False, said
        if not problems:
            if opcode.shape is not None or instruction.mnemonic not in BY_VALUE:
                opcode.good.add(key)
            return True, said
        return True, said + tuple(
            (p.code, "error" if p.error else "warning", p.message, p.operand, ()) for p in problems
        )

    def _judge_opcode(self, instruction: Instruction, context: Context) -> _Opcode:
        made = _Opcode()
        mnemonic = full_name(instruction)
        if mnemonic not in self._known:
            return made
        chosen = self._chosen
        entry = context.function == "entry"
        verdict = check(instruction.opcode, sm=chosen.sm, ptx=chosen.ptx_text, toolkit=chosen.toolkit, entry=entry)
        if verdict.code in _UNLISTED and not registry.complete(mnemonic):
            return made
        made.known = True
        made.said, made.refused = self._opcode_said(verdict)
        if made.refused:
            return made
        if "." in mnemonic and not registry.complete(mnemonic):
            made.known = False  # the operand rules of asynchronous stores were not measured
            return made
        if mnemonic in CORE:
            made.shape = shape_of(instruction.modifiers, _TYPES)
        else:
            # Without the words that the assembler reads over (`ret.uni.uni`).
            spelling = verdict.canonical
            made.forms = tuple(u.operands for u in uses(spelling)) if spelling else ()
            made.known = bool(made.forms)
        return made

    def _opcode_said(self, verdict: FormVerdict) -> tuple[tuple[Said, ...], bool]:
        if not self._chosen.assembles:
            # No assembler reads this module (said once for the module); the manual's opinion is still of use.
            if verdict.code == "F003":
                return (), False
            refused = not verdict.legal and verdict.code != "F105"
        else:
            refused = verdict.ptxas is Outcome.REJECT
        if verdict.legal and not refused and verdict.ptxas is not Outcome.CRASH:
            return (), False
        diagnostic = verdict.diagnostic
        if diagnostic is None:
            text = "; ".join(f.ptxas for f in verdict.findings) or "the assembler does not take this form"
            return (("L300", "error" if refused else "warning", text, -1, ()),), refused
        severity: Severity = "error" if refused else "warning"
        return ((diagnostic.code, severity, diagnostic.message, -1, diagnostic.notes),), refused

    def _judge_operands(self, instruction: Instruction, opcode: _Opcode, context: Context) -> list[Problem] | None:
        """The problems; None when the database has no form with so many operands, so that nothing can be said."""
        guarded = instruction.guard is not None
        mnemonic, operands = full_name(instruction), instruction.operands
        if opcode.shape is not None:
            found = (
                judge_mov(opcode.shape, operands, context) if mnemonic == "mov"
                else judge_memory(mnemonic, opcode.shape, operands, guarded, context)
            )
        elif opcode.forms:
            generic = judge_generic(instruction, opcode.forms, context)
            if generic is None and not registry.complete(mnemonic):
                return None
            found = generic if generic is not None else [_count(mnemonic, opcode.forms, len(operands))]
        else:
            found = []
        if not found and opcode.shape is not None:
            found = _wrong_code(mnemonic, opcode.shape, operands, context)
        found += _special_floors(operands, context)
        return found


def _count(mnemonic: str, forms: tuple[tuple[OperandUse, ...], ...], written: int) -> Problem:
    wanted = " or ".join(str(n) for n in sorted({len(uses) for uses in forms}))
    return Problem("L200", f"'{mnemonic}' takes {wanted} operands, {written} are written")


def _wrong_code(mnemonic: str, shape: Shape, operands: tuple[Operand, ...], context: Context) -> list[Problem]:
    """Registers that the assembler takes and then makes wrong code for."""
    place = 1 if mnemonic == "st" else 0
    data = operands[place] if len(operands) > place else None
    elements = data.elements if isinstance(data, Vector) else (data,)
    classes = {e.cls for e in elements if isinstance(e, Register)}
    toolkit = ".".join(map(str, context.toolkit))
    found = wrong_code(mnemonic, shape.type, shape.lanes, classes, toolkit) if classes else None
    if found is None:
        return []
    return [Problem("L244", f"ptxas {toolkit} {found.ptxas}; {found.advice}", place, error=False)]


def _special_floors(operands: tuple[Operand, ...], context: Context) -> list[Problem]:
    found: list[Problem] = []
    for index, operand in enumerate(operands):
        for part in operand.elements if isinstance(operand, Vector) else (operand,):
            if not isinstance(part, Special):
                continue
            info = special_info(part.name)
            if info is not None and (context.ptx < info.ptx or context.sm < info.sm):
                need = f"PTX {info.ptx[0]}.{info.ptx[1]} and sm_{info.sm}"
                found.append(Problem("L221", f"'{part}' needs {need}", index))
    return found


def operand_key(operand: Operand) -> Hashable:
    """Everything of an operand that the rules look at; names and offsets are left out."""
    if isinstance(operand, Register):
        return operand.cls if operand.lanes == 1 else (operand.cls, operand.lanes)
    if isinstance(operand, Immediate):
        return ("#", operand.kind, operand.text.lstrip("-+( ")[:2] in ("0f", "0F"))
    if isinstance(operand, Address):
        return ("[", operand_key(operand.base), operand.unified)
    if isinstance(operand, Symbol):
        return ("&", operand.space, operand.kind, operand.type, operand.form, operand.unified)
    if isinstance(operand, (Vector, Group)):
        return (type(operand).__name__, *[operand_key(e) for e in operand.elements])
    if isinstance(operand, Special):
        return ("%", operand.name)
    if isinstance(operand, Component):
        return (".", operand.register.cls, operand.register.lanes == 1)
    if isinstance(operand, NotPredicate):
        return ("!", operand.register.cls)
    if isinstance(operand, Negated):
        return ("-", operand_key(operand.operand))
    if isinstance(operand, Pair):
        return ("|", operand_key(operand.first), operand_key(operand.second))
    return type(operand).__name__


__all__ = ["CORE", "Judge", "Said", "full_name", "operand_key"]
