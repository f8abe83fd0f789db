"""The exchange kernel in numba's CUDA simulator, in the peers' interpreter. Prints one JSON object.

Arguments: blocks, rounds.
"""

import json
import os
import statistics
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import numba
import numpy as np
from numba import cuda

THREADS = 64


@cuda.jit
def exchange_rows(a, b):
    shared = cuda.shared.array((64, 4), numba.float32)
    registers = cuda.local.array(4, numba.float32)
    tid = cuda.threadIdx.x
    row = cuda.blockIdx.x * 64 + tid
    for w in range(4):
        registers[w] = a[row, w]
    for w in range(4):
        shared[tid, w] = registers[w]
    cuda.syncthreads()
    for w in range(4):
        registers[w] = shared[(tid + 1) % 64, w]
    for w in range(4):
        b[row, w] = registers[w]


def main():
    blocks, rounds = int(sys.argv[1]), int(sys.argv[2])
    a = np.random.default_rng().standard_normal((blocks * THREADS, 4)).astype(np.float32)
    times = []
    for _ in range(rounds):
        b = np.full_like(a, np.nan)
        begun = time.perf_counter()
        exchange_rows[blocks, THREADS](a, b)
        times.append(time.perf_counter() - begun)
        assert np.array_equal(b.reshape(blocks, THREADS, 4), np.roll(a.reshape(blocks, THREADS, 4), -1, axis=1))
    print(json.dumps({"seconds": statistics.median(times), "numba": numba.__version__}))


main()
