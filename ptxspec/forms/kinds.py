"""Operand kinds: one word for each shape that decides between forms (``register``, ``vector4``, ``special``...)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptxspec.forms.use import OperandUse
    from ptxspec.ptx.operand import Operand, Vector

# By class name: the operand classes live above this module, and a query does not need them.
_KINDS = {
    "Register": "register",
    "Address": "address",
    "Immediate": "immediate",
    "Special": "special",
    "Symbol": "symbol",
    "Label": "label",
    "NotPredicate": "predicate",
    "Sink": "sink",
}


def kinds_of(operand: Operand | str) -> str:
    """The kind of an operand; a word stands for itself."""
    if isinstance(operand, str):
        return operand
    name = type(operand).__name__
    if name == "Vector":
        vector: Vector = operand  # type: ignore[assignment]
        return f"vector{len(vector.elements)}"
    return _KINDS.get(name, name.lower())


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
