"""Compile latency of Warp's tile copies, in the peers' interpreter: builds to a cubin. Prints one JSON object.

Arguments: storage, 1 for a backward pass too, builds. ``cold``: import, start and first build of this process.
"""

import time

began = time.perf_counter()

import contextlib  # noqa: E402
import importlib.util  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

import warp as wp  # noqa: E402

wp.config.quiet = True
wp.init()

TEXT = """
import warp as wp

wp.set_module_options({{"block_dim": 128}})


@wp.kernel(enable_backward={backward})
def copy_tiles(a: wp.array2d[float], b: wp.array2d[float]):
    i, j = wp.tid()
    t = wp.tile_load(a, shape=(64, 64), offset=(i * 64, j * 64), storage="{storage}")
    wp.tile_store(b, t, offset=(i * 64, j * 64))
"""


def main():
    storage, backward, builds = sys.argv[1], bool(int(sys.argv[2])), int(sys.argv[3])
    times = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "warp_tile_latency_kernel.py"
        path.write_text(TEXT.format(backward=backward, storage=storage))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        cold = None
        for k in range(builds):
            into = Path(folder) / f"build{k}"
            wp.get_module(path.stem).mark_modified()
            begun = time.perf_counter()
            with contextlib.redirect_stdout(sys.stderr):
                wp.compile_aot_module(module, arch=90, module_dir=into, use_ptx=False)
            times.append(time.perf_counter() - begun)
            cold = cold or time.perf_counter() - began
            assert any(name.endswith(".cubin") for name in os.listdir(into))
    later = statistics.median(times[1:]) if times[1:] else times[0]
    print(json.dumps({"first": times[0], "later": later, "cold": cold, "version": wp.__version__}))


main()
