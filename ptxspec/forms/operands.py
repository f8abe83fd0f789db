"""Judging the operands of a legal form: number, kinds, register classes, brace groups, sinks, addresses, literals.

Codes: F401 number of operands, F402 kind, F403 register class, F404 lanes of a group, F405 sink, F406 literal,
F407 address register, F408 space of a variable, F409 literal address, F410 ``.unified``, F411 guard,
F412 special register, F413 elements of unlike width, F414 cache policy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ptxspec.diagnostics import Diagnostic, Note
from ptxspec.forms import registry
from ptxspec.forms.classes import register_fits
from ptxspec.forms.kinds import accepts, describe, kinds_of
from ptxspec.forms.target import Machine, text
from ptxspec.forms.use import FormUse, OperandUse
from ptxspec.ptx.operand import (
    Address,
    Guard,
    Immediate,
    NotPredicate,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

_FLOAT_BITS = re.compile(r"0[fF][0-9a-fA-F]{8}\Z|0[dD][0-9a-fA-F]{16}\Z")
_GENERIC_SPACES = ("global", "shared", "local")


def check_operands(
    use: FormUse, operands: Sequence[Operand], guard: Guard | None = None, here: Machine | None = None
) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with the operands of one instruction; ``severity`` is ``error`` exactly where the
    assembler refuses. ``here`` adds the floors of special registers."""
    found: list[Diagnostic] = []
    if guard is not None and guard.register.cls != "pred":
        found.append(Diagnostic("F411", f"the guard {guard.register} is .{guard.register.cls}, not a predicate"))
    if len(operands) != len(use.operands):
        missing = next((o for o in use.operands[len(operands) :] if o.name == "policy"), None)
        if missing is not None and len(operands) == len(use.operands) - 1:
            found.append(Diagnostic("F414", "`.L2::cache_hint` needs a cache policy as its last operand"))
        elif use.mnemonic in ("ld", "st") and len(operands) == 3 and len(use.operands) == 2:
            found.append(Diagnostic("F414", "a cache policy needs `.L2::cache_hint` in the opcode"))
        else:
            found.append(
                Diagnostic(
                    "F401",
                    f"`{use.opcode}` takes {len(use.operands)} operands, not {len(operands)}",
                    notes=(Note("help", describe(use.operands)),),
                )
            )
        return tuple(found)
    for wanted, operand in zip(use.operands, operands, strict=True):
        found.extend(_Operand(use, wanted, here).check(operand))
    return tuple(found)


