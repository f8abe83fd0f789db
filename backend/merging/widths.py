"""Which instructions move so many elements at once on a target: the database is asked, nothing is assumed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ptxspec.forms.select import legal_widths


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
    legal = legal_widths(verb, space, sm, ptx)
    found: list[Width] = []
    for size in sorted({size for size, _, _ in legal if size >= 2 * element and size % element == 0}, reverse=True):
        fitting = [(size // lanes, lanes, opcode) for bytes_, lanes, opcode in legal if bytes_ == size]
        lane, _, opcode = min(fitting, key=lambda f: (f[0] != element, f[0] != 4, f[1]))
        found.append(Width(size // element, size, lane, opcode))
    return tuple(found)
