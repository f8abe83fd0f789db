"""Special registers as the linter needs them, from the database's vocabulary (PTX manual, "Special Registers")."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

_COMPONENTS = frozenset({"x", "y", "z", "w"})


@dataclass(frozen=True, slots=True)
class SpecialInfo:
    """``cls`` is the type as a register of untyped bits (``b32``, ``b64``, ``pred``), ``widths`` the bits that ``mov``
    may read, ``parts`` is 4 for a vector (``%tid``); ``ptx`` and ``sm`` are floors."""

    cls: str
    widths: tuple[int, ...]
    parts: int = 1
    ptx: tuple[int, int] = (1, 0)
    sm: int = 10


@lru_cache(maxsize=1)
def specials() -> dict[str, SpecialInfo]:
    """All special registers by name, components not among them."""
    # Here and not above: the forms package reads operands from this package.
    from ptxspec.forms.registry import vocabulary

    found: dict[str, SpecialInfo] = {}
    for name, table in vocabulary().specials.items():
        cls = table.type if table.type == "pred" else "b" + table.type[1:]
        found[name] = SpecialInfo(cls, tuple(table.widths), max(1, len(table.parts)),
                                  (table.ptx // 10, table.ptx % 10), table.sm)
    return found


@lru_cache(maxsize=4096)
def special_info(name: str) -> SpecialInfo | None:
    """What the special register spelled ``name`` is (``%tid`` is a vector, ``%tid.x`` a component), or None."""
    base, dot, part = name.partition(".")
    info = specials().get(base)
    if info is None or not dot:
        return info
    if info.parts == 1 or part not in _COMPONENTS:
        return None
    return SpecialInfo(info.cls, info.widths, 1, info.ptx, info.sm)