class _Operand:
    """One operand against what the form wants at its place."""

    def __init__(self, use: FormUse, wanted: OperandUse, here: Machine | None) -> None:
        self.use, self.wanted, self.here = use, wanted, here

    def bad(self, code: str, message: str, *notes: Note) -> list[Diagnostic]:
        return [Diagnostic(code, message, notes=notes)]

    def check(self, operand: Operand) -> list[Diagnostic]:
        wanted = self.wanted
        if isinstance(operand, Vector):
            return self.vector(operand)
        if wanted.lanes > 1:
            return self.bad(
                "F404", f"`{self.use.opcode}` needs a group of {wanted.lanes} for {wanted.name}, not {operand}"
            )
        if isinstance(operand, Sink):
            return self.bad("F405", "`_` can stand for an element of a group only")
        if isinstance(operand, NotPredicate) and wanted.type == "pred" and operand.register.cls == "pred":
            if "predicate" in wanted.kinds or wanted.role == "in":
                return []
        if not accepts(wanted, kinds_of(operand)):
            return self.bad(
                "F402",
                f"{operand} cannot be the {wanted.name} of `{self.use.opcode}`",
                Note("help", describe((wanted,))),
            )
        if isinstance(operand, Register):
            return self.register(operand, False)
        if isinstance(operand, Immediate):
            return self.literal(operand)
        if isinstance(operand, Address):
            return self.address(operand)
        if isinstance(operand, Special):
            return self.special(operand)
        return []

    def register(self, operand: Register, vector: bool) -> list[Diagnostic]:
        wanted = self.wanted
        if not wanted.type or register_fits(wanted.classes, wanted.type, operand.cls, vector):
            return []
        note = Note(
            "help",
            f"declare it .{wanted.type}"
            if registry.vocabulary().types[wanted.type][2]
            else "declare it as untyped bits",
        )
        return self.bad(
            "F403", f"{operand} is .{operand.cls}; the {wanted.name} of `{self.use.opcode}` is .{wanted.type}", note
        )

    def vector(self, operand: Vector) -> list[Diagnostic]:
        wanted, n = self.wanted, len(operand.elements)
        memory = wanted.classes == "wide"
        if n != wanted.lanes:
            # A group of one is taken for a scalar of a memory instruction.
            if not (n == 1 and wanted.lanes == 1 and "register" in wanted.kinds):
                return self.bad("F404", f"`{self.use.opcode}` takes {wanted.lanes} lanes for {wanted.name}, not {n}")
        out: list[Diagnostic] = []
        sinks = sum(isinstance(e, Sink) for e in operand.elements)
        if sinks:
            wide = wanted.lanes * wanted.bits == 256 and self.use.mnemonic == "st"
            if not wanted.sink and not wide:
                out += self.bad("F405", f"`_` cannot be read as the {wanted.name} of `{self.use.opcode}`")
            elif sinks == n:
                out += self.bad("F405", "at least one element of the group must be a register")
        widths = set()
        kinds = set()
        for element in operand.elements:
            if isinstance(element, Register):
                out += self.register(element, n > 1)
                known = registry.vocabulary().types.get(element.cls)
                widths.add(known[0] if known else 0)
                kinds.add("register")
            elif isinstance(element, Immediate):
                if "immediate" in wanted.kinds or (memory and wanted.role == "in"):
                    out += self.literal(element)
                    kinds.add(element.kind)
                elif wanted.classes == "pack" and wanted.role == "in":
                    out += self.literal(element)
                else:
                    out += self.bad("F402", f"{element} cannot be written to")
            elif not isinstance(element, Sink):
                out += self.bad("F402", f"{element} cannot be an element of the group")
        if len(widths) > 1:
            out += self.bad("F413", f"the elements of {operand} have different widths")
        return out

    def literal(self, operand: Immediate) -> list[Diagnostic]:
        """Integers for integer types, floats for float types, both for untyped bits of the float's width."""
        type_ = self.wanted.type
        kind = registry.vocabulary().types[type_][1] if type_ else ""
        bits = self.wanted.bits
        is_float = operand.kind == "float"
        fine = True
        if kind in ("unsigned", "signed"):
            fine = not is_float
        elif kind == "float":
            fine = is_float and type_ in ("f32", "f64")
        elif kind == "bits":
            fine = not is_float or bits in (32, 64)
        elif kind == "predicate":
            fine = not is_float
        if fine and is_float and _FLOAT_BITS.match(operand.text) and kind == "bits":
            fine = bits == (32 if operand.text[1] in "fF" else 64)
        return [] if fine else self.bad("F406", f"{operand} is no literal of type .{type_}")

    def address(self, operand: Address) -> list[Diagnostic]:
        space = self.wanted.space
        out: list[Diagnostic] = []
        base = operand.base
        if operand.unified and not (self.use.mnemonic in ("ld", "ldu") and space in ("generic", "global")):
            out += self.bad("F410", "`.unified` belongs to generic and global loads only")
        if isinstance(base, Register):
            known = registry.vocabulary().types.get(base.cls)
            if known is None or known[1] not in ("bits", "unsigned", "signed") or known[0] > 64:
                out += self.bad("F407", f"{base} is .{base.cls}; an address is an integer register of 64 bits")
            elif known[0] == 32 and space in ("generic", "global"):
                out += self.bad("F407", f"{base} has 32 bits; a {space} address has 64")
        elif isinstance(base, Immediate):
            if space != "local":
                out += self.bad("F409", "a literal address is allowed in local memory only")
        elif isinstance(base, Symbol) and base.space:
            out += self.variable(base, space)
        return out

    def variable(self, base: Symbol, space: str) -> list[Diagnostic]:
        """A named variable must live in the space that the opcode names."""
        if space == "generic":
            fine = base.space in _GENERIC_SPACES
        else:
            fine = base.space.split("::")[0] == space.split("::")[0]
        return [] if fine else self.bad("F408", f"`{base.name}` lives in .{base.space}, the opcode says .{space}")

    def special(self, operand: Special) -> list[Diagnostic]:
        known = registry.vocabulary().specials.get(operand.name)
        if known is None:
            return self.bad("F412", f"`{operand.name}` is not a special register")
        out: list[Diagnostic] = []
        if known.parts:
            parts = " ".join(f"{operand.name}.{p}" for p in known.parts)
            out += self.bad("F412", f"`{operand.name}` is a vector", Note("help", f"read one of {parts}"))
        elif self.wanted.bits not in known.widths:
            bits = known.widths[-1]
            out += self.bad("F412", f"`{operand.name}` has {bits} bits, `{self.use.opcode}` moves {self.wanted.bits}")
        if self.here is not None and (self.here.ptx < known.ptx or self.here.sm < known.sm):
            out += self.bad("F301", f"`{operand.name}` needs PTX {text(known.ptx)} and sm_{known.sm}")
        return out
