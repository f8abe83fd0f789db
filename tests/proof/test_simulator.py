"""Agreement with the simulator, which runs the emitted text and shares nothing with the prover below the kernel.

A proved kernel must run without a fault, whatever its scalars. (An undefined byte of shared memory may show where the
report says that it did not judge those.)
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from proof_support import generator

from ptxspec.diagnostics import KernelError
from ptxspec.lang import ir
from ptxspec.lang.locate import storage_elements
from ptxspec.proof import prove
from ptxspec.scalar.expr import Var

emit = pytest.importorskip("ptxspec.backend.emit").emit
simulate = pytest.importorskip("ptxspec.backend.simulate")


def faults_of(kernel: ir.Kernel, scalars: dict[str, int]) -> list[simulate.Fault]:
    """Every fault of one run."""
    module = emit(kernel, "sm_90")
    arguments: list[object] = []
    for parameter in module.params:
        source = parameter.source
        if isinstance(source, ir.Buffer):
            size = storage_elements(source).const
            # The lowest address that the declared alignment allows: nothing rests on more.
            residue = source.align if source.align < 256 else 0
            arguments.append(simulate.PointerArgument(np.zeros(size, "float32"), source.name, residue))
        else:
            assert isinstance(source, Var)
            arguments.append(simulate.ScalarArgument(scalars[source.name], parameter.type))
    grid = tuple(int(g.value) for g in kernel.launch.grid)  # type: ignore[attr-defined]
    result = simulate.simulate(
        module.ptx, module.entry, grid, kernel.launch.block, arguments, dynamic_shared=module.shared_dynamic,
        line_map=module.line_map, stop_on_fault=False,
    )
    return list(result.faults)


def check(seeds: range) -> int:
    """Prove and run; the number of kernels that were run."""
    count = 0
    for seed in seeds:
        made = generator.make(seed)
        try:
            kernel = made.trace()
        except KernelError:
            continue
        report = prove(kernel, use_cache=False)
        if report.verdict != "proved":
            continue
        count += 1
        for chosen in product(*made.values.values()):
            scalars = dict(zip(made.values, chosen, strict=True))
            found = faults_of(kernel, scalars)
            if report.not_judged:
                found = [f for f in found if f.kind != "undefined" or not f.buffer.startswith("shared_")]
            assert not found, f"kernel {seed} is proved, but shows {found[0].message()}\n{made.text}"
    return count


def replays(seeds: range) -> dict[str, int]:
    """Replay every counterexample of some kernels; what came of them."""
    replay = pytest.importorskip("ptxspec.backend.replay").replay
    count: dict[str, int] = {}
    for seed in seeds:
        made = generator.make(seed)
        try:
            kernel = made.trace()
        except KernelError:
            continue
        for obligation in prove(kernel, use_cache=False).obligations:
            if obligation.verdict != "refuted":
                continue
            found = replay(kernel, obligation)
            count[found.status] = count.get(found.status, 0) + 1
            assert found.status != "differs", f"kernel {seed}: {found.text()}\n{made.text}"
    return count


def test_counterexamples_show_their_fault() -> None:
    assert replays(range(24)).get("same", 0) > 20


@pytest.mark.slow
def test_many_counterexamples_show_their_fault() -> None:
    assert replays(range(95_000, 95_300)).get("same", 0) > 200


def test_proved_kernels_run_without_faults() -> None:
    assert check(range(1, 81, 2)) > 20


@pytest.mark.slow
def test_many_proved_kernels_run_without_faults() -> None:
    assert check(range(90_001, 90_801, 2)) > 200
