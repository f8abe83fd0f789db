"""Compile latency of TIRx, in the peers' interpreter: lowering, then nvcc on its CUDA text. Prints one JSON object.

Arguments: KERNEL (exchange or strided), its size, rounds. ``first`` is the first compilation of this process.
"""

import json
import statistics
import sys
import time
from pathlib import Path

began = time.perf_counter()
import tvm_tirx  # noqa: E402
from tvm_tirx.script import tirx as T  # noqa: E402
from tvm_tirx.support.nvcc import compile_cuda  # noqa: E402
from tvm_tirx.tirx.layout import S, TileLayout  # noqa: E402

imported = time.perf_counter()
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernels"))
import moves  # noqa: E402


def build(which, size):
    """A fresh kernel, so that nothing is remembered from the last one."""
    return moves.exchange(T, size) if which == "exchange" else moves.strided(T, S, TileLayout, size)


def main():
    which, size, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rows = []
    for _ in range(rounds):
        t0 = time.perf_counter()
        function = build(which, size)
        t1 = time.perf_counter()
        compiled = tvm_tirx.tirx.compile(function, target={"kind": "cuda", "arch": "sm_90"})
        source = compiled.mod.imports[0].inspect_source()
        t2 = time.perf_counter()
        compile_cuda(source, backend_config={"cuda": {"arch": "sm_90", "compiler": "nvcc"}})
        t3 = time.perf_counter()
        rows.append({"trace": t1 - t0, "lower": t2 - t1, "nvcc": t3 - t2, "total": t3 - t0})
    answer = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    answer.update(first=rows[0], imports=imported - began, rounds=rounds, version=tvm_tirx.__version__)
    print(json.dumps(answer))


main()
