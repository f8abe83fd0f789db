"""The simulator against numba's CUDA simulator, the exchange kernel."""

from __future__ import annotations

import numpy as np

import ptxspec
from benchmarks.kernels import moves
from benchmarks.record import Result
from benchmarks.timing import median_seconds, peer
from ptxspec import T

TITLE = "Simulator speed"
METHOD = (
    "The exchange of rows through shared memory, 64 threads a block, fresh random data, results checked. Ours runs the "
    "emitted PTX with every fault check on (bounds, alignment, undefined bytes, races, barriers); numba runs the same "
    "kernel as Python in its CUDA simulator, which checks none of these. Compilation is not included on either side."
)


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    random = np.random.default_rng()
    for blocks in (1, 16) if quick else (1, 64, 1024, 16384):
        executable = ptxspec.compile(moves.exchange(T, blocks), target="sim")
        a = random.standard_normal((blocks * 64, 4)).astype(np.float32)
        b = np.full_like(a, np.nan)
        executable(a, b)
        expected = np.roll(a.reshape(blocks, 64, 4), -1, axis=1).reshape(b.shape)
        if not np.array_equal(b.view(np.uint32), expected.view(np.uint32)):
            raise RuntimeError(f"wrong result with {blocks} blocks")
        seconds = median_seconds(lambda: executable(a, b), rounds=3 if quick else 5)  # noqa: B023
        other = None
        note = ""
        if blocks <= 1024:
            theirs = peer("numba_exchange.py", str(blocks), "1" if blocks >= 64 else "3")
            if isinstance(theirs, str):
                note = theirs
            else:
                other = float(theirs["seconds"]) * 1e3  # type: ignore[arg-type]
        result.add(f"exchange, {blocks:,} blocks of 64 threads", seconds * 1e3, "ms", against="numba's CUDA simulator",
                   other=other, budget=other / 50 if other and blocks == 1024 else None,
                   note=note or f"{blocks * 64 / seconds:,.0f} threads a second")
