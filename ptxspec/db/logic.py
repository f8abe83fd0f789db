"""Linked conditions: four kinds of node over slots, the one shape that tables, selector, solver and page read."""

from __future__ import annotations

from collections.abc import Iterable
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
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def either(parts: Iterable[Logic]) -> Logic:
    """Disjunction, simplified."""
    flat: list[Logic] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        flat.extend(part.parts if isinstance(part, Or) else (part,))
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
