"""Compile latency of Warp, in the peers' interpreter: ahead-of-time builds of a plain copy. Prints one JSON object.

Arguments: rounds. The first build of a process includes its precompiled header.
"""

import contextlib
import json
import os
import statistics
import sys
import tempfile
import time

began = time.perf_counter()
import warp as wp  # noqa: E402

wp.config.quiet = True
wp.init()
imported = time.perf_counter()


@wp.kernel(enable_backward=False)
def exchange_rows(a: wp.array(dtype=wp.vec4), b: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    block = i // 64
    b[i] = a[block * 64 + (i + 1) % 64]


def main():
    module = sys.modules[__name__]
    times = []
    for _ in range(int(sys.argv[1])):
        with tempfile.TemporaryDirectory() as folder:
            wp.get_module(__name__).mark_modified()
            begun = time.perf_counter()
            with contextlib.redirect_stdout(sys.stderr):
                wp.compile_aot_module(module, arch=90, module_dir=folder, use_ptx=False)
            times.append(time.perf_counter() - begun)
            assert any(name.endswith(".cubin") for name in os.listdir(folder))
    later = statistics.median(times[1:]) if times[1:] else times[0]
    print(json.dumps({"first": times[0], "later": later, "imports": imported - began, "version": wp.__version__}))


main()
