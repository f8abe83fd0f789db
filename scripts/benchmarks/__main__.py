"""``scripts/bench``: pick benchmarks by name, run them, keep the results."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

from benchmarks import record

# name -> (module, in words); a module has ``run(result, quick)``, ``TITLE`` and ``METHOD``.
CPU = {
    "imports": "import time and modules loaded",
    "checks": "legality checks: warm, and in bulk on standard input",
    "proofs": "proof time against threads, blocks, trip counts, applies and sizes of tiles",
    "latency": "compile latency: trace, prove, emit, assemble; against TIRx and Warp",
    "tile_latency": "compile latency of tile copies against Warp",
    "emission": "registers and access widths of the emitted code, against nvcc",
    "simulator": "the simulator against numba's CUDA simulator",
}
GPU = {
    "gpu_copy": "dense copies of 2 GiB and of L2 size, 1- to 16-byte elements",
    "gpu_transpose": "transpose through swizzled shared memory",
    "gpu_rows": "copies of strided rows",
    "gpu_exchange": "exchange of rows through shared memory",
    "gpu_launch": "host time of a launch",
    "gpu_tiles": "cooperative tile copies",
    "gpu_tiles_cached": "cooperative tile copies within the L2 cache",
    "gpu_gradients": "adjoint kernels of cooperative tiles",
}
GROUPS = {"cpu": list(CPU), "gpu": list(GPU), "all": [*CPU, *GPU]}


def main(arguments: list[str]) -> int:
    """Run; 1 if a benchmark could not be run or missed a budget."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks, or cpu, gpu, all")
    parser.add_argument("--quick", action="store_true", help="smoke test: small and few; not saved")
    parser.add_argument("--no-save", action="store_true")
    parser.add_argument("--out", type=Path, default=record.KEPT)
    chosen = parser.parse_args(arguments)
    if not chosen.names:
        for name, words in {**CPU, **GPU}.items():
            print(f"{name:15} {words}")
        return 0
    names = [name for given in chosen.names for name in GROUPS.get(given, [given])]
    unknown = [name for name in names if name not in CPU and name not in GPU]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join([*CPU, *GPU, *GROUPS])}", file=sys.stderr)
        return 2
    failed = False
    for name in names:
        module = import_module(f"benchmarks.{name}")
        result = record.Result(name, module.TITLE, module.METHOD)
        print(f"\n== {name}: {module.TITLE}", flush=True)
        begun = time.perf_counter()
        try:
            module.run(result, chosen.quick)
        except Exception:
            traceback.print_exc()
            result.remark(f"stopped early: {traceback.format_exc(limit=0).strip().splitlines()[-1]}")
            failed = True
        record.finish(result)
        failed |= any(row.met is False for row in result.rows)
        if result.rows and not chosen.quick and not chosen.no_save:
            record.save(result, chosen.out)
        print(f"  {time.perf_counter() - begun:.1f} s", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
