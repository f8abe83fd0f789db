"""A counterexample run in the simulator: the same thread, the same values, the real fault."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ptxspec.diagnostics import PtxspecError
from ptxspec.lang.ir import Buffer, Kernel
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import BITS, Expr, Var

from .emit import emit
from .facts import grid_of

if TYPE_CHECKING:
    from ptxspec.proof import Counterexample

    from .simulate import Fault

#: A replay larger than this says so instead of filling the machine.
MOST_BYTES = 1 << 28
MOST_BLOCKS = 4096


@dataclass(frozen=True, slots=True)
class Replay:
    """What happened: the simulator's ``faults``, or the ``reason`` why the counterexample could not be run."""

    faults: tuple[Fault, ...] = ()
    reason: str = ""

    def text(self) -> str:
        """For people."""
        if self.reason:
            return f"replay: not run: {self.reason}"
        if not self.faults:
            return "replay: ran without a fault (it shows only in values, or needs other array contents)"
        return "\n".join(["replay in the simulator:", *("  " + f.diagnostic().render(source=False).replace("\n", "\n  ")
                                                         for f in self.faults)])


def replay(kernel: Kernel, counterexample: Counterexample, sm: str) -> Replay:
    """Run ``kernel``, unproved as it is, with zero-filled arrays and the counterexample's dimensions and scalars."""
    import numpy as np

    from .simulate import PointerArgument, ScalarArgument, simulate
    env: dict[Expr, int] = {}
    for source in (counterexample, counterexample.second):
        if source is not None:
            env.update(source.env)
    for variable in (*kernel.dims, *(p for p in kernel.params if isinstance(p, Var))):
        if variable not in env:
            named = counterexample.values.get(variable.name)
            env[variable] = named if named is not None else max(variable.lo or 0, 1)
    try:
        module = emit(kernel, sm)
        grid = grid_of(kernel, env)
        arguments: list[PointerArgument | ScalarArgument] = []
        total = 0
        for parameter in module.params:
            buffer = parameter.source
            if isinstance(buffer, Buffer):
                low, high = (evaluate(e, env) for e in buffer.layout.memory_range())
                size = max(high, 0) * BITS[buffer.dtype] // 8
                total += size
                if low < 0 or total > MOST_BYTES:
                    return Replay(reason=f"`{buffer.name}` would need {size:,} bytes" if low >= 0 else
                                  f"`{buffer.name}` reaches below its first element")
                arguments.append(PointerArgument(np.zeros(size, np.uint8), buffer.name))
            else:
                arguments.append(ScalarArgument(env[buffer], parameter.type, buffer.name))
        if prod(grid) > MOST_BLOCKS or 0 in grid:
            return Replay(reason=f"the grid has {prod(grid):,} blocks")
        result = simulate(module.ptx, module.entry, grid, kernel.launch.block, arguments, cluster=kernel.launch.cluster,
                          dynamic_shared=module.shared_dynamic, line_map=module.line_map, stop_on_fault=False)
    except Unknown as unknown:
        return Replay(reason=str(unknown))
    except PtxspecError as error:
        return Replay(reason=error.diagnostics[0].message)
    return Replay(result.faults)
