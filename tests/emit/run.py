"""Run an emitted module in the simulator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from ptxspec.backend.emit import Module, emit
from ptxspec.backend.simulate import PointerArgument, ScalarArgument, simulate

from ptxspec.lang import ir


def run(kernel: ir.Kernel, values: Mapping[str, object], *, grid: int = 1, target: str = "sm_90") -> Module:
    """Emit and simulate ``kernel``; ``values`` by parameter or dimension name, arrays are changed in place."""
    module = emit(kernel, target)
    arguments: list[PointerArgument | ScalarArgument] = []
    for parameter in module.params:
        value = values[parameter.source.name]
        if isinstance(value, np.ndarray):
            arguments.append(PointerArgument(value, parameter.source.name))
        else:
            arguments.append(ScalarArgument(value, parameter.type))
    simulate(module.ptx, module.entry, (grid, 1, 1), kernel.launch.block, arguments,
             dynamic_shared=module.shared_dynamic, line_map=module.line_map)
    return module
