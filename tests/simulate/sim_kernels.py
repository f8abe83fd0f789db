"""Building blocks of hand-written PTX for the simulator's tests."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from ptxspec.backend.simulate import Argument, Fault, PointerArgument, RunResult, SimulationFault, simulate
from ptxspec.backend.simulate.program import Resolver

_REGISTERS = {"p": "pred", "h": "b16", "r": "b32", "rd": "b64", "q": "b128"}
_USED = re.compile(r"%(p|h|r|rd|q)(\d+)\b")
HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"


def entry(body: str, params: str = "", *, head: str = "", attributes: str = "") -> str:
    """A module with one entry ``k``; registers are declared by use (%p %h %r %rd %q and a number)."""
    found: dict[str, int] = {}
    for name, number in _USED.findall(body):
        found[name] = max(found.get(name, 0), int(number))
    registers = "\n".join(f"  .reg .{_REGISTERS[n]} %{n}<{k + 1}>;" for n, k in found.items())
    return f"{HEAD}{head}\n.visible .entry k({params}) {attributes}\n{{\n{registers}\n{body}\n  ret;\n}}\n"


def pointers(*names: str) -> str:
    """Parameters that are global pointers."""
    return ", ".join(f".param .u64 .ptr .global .align 1 {name}" for name in names)


def run(ptx: str, args: Sequence[Argument | np.ndarray] = (), *, grid: int | tuple[int, int, int] = 1,
        block: int | tuple[int, int, int] = 32, **options: object) -> RunResult:
    """Simulate entry ``k``; arrays become pointer arguments called A, B, C..."""
    given = [PointerArgument(a, chr(65 + k)) if isinstance(a, np.ndarray) else a for k, a in enumerate(args)]
    three = [(e, 1, 1) if isinstance(e, int) else e for e in (grid, block)]
    return simulate(ptx, "k", three[0], three[1], given, **options)  # type: ignore[arg-type]


def fault(ptx: str, args: Sequence[Argument | np.ndarray] = (), **options: object) -> Fault:
    """The first fault of a run that must fault."""
    try:
        run(ptx, args, **options)  # type: ignore[arg-type]
    except SimulationFault as error:
        return error.faults[0]
    raise AssertionError("no fault was found")


def line_of(ptx: str, text: str) -> int:
    """The line on which ``text`` stands."""
    return next(k for k, line in enumerate(ptx.splitlines(), 1) if text in line)


# %rd1 = A + 4 * global thread number, %r1 = tid.x
PROLOGUE = """
  ld.param.u64 %rd9, [A];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mad.wide.u32 %rd1, %r4, 4, %rd9;
"""

__all__ = ["HEAD", "PROLOGUE", "Resolver", "entry", "fault", "line_of", "pointers", "run"]
