"""Compile latency of cooperative tile copies against Warp: warm, and in a fresh process."""

from __future__ import annotations

import json
import statistics
import sys
import time

from benchmarks.record import Result
from benchmarks.timing import fresh, median_of, peer

TITLE = "Compile latency of cooperative tiles"
METHOD = (
    "A checked copy of a matrix of any size in 64x64 float32 tiles, 128 threads, to a cubin for sm_90. Ours: tracing, "
    "proving every obligation, emitting, and assembling in process; no cache of any kind. Warp 1.19: an ahead-of-time "
    "build of the same kernel, no proofs; its precompiled header, made by the first build of a process, stays for "
    "later ones. The driver's cache, from which NVRTC and nvJitLink would answer a second time, is off for both. "
    "\"With its adjoint\": both kernels on our side, Warp's module with its backward pass on the other. "
    "Warm figures: medians within one process after the first; cold ones: whole fresh processes, imports included."
)

BUILD = """
import json, time
begun = time.perf_counter()
import ptxspec
imported = time.perf_counter()
from benchmarks.tile_latency import once
once({storage!r}, {shape!r}, {adjoint})
print(json.dumps({{"total": time.perf_counter() - begun, "imports": imported - begun}}))
"""

FIXED = (4096, 4096)


def once(storage: str, shape: tuple[int, int] | None, adjoint: bool) -> dict[str, float]:
    """Seconds of each stage for one fresh kernel; ``shape`` None: extents known at launch only."""
    from ptxspec.backend.assemble import assemble

    import ptxspec
    from benchmarks.kernels import tiles

    begun = time.perf_counter()
    kernel = tiles.copy_any(storage, 128) if shape is None \
        else tiles.copy_2d(*shape, "float32", (64, 64), 128, storage, True)
    stages = {"trace": 0.0, "compile": 0.0, "assemble": 0.0}
    for one in [kernel, kernel.adjoint()] if adjoint else [kernel]:
        at = time.perf_counter()
        one.kernel()
        traced = time.perf_counter()
        text = ptxspec.compile(one, target="sm_90").ptx
        compiled = time.perf_counter()
        assemble(text, "sm_90")
        done = time.perf_counter()
        for name, seconds in (("trace", traced - at), ("compile", compiled - traced), ("assemble", done - compiled)):
            stages[name] += seconds
    stages["total"] = time.perf_counter() - begun
    return stages


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    rounds = 2 if quick else 5
    for storage in ("register", "shared"):
        for adjoint in (False, True):
            theirs = peer("warp_tile_latency.py", storage, str(int(adjoint)), str(rounds + 1))
            if isinstance(theirs, str):
                result.remark(theirs)
                theirs = {}
            for shape, words in ((FIXED, "fixed sizes"), (None, "any size")):
                _compare(result, storage, shape, words, adjoint, theirs, rounds)


def _compare(result: Result, storage: str, shape: tuple[int, int] | None, words: str, adjoint: bool,
             theirs: dict[str, object], rounds: int) -> None:
    name = f"{storage} tiles, {words}{', with its adjoint' if adjoint else ''}"
    once(storage, shape, adjoint)
    warm = [once(storage, shape, adjoint) for _ in range(rounds)]
    split = ", ".join(f"{stage} {statistics.median(s[stage] for s in warm) * 1e3:.0f}"
                      for stage in ("trace", "compile", "assemble"))
    result.add(f"{name}: warm", statistics.median(s["total"] for s in warm) * 1e3, "ms",
               against="Warp, later build of a process", other=_milliseconds(theirs, "later"), note=f"ms: {split}")
    cold = fresh(BUILD.format(storage=storage, shape=shape, adjoint=adjoint), rounds=rounds)
    result.add(f"{name}: cold process", median_of(cold, "total") * 1e3, "ms", against="Warp, cold process",
               other=_milliseconds(theirs, "cold"), note=f"imports {median_of(cold, 'imports') * 1e3:.0f} ms of it")


def _milliseconds(answer: dict[str, object], key: str) -> float | None:
    return float(answer[key]) * 1e3 if key in answer else None  # type: ignore[arg-type]


if __name__ == "__main__":
    print(json.dumps(once(sys.argv[1], FIXED, len(sys.argv) > 2)))
