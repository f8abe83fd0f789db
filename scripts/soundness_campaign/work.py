"""What a worker does with one task, and where kernels come from."""

from __future__ import annotations

import importlib.util
from functools import lru_cache
from pathlib import Path

from proof_support import generator

from ptxspec.diagnostics import KernelError
from ptxspec.lang import ir
from ptxspec.lang.function import KernelFunction
from soundness_campaign import families, judge, mutants, simulation, solvers
from soundness_campaign.pool import Record, Task

ROOT = Path(__file__).resolve().parents[2]
SIMULATED = 8       # one kernel in so many also runs in the simulator
EXTRA = 4           # one kernel in so many is of the further families


def made(seed: int) -> tuple[str, generator.Made]:
    """(family, kernel) of a seed."""
    if seed % EXTRA == 0:
        return families.make(seed)
    return "programs", generator.make(seed)


def generated(source: str) -> generator.Made | None:
    """The kernel that ``random 17`` or ``late 17`` names; None for a kernel of a file."""
    where, name = source.split(" ")
    if where == "random":
        return made(int(name))[1]
    return families.alone(where, int(name)) if where in families.ALL else None


def handle(task: Task) -> Record:
    """Any task."""
    kind, payload = task
    if kind == "kernel":
        return random_kernel(int(str(payload["seed"])), str(payload.get("of", "")))
    if kind == "mutant":
        return mutant(payload)
    return second_solver(str(payload["source"]))


# -- random kernels -------------------------------------------------------------------------------------------


def random_kernel(seed: int, family: str = "") -> Record:
    """Judge one, of the named family alone or of all; now and then ask the simulator."""
    family, source = (family, families.alone(family, seed)) if family else made(seed)
    record, kernel, report = judge.judged(source.text, source.values)
    record = {"seed": seed, "family": family, **record, "has": features(source.text)}
    if kernel is not None and report is not None and (seed // EXTRA) % SIMULATED == 0:
        record["simulator"] = simulation.opinion(kernel, source.values, report)
    if record["outcome"] in judge.WRONG:
        record["text"] = source.text
    return record


_FEATURES = {
    "several blocks": "block_idx", "loops": "T.serial(", "loops with a runtime trip count": "T.serial(n)",
    "guards": " if ", "predicates": "pred=", "preserve_dst": "preserve_dst", "shared memory": "alloc_shared",
    "barriers": "_sync()", "runtime scalars": "n: T.int32", "integer cells": '"int32"', "swizzles": "ComposeLayout(",
    "replicas": " R[", "explicit layouts": "TileLayout(S[", "scope warp": 'scope="warp"', "scope cta": 'scope="cta"',
    "barriers of a cluster": "cluster_sync",
    "scope warpgroup": 'scope="warpgroup"', "scope cluster": 'scope="cluster"', "negative strides": ": (-",
    "vectors": ".v", "repeats": ".view(2,", "bit operations on indices": "^", "reinterpreted elements": '.view("',
}


def features(text: str) -> list[str]:
    """What a kernel has, for the table of coverage."""
    body = text.split("@T.function", 1)[-1]
    return [name for name, word in _FEATURES.items() if word in body]


# -- mutants --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def changed(source: str) -> list[tuple[str, str]]:
    """All mutants of a source."""
    return list(mutants.mutants(source_text(source)))


def source_text(source: str) -> str:
    """``random 17``, ``late 17`` or ``examples/file.py kernel``."""
    random = generated(source)
    if random is not None:
        return random.text
    where, name = source.split(" ")
    return mutants.mentions((ROOT / where).read_text(), name)


def mutant(payload: dict[str, object]) -> Record:
    """Judge one mutant of a right kernel."""
    source, number = str(payload["source"]), int(str(payload["number"]))
    what, text = changed(source)[number]
    random = generated(source)
    values = random.values if random is not None else {}
    try:
        record, _, _ = judge.judged(text, values)
    except (SyntaxError, NameError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError) as error:
        if judge.broken_source(text):
            return {**payload, "what": what, "outcome": "no kernel", "text": str(error)[:200]}
        raise
    record = {**payload, "what": what, **record}
    if record["outcome"] in (*judge.WRONG, "unknown illegal"):
        record["text"] = text
    return record


def examples() -> list[str]:
    """The kernels of the examples."""
    found = sorted((ROOT / "examples").glob("*.py"))
    return [f"examples/{f.name} {name}" for f in found for name in mutants.kernels_of(f.read_text())]


# -- the second solver ----------------------------------------------------------------------------------------


def corpus() -> list[str]:
    """Files of written kernels: the corpus by verdict, the examples, the broken examples."""
    found = [f for pattern in ("tests/proofs/*/*.py", "examples/*.py", "examples/broken/*.py")
             for f in sorted(ROOT.glob(pattern))]
    return [f"{f.relative_to(ROOT)} {name}" for f in found for name in mutants.kernels_of(f.read_text())]


def second_solver(source: str) -> Record:
    """All goals of one kernel, by both solvers."""
    random = generated(source)
    try:
        kernel = random.trace() if random is not None else written(*source.split(" "))
    except KernelError:
        return {"source": source, "outcome": "refused"}
    return {"source": source, **solvers.compare(kernel)}


def written(where: str, name: str) -> ir.Kernel:
    """A kernel of a file."""
    spec = importlib.util.spec_from_file_location(where.replace("/", "_")[:-3], ROOT / where)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name)
    assert isinstance(found, KernelFunction)
    return found.kernel()
