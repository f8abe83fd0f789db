"""Reading the operands of examples in spec files: registers are named by their class (``%b32``)."""

from __future__ import annotations

import re

from ptxspec.forms import registry
from ptxspec.ptx.operand import Immediate, Operand, Register, Sink, Special, Vector


def example_opcode(text: str) -> str:
    """The opcode of an example."""
    return text.split(" ", 1)[0]


def example_operands(text: str) -> tuple[Operand, ...] | None:
    """The operands of an example, ``None`` when it is an opcode only."""
    parts = text.split(" ", 1)
    if len(parts) == 1:
        return None
    return tuple(_operand(p.strip()) for p in re.split(r",(?![^{]*\})", parts[1]))


def _operand(text: str) -> Operand:
    if text.startswith("{"):
        elements = tuple(_operand(e.strip()) for e in text.strip("{}").split(","))
        return Vector(elements)  # type: ignore[arg-type]
    if text == "_":
        return Sink()
    if text.startswith("%"):
        if text in registry.vocabulary().specials:
            return Special(text)
        return Register(text, text[1:])
    return Immediate(text, "float" if "." in text else "int")
