"""Special registers as the assembler reads them: widths and floors.

PTX manual, section "Special Registers". The widths are those that ``mov`` takes (measured on ptxas 13.0 and 13.5): the
declared one, and narrower ones kept from the first PTX versions for the indices of threads and blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

_COMPONENTS = ("x", "y", "z", "w")


@dataclass(frozen=True, slots=True)
class SpecialInfo:
    """``cls`` is the type as a register (``b32``, ``b64``, ``pred``), ``widths`` the bits that ``mov`` may read,
    ``parts`` is 4 for a vector (``%tid``); ``ptx`` and ``sm`` are floors."""

    cls: str
    widths: tuple[int, ...]
    parts: int = 1
    ptx: tuple[int, int] = (1, 0)
    sm: int = 10


def _table() -> dict[str, SpecialInfo]:
    table: dict[str, SpecialInfo] = {}

    def add(names: str, info: SpecialInfo) -> None:
        for name in names.split():
            table[f"%{name}"] = info

    add("tid ntid ctaid nctaid", SpecialInfo("b32", (16, 32), 4))
    add("clusterid nclusterid cluster_ctaid cluster_nctaid", SpecialInfo("b32", (32,), 4, (7, 8), 90))
    add("cluster_ctarank cluster_nctarank", SpecialInfo("b32", (32,), 1, (7, 8), 90))
    add("is_explicit_cluster", SpecialInfo("pred", (1,), 1, (7, 8), 90))
    add("laneid warpid smid", SpecialInfo("b32", (32,), 1, (1, 3)))
    add("clock", SpecialInfo("b32", (32,)))
    add("nwarpid nsmid lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt",
        SpecialInfo("b32", (32,), 1, (2, 0), 20))
    add("gridid", SpecialInfo("b64", (16, 32, 64)))
    add("clock_hi", SpecialInfo("b32", (32,), 1, (5, 0), 20))
    add("clock64", SpecialInfo("b64", (64,), 1, (2, 0), 20))
    add("globaltimer", SpecialInfo("b64", (64,), 1, (3, 1), 30))
    add("globaltimer_lo globaltimer_hi", SpecialInfo("b32", (32,), 1, (3, 1), 30))
    add("total_smem_size dynamic_smem_size", SpecialInfo("b32", (32,), 1, (4, 1), 20))
    add("aggr_smem_size", SpecialInfo("b32", (32,), 1, (8, 1), 90))
    add("current_graph_exec", SpecialInfo("b64", (64,), 1, (8, 0), 50))
    add("reserved_smem_offset_begin reserved_smem_offset_end reserved_smem_offset_cap reserved_smem_offset_0"
        " reserved_smem_offset_1", SpecialInfo("b32", (32,), 1, (7, 6), 80))
    for i in range(8):
        add(f"pm{i}", SpecialInfo("b32", (32,), 1, (1, 3) if i < 4 else (3, 0), 10 if i < 4 else 20))
        add(f"pm{i}_64", SpecialInfo("b64", (64,), 1, (4, 0), 50))
    for i in range(32):
        add(f"envreg{i}", SpecialInfo("b32", (32,), 1, (2, 1)))
    return table


SPECIALS: dict[str, SpecialInfo] = _table()


def special_info(name: str) -> SpecialInfo | None:
    """What the special register spelled ``name`` is (``%tid`` is a vector, ``%tid.x`` a component), or None."""
    base, dot, part = name.partition(".")
    info = SPECIALS.get(base)
    if info is None or not dot:
        return info
    if info.parts == 1 or part not in _COMPONENTS:
        return None
    return SpecialInfo(info.cls, info.widths, 1, info.ptx, info.sm)
