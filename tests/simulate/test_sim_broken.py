"""The broken examples, emitted unproved: the simulator finds what is wrong by itself, on the kernel's line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from loading import EXAMPLES, example
from ptxspec.backend.emit import emit
from ptxspec.backend.simulate import Argument, PointerArgument, ScalarArgument, SimulationFault, simulate

from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import Expr

BROKEN = EXAMPLES / "broken"


def wide(rows: int, columns: int) -> np.ndarray:
    return np.zeros((rows, columns), np.float32)


CASES: dict[str, tuple[str, tuple[int, int, int], list[np.ndarray | int], str]] = {
    # file: kind of fault, thread, arguments, text on the kernel's line
    "aligned": ("misaligned", (0, 0, 0), [wide(64, 8), wide(64, 4)], "A.sub[tid, 1:5]"),
    "convergent": ("divergent-barrier", (0, 0, 0), [wide(64, 1)[:, 0], wide(64, 1)[:, 0]], "cta_sync"),
    "defined": ("undefined", (32, 0, 0), [wide(64, 4), wide(64, 4)], "st.global"),
    "race_between_blocks": ("race", (0, 0, 0), [wide(64, 1)[:, 0]], "B[tid] ="),
    "race_free": ("race", (0, 0, 0), [wide(64, 4), wide(64, 4)], "ld.shared"),
    "row_past_the_end": ("out-of-bounds", (63, 0, 0), [wide(64, 4), wide(64, 4)], "A.sub[tid + 1, :]"),
    "aligned_dtype_view": ("misaligned", (0, 0, 0), [wide(64, 1)[:, 0], np.zeros(16), 1], "wide[tid]"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_simulator_finds_it_too(name):
    kind, thread, given, text = CASES[name]
    path = BROKEN / f"{name}.py"
    kernel = example(f"broken/{name}").kernel.kernel()
    module = emit(kernel, "sm_90")
    args: list[Argument] = []
    for parameter, value in zip(module.params, given):
        if isinstance(value, np.ndarray):
            args.append(PointerArgument(np.ascontiguousarray(value), parameter.source.name))
        else:
            args.append(ScalarArgument(value, parameter.type))
    launch = kernel.launch
    grid = tuple(int(evaluate(extent, {})) if isinstance(extent, Expr) else extent for extent in launch.grid)
    with pytest.raises(SimulationFault) as caught:
        simulate(module.ptx, module.entry, grid, launch.block, args, line_map=module.line_map)  # type: ignore[arg-type]
    found = caught.value.faults[0]
    assert (found.kind, found.thread) == (kind, thread)
    assert found.span is not None
    assert Path(found.span.file) == path
    assert text in path.read_text().splitlines()[found.span.line - 1]
