"""Compile latency: trace, prove, emit, assemble; warm and in a fresh process; against TIRx with nvcc, and Warp."""

from __future__ import annotations

import json
import statistics
import sys
import time

from benchmarks.record import Result
from benchmarks.timing import fresh, median_of, peer

TITLE = "Compile latency"
METHOD = (
    "`read_next_row` is the exchange of the data-movement guide (64 threads), `strided_load` the document's 105 vector "
    "loads into gapped registers. Ours: tracing a fresh kernel function, proving every obligation, emitting PTX, and "
    "assembling it to a cubin in process; no cache of any kind. TIRx 0.1.0a4: tracing, lowering, and nvcc on its CUDA "
    "text, the same kernel source in its language. Warp 1.19: an ahead-of-time build to a cubin, forward only, of an "
    "exchange written element by element. Warm figures are medians within one process after the first; cold ones are "
    "whole fresh processes, imports included. The series has the same kernel with more repeats; the peer is asked "
    "until one answer takes it a minute."
)

BUILD = """
import json, sys, time
begun = time.perf_counter()
import ptxspec
from ptxspec import T
from ptxspec.layout import S, TileLayout
from benchmarks.kernels import moves
from benchmarks.latency import once
imported = time.perf_counter()
first = once({which!r}, {size})
print(json.dumps(dict(first, total_s=time.perf_counter() - begun, imports=imported - begun)))
"""


def once(which: str, size: int, assembled: bool = True) -> dict[str, float]:
    """Seconds of each stage for one fresh kernel."""
    from ptxspec.backend.assemble import assemble

    import ptxspec
    from benchmarks.kernels import moves
    from ptxspec import T
    from ptxspec.layout import S, TileLayout

    t0 = time.perf_counter()
    function = moves.exchange(T, size) if which == "exchange" else moves.strided(T, S, TileLayout, size)
    function.kernel()
    t1 = time.perf_counter()
    report = ptxspec.prove(function, sm="sm_90")
    t2 = time.perf_counter()
    if report.verdict != "proved":
        raise RuntimeError(f"{which} of size {size} is {report.verdict}")
    executable = ptxspec.compile(function, target="sm_90")
    text = executable.ptx
    t3 = time.perf_counter()
    stages = {"trace": t1 - t0, "prove": t2 - t1, "compile": t3 - t2}
    if assembled:
        assemble(text, "sm_90")
        stages["assemble"] = time.perf_counter() - t3
    stages["total"] = time.perf_counter() - t0
    stages["lines"] = float(text.count("\n"))
    return stages


def whole(which: str, size: int, assembled: bool) -> float:
    """Seconds from the kernel function to PTX (or to a cubin): one ``compile``, as a user calls it."""
    from ptxspec.backend.assemble import assemble

    import ptxspec
    from benchmarks.kernels import moves
    from ptxspec import T
    from ptxspec.layout import S, TileLayout

    begun = time.perf_counter()
    function = moves.exchange(T, size) if which == "exchange" else moves.strided(T, S, TileLayout, size)
    text = ptxspec.compile(function, target="sm_90").ptx
    if assembled:
        assemble(text, "sm_90")
    return time.perf_counter() - begun


def _median(which: str, size: int, assembled: bool, rounds: int) -> float:
    whole(which, size, assembled)
    return statistics.median(whole(which, size, assembled) for _ in range(rounds))


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    rounds = 3 if quick else 9
    for which, size, name in (("exchange", 1, "read_next_row"), ("strided", 15, "strided_load")):
        to_ptx = _median(which, size, False, rounds)
        to_cubin = _median(which, size, True, rounds)
        stages = once(which, size)
        split = ", ".join(f"{key} {stages[key] * 1e3:.1f}" for key in ("trace", "prove", "assemble"))
        theirs = peer("tirx_latency.py", which, str(size), str(3 if quick else 7))
        lowered = total = None
        if isinstance(theirs, str):
            result.remark(theirs)
        else:
            lowered = (float(theirs["trace"]) + float(theirs["lower"])) * 1e3  # type: ignore[arg-type]
            total = float(theirs["total"]) * 1e3  # type: ignore[arg-type]
        result.add(f"{name}: trace + prove + emit, warm", to_ptx * 1e3, "ms", budget=30.0,
                   against="TIRx: trace + lower, no proofs, no nvcc", other=lowered)
        result.add(f"{name}: to a cubin, warm", to_cubin * 1e3, "ms", against="TIRx with nvcc", other=total,
                   budget=None if total is None else total / 10, note=f"budget: a tenth; stages once, ms: {split}")
        cold = fresh(BUILD.format(which=which, size=size), rounds=2 if quick else 5)
        cold_other = None
        if not isinstance(theirs, str):
            first = theirs["first"]
            cold_other = (first["total"] + theirs["imports"]) * 1e3  # type: ignore[index, operator]
        result.add(f"{name}: to a cubin, cold process after interpreter start", median_of(cold, "total_s") * 1e3, "ms",
                   against="TIRx with nvcc", other=cold_other,
                   note=f"imports {median_of(cold, 'imports') * 1e3:.0f} ms of it")
    warp = peer("warp_latency.py", str(3 if quick else 7))
    exchange_ms = _median("exchange", 1, True, rounds) * 1e3
    if isinstance(warp, str):
        result.remark(warp)
    else:
        result.add("read_next_row: to a cubin, warm", exchange_ms, "ms", against="Warp, later build of a process",
                   other=float(warp["later"]) * 1e3)  # type: ignore[arg-type]
        result.add("read_next_row: to a cubin, warm", exchange_ms, "ms", against="Warp, first build of a process",
                   other=float(warp["first"]) * 1e3)  # type: ignore[arg-type]
    _series(result, [9, 15, 37] if quick else [9, 15, 37, 74, 147, 293, 585])


def _series(result: Result, sizes: list[int]) -> None:
    """The same kernel with ever more repeats: what one more repeat costs must not grow."""
    asked = True
    least: dict[bool, float] = {}
    for size in sizes:
        repeats = 7 * size
        other = None
        if asked:
            theirs = peer("tirx_latency.py", "strided", str(size), "1", timeout=400)
            if isinstance(theirs, str):
                result.remark(f"TIRx at {repeats} repeats: {theirs}")
                asked = False
            else:
                other = float(theirs["total"]) * 1e3  # type: ignore[arg-type]
                asked = other < 60_000
        for assembled, words in ((False, "trace + prove + emit"), (True, "to a cubin")):
            ms = statistics.median(whole("strided", size, assembled) for _ in range(3)) * 1e3
            base = least.setdefault(assembled, ms / repeats)
            result.add(f"strided_load with {repeats:,} repeats: {words}", ms, "ms", against="TIRx with nvcc",
                       other=other,
                       note=f"{ms / repeats * 1e3:.0f} us a repeat, {ms / repeats / base:.2f} of the smallest's")


if __name__ == "__main__":
    print(json.dumps(once(sys.argv[1], int(sys.argv[2]))))
