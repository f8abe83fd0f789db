"""Registers, spills and memory of each entry, read from an assembler's verbose log."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"^ptxas info\s*: Used (\d+) registers")
_BARRIERS = re.compile(r"[Uu]sed (\d+) barriers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
_CONSTANT = re.compile(r"(\d+)(?:\+\d+)? bytes cmem\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Resources:
    """What one entry needs on its target: registers a thread, and bytes."""

    entry: str
    target: str
    registers: int = 0
    barriers: int = 0
    stack: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    shared: int = 0
    constant: int = 0


def parse_resources(log: str) -> tuple[Resources, ...]:
    """One record for each entry that the log names, in its order; empty when the log is not a verbose one."""
    out: list[Resources] = []
    for line in log.splitlines():
        if found := _ENTRY.search(line):
            out.append(Resources(found[1], found[2]))
        elif not out:
            continue
        elif found := _STACK.search(line):
            out[-1] = replace(out[-1], stack=int(found[1]), spill_stores=int(found[2]), spill_loads=int(found[3]))
        elif found := _REGISTERS.match(line):
            out[-1] = replace(
                out[-1],
                registers=int(found[1]),
                barriers=_first(_BARRIERS, line),
                shared=_first(_SHARED, line),
                constant=sum(int(size) for size, _bank in _CONSTANT.findall(line)),
            )
    return tuple(out)


def _first(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return int(found[1]) if found else 0
