"""Operand kinds: one word for each shape that decides between forms (``register``, ``vector4``, ``special``...)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.ptx.operand import (
    Address,
    Immediate,
    Label,
    NotPredicate,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptxspec.forms.use import OperandUse


def kinds_of(operand: Operand | str) -> str:
    """The kind of an operand; a word stands for itself."""
    if isinstance(operand, str):
        return operand
    if isinstance(operand, Register):
        return "register"
    if isinstance(operand, Vector):
        return f"vector{len(operand.elements)}"
    if isinstance(operand, Address):
        return "address"
    if isinstance(operand, Immediate):
        return "immediate"
    if isinstance(operand, Special):
        return "special"
    if isinstance(operand, Symbol):
        return "symbol"
    if isinstance(operand, Label):
        return "label"
    if isinstance(operand, NotPredicate):
        return "predicate"
    assert isinstance(operand, Sink)
    return "sink"


def accepts(use: OperandUse, kind: str) -> bool:
    """Whether an operand of this kind can stand at this place. ``vector`` without a number fits any lane count."""
    if kind.startswith("vector"):
        return "vector" in use.kinds and kind[6:] in ("", str(use.lanes))
    if kind == "function":
        return "function" in use.kinds or "symbol" in use.kinds
    return kind in use.kinds


def describe(operands: Sequence[OperandUse]) -> str:
    """The operands of a use in words."""
    out = []
    for o in operands:
        if o.lanes > 1:
            out.append(f"{o.name}: group of {o.lanes} {o.type}")
        else:
            out.append(f"{o.name}: {' or '.join(o.kinds)}{f' of {o.type}' if o.type else ''}")
    return ", ".join(out) or "no operands"
