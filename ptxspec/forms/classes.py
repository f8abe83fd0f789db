"""Which declared register class may hold an operand of which instruction type (PTX manual, "Operand Size Exceeding
Instruction-Type Size" and "Type Checking Rules"; the tables were measured on real assemblers)."""

from __future__ import annotations

from functools import cache

from ptxspec.forms import registry

_INTEGERS = "bus"


def _kind(name: str) -> tuple[str, int]:
    """``("b", 32)``; packed halves behave like integers of 32 bits."""
    if name == "f16x2":
        return "x", 32
    if name == "pred":
        return "p", 1
    return name[0], int("".join(c for c in name if c.isdigit()))


@cache
def register_fits(rule: str, type_: str, cls: str, vector: bool = False) -> bool:
    """Whether a register declared ``.cls`` may stand for an operand of ``.type_``.

    ``rule``: ``wide`` (loads, stores: the register may be wider), ``exact`` (all else), ``pack`` (any class of the
    width), ``count`` (an integer of the width).
    """
    if cls not in registry.vocabulary().types or not type_:
        return False
    if type_ == "pred" or cls == "pred":
        return type_ == cls
    t, width = _kind(type_)
    c, size = _kind(cls)
    if rule == "pack":
        return size == width
    if rule == "wide":
        return _wide(t, width, type_, c, size, cls, vector)
    return _exact(type_, t, width, c, size, cls)


def _wide(t: str, width: int, type_: str, c: str, size: int, cls: str, vector: bool) -> bool:
    if cls == "b128":
        return True
    if type_ == "b128":
        return False
    if t == "b":
        return size >= width
    if t in "us":
        return (c in _INTEGERS and size >= width) or (c == "x" and width <= 32)
    if type_ in ("f32", "f64"):
        integer = vector and c in "us" and size == width
        return cls == type_ or (c == "b" and size >= width) or integer
    return c in ("b", "f") and size == width


def _exact(type_: str, t: str, width: int, c: str, size: int, cls: str) -> bool:
    if size != width:
        return False
    if t == "b" and type_ not in ("bf16", "bf16x2"):
        return True
    if type_ in ("u16x2", "s16x2", "f16x2"):
        return c in _INTEGERS or c == "x"
    if type_ in ("bf16", "bf16x2"):
        return c in _INTEGERS
    if t in "us":
        return c in _INTEGERS or c == "x"
    return cls == type_ or c == "b"
