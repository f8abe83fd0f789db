"""Linked conditions: four kinds of node over slots, the one shape that tables, selector, solver and page read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class In:
    """The slot holds one of ``tokens``, or is not written when ``unwritten``."""

    slot: str
    tokens: frozenset[str]
    unwritten: bool


@dataclass(frozen=True)
class Not:
    """Negation."""

    part: Logic


@dataclass(frozen=True)
class And:
    """All of ``parts``; none of them means true."""

    parts: tuple[Logic, ...]


@dataclass(frozen=True)
class Or:
    """One of ``parts``; none of them means false."""

    parts: tuple[Logic, ...]


Logic = In | Not | And | Or
TRUE = And(())
FALSE = Or(())


def both(parts: Iterable[Logic]) -> Logic:
    """Conjunction, simplified."""
    flat: list[Logic] = []
    for part in parts:
        if part == FALSE:
            return FALSE
        flat.extend(part.parts if isinstance(part, And) else (part,))
    flat = list(dict.fromkeys(flat))
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def either(parts: Iterable[Logic]) -> Logic:
    """Disjunction, simplified."""
    flat: list[Logic] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        flat.extend(part.parts if isinstance(part, Or) else (part,))
    flat = list(dict.fromkeys(flat))
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def negate(part: Logic) -> Logic:
    """Negation, simplified."""
    if isinstance(part, Not):
        return part.part
    if part == TRUE:
        return FALSE
    if part == FALSE:
        return TRUE
    return Not(part)


def slots_of(part: Logic) -> frozenset[str]:
    """Names of the slots that the condition looks at."""
    if isinstance(part, In):
        return frozenset((part.slot,))
    if isinstance(part, Not):
        return slots_of(part.part)
    return frozenset(name for p in part.parts for name in slots_of(p))


def sentence(part: Logic, values: Mapping[str, tuple[str, ...]], absent: Mapping[str, str]) -> str:
    """The condition in words: ``.v8, or .v4 and one of .b64 .u64``. ``absent``: what leaving a slot out means."""
    if part == TRUE:
        return "always"
    if part == FALSE:
        return "never"
    if isinstance(part, In):
        return _words(part, values[part.slot], absent.get(part.slot, ""))
    if isinstance(part, Not):
        if isinstance(part.part, In):
            flipped = frozenset(values[part.part.slot]) - part.part.tokens
            return _words(
                In(part.part.slot, flipped, not part.part.unwritten),
                values[part.part.slot],
                absent.get(part.part.slot, ""),
            )
        return f"not ({sentence(part.part, values, absent)})"
    joint = " and " if isinstance(part, And) else ", or "
    inner = [sentence(p, values, absent) for p in part.parts]
    if isinstance(part, And):
        inner = [f"({text})" if isinstance(p, Or) else text for p, text in zip(part.parts, inner, strict=True)]
    return joint.join(inner)


def _words(part: In, values: tuple[str, ...], absent: str) -> str:
    """A slot's words: the shorter of what it is and what it is not."""
    inside = [f".{v}" for v in values if v in part.tokens]
    outside = [f".{v}" for v in values if v not in part.tokens]
    if not inside:
        return f"{absent or f'no {part.slot}'}" if part.unwritten else "never"
    if not outside:
        return "always" if part.unwritten else (inside[0] if len(inside) == 1 else f"any {part.slot}")
    if len(outside) < len(inside):
        missing = "" if part.unwritten else (f" or {absent}" if absent else " or none")
        return f"{part.slot} not {' '.join(outside)}{missing}"
    also = f" or {absent or f'no {part.slot}'}" if part.unwritten and f".{absent}" not in inside else ""
    return (inside[0] if len(inside) == 1 else f"one of {' '.join(inside)}") + also
