"""Which instructions move so many elements at once on a target: the database is asked, nothing is assumed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ptxspec.forms.select import select_widest

#: Most bytes that any instruction moves for one thread, and the least worth asking for.
_SIZES = (32, 16, 8, 4, 2)


@dataclass(frozen=True, slots=True)
class Width:
    """``opcode`` moves ``count`` elements, ``bytes`` in all, in lanes of ``lane`` bytes."""

    count: int
    bytes: int
    lane: int
    opcode: str


@lru_cache(maxsize=256)
def widths(verb: str, space: str, element: int, sm: str, ptx: tuple[int, int] | None) -> tuple[Width, ...]:
    """Instructions for two elements of ``element`` bytes and more, widest first.

    Lanes of one element are taken where there are such: each is then a register of its own. Else 32-bit lanes, which
    the registers of smaller elements join to and part from most cheaply.
    """
    found: list[Width] = []
    for size in _SIZES:
        if size < 2 * element:
            break
        fitting = [f for f in select_widest(verb, space, size, size, sm, ptx).forms if f.bytes == size]
        if fitting:
            best = min(fitting, key=lambda f: (size // f.lanes != element, size // f.lanes != 4, f.lanes))
            found.append(Width(size // element, size, size // best.lanes, best.opcode))
    return tuple(found)
