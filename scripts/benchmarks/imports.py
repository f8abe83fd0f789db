"""``import ptxspec``: time, number of modules, and that nothing heavy comes along."""

from __future__ import annotations

from benchmarks.record import Result
from benchmarks.timing import fresh, median_of, peers_python

TITLE = "Import time"
METHOD = (
    "Each figure is the median over fresh processes of the seconds that the import statement takes inside a running "
    "interpreter; files are in the page cache. `ptxspec.database()` with a first `check` is what a query tool pays."
)

HEAVY = ("z3", "numpy", "pydantic", "yaml", "ptxspec.backend", "typer", "rich", "cuda", "torch")

CODE = """
import json, sys, time
before = set(sys.modules)
begun = time.perf_counter()
{statement}
taken = time.perf_counter() - begun
new = set(sys.modules) - before
heavy = [name for name in {heavy!r} if name in sys.modules]
print(json.dumps(dict(ms=taken * 1e3, modules=len(new), heavy=heavy)))
"""


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    rounds = 3 if quick else 15
    answers = fresh(CODE.format(statement="import ptxspec", heavy=HEAVY), rounds=rounds)
    heavy = answers[0]["heavy"]
    result.add("import ptxspec", median_of(answers, "ms"), "ms", budget=60.0)
    result.add("modules loaded by it", median_of(answers, "modules"), "modules")
    result.add("heavy modules loaded by it", float(len(heavy)), "modules", budget=0.0,  # type: ignore[arg-type]
               note=", ".join(heavy) if heavy else "none of " + ", ".join(HEAVY))  # type: ignore[arg-type]
    first = 'import ptxspec; ptxspec.database().check("ld.global.v4.b32", sm="sm_90")'
    answers = fresh(CODE.format(statement=first, heavy=HEAVY), rounds=rounds)
    result.add("import, database and a first check", median_of(answers, "ms"), "ms",
               note="heavy modules: " + (", ".join(answers[0]["heavy"]) or "none"))  # type: ignore[arg-type]
    kernel = "import ptxspec; from ptxspec import T; from ptxspec.layout import S, TileLayout"
    ours = fresh(CODE.format(statement=kernel, heavy=HEAVY), rounds=rounds)
    python = peers_python()
    for name, statement in (
        ("TIRx 0.1.0a4", "import tvm_tirx; from tvm_tirx.script import tirx"),
        ("Warp 1.19.0", "import warp"),
    ):
        other = None
        if python is not None:
            other = median_of(fresh(CODE.format(statement=statement, heavy=HEAVY), python=python, rounds=rounds), "ms")
        result.add("import of the kernel language", median_of(ours, "ms"), "ms", against=name, other=other)
