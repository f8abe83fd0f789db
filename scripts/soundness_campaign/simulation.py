"""The simulator's opinion: proved kernels run without a fault, counterexamples show theirs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product

import numpy as np
from ptxspec.backend.emit import emit
from ptxspec.backend.replay import replay
from ptxspec.backend.simulate import PointerArgument, ScalarArgument, simulate

from ptxspec.diagnostics import PtxspecError
from ptxspec.lang import ir
from ptxspec.lang.locate import storage
from ptxspec.layout import TileLayout
from ptxspec.proof import ProofReport
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import Expr, Var


def opinion(kernel: ir.Kernel, values: Mapping[str, range], report: ProofReport) -> dict[str, object] | None:
    """``agrees`` and details; None where the verdict promises nothing about a run."""
    if report.verdict == "proved":
        try:
            emit(kernel, "sm_90")
        except PtxspecError as error:  # a kernel that no text can be made of: refused with a code, whatever was proved
            return {"agrees": True, "about": "not emitted", "code": error.diagnostics[0].code}
        for chosen in product(*values.values()):
            found = faults(kernel, dict(zip(values, chosen, strict=True)), bool(report.not_judged))
            if found:
                return {"agrees": False, "about": "proved", "text": found[0]}
        return {"agrees": True, "about": "proved"}
    if report.verdict != "refuted":
        return None
    count: Counter[str] = Counter()
    text = ""
    for obligation in report.obligations:
        if obligation.verdict == "refuted":
            found_ = replay(kernel, obligation)
            count[found_.status] += 1
            if found_.status == "differs":
                text = found_.text()[:500]
    return {"agrees": not count["differs"], "about": "refuted", "replays": dict(count), "text": text}


def array(buffer: ir.Buffer, values: Mapping[str, int]) -> PointerArgument:
    """Zeros for a parameter, or its elements in ``values``, at the lowest address that the declared alignment allows:
    nothing rests on more."""
    low, high = (bound.const for bound in storage(buffer))
    low = min(low, 0)
    memory = np.zeros(high - low, buffer.dtype)
    for k in range(memory.size):
        memory[k] = values.get(f"{buffer.name}[{k}]", 0)
    if low:  # strides that reach below the pointer
        assert isinstance(buffer.layout, TileLayout)
        factors = [f for f in buffer.layout.shard if f.axis == "m"]
        memory = np.lib.stride_tricks.as_strided(
            memory[-low:], [f.extent.const for f in factors], [f.stride.const * memory.itemsize for f in factors])
    residue = buffer.align if buffer.align < 256 else 0
    return PointerArgument(memory, buffer.name, (residue + low * memory.itemsize) % 256)


def faults(kernel: ir.Kernel, scalars: Mapping[str, int], unfilled: bool) -> list[str]:
    """The faults of one run; ``unfilled``: but for bytes of shared memory that nobody wrote, which the report names as
    not judged."""
    module = emit(kernel, "sm_90")
    arguments: list[object] = []
    for parameter in module.params:
        source = parameter.source
        if isinstance(source, ir.Buffer):
            arguments.append(array(source, scalars))
        else:
            assert isinstance(source, Var)
            arguments.append(ScalarArgument(scalars[source.name], parameter.type))
    named: dict[Expr, int] = {p: scalars[p.name] for p in kernel.params if isinstance(p, Var)}
    grid = tuple(int(evaluate(g, named)) for g in kernel.launch.grid)
    if 0 in grid:       # nothing runs: no launch at all
        return []
    try:
        result = simulate(module.ptx, module.entry, grid, kernel.launch.block, arguments,
                          cluster=kernel.launch.cluster, dynamic_shared=module.shared_dynamic,
                          line_map=module.line_map, stop_on_fault=False)
    except PtxspecError as error:
        return [str(error)[:500]]
    return [f"{f.kind}: {f.message()}"[:500] for f in result.faults
            if not (unfilled and f.kind == "undefined" and f.buffer.startswith("shared_"))]
