"""Proof time: flat in threads, blocks and trip counts, at most linear in applies."""

from __future__ import annotations

import tempfile
from pathlib import Path

import ptxspec
from benchmarks.kernels import proofs as kernels
from benchmarks.record import Result
from benchmarks.timing import median_seconds

TITLE = "Proof time against the size of the launch"
METHOD = (
    "Median time of `ptxspec.prove` on a freshly traced kernel, every obligation (bounds, alignment, races, "
    "initialisation, barriers, wrap-around) included, caches off. What each is compared with is the smallest kernel of "
    "its family: about 1 means that the size costs nothing."
)


def _time(make: object, rounds: int) -> tuple[float, str, int]:
    """Milliseconds of a proof, its verdict, and the number of obligations."""
    assert callable(make)
    report = ptxspec.prove(make(), sm="sm_90")
    made = [make() for _ in range(rounds)]
    for kernel in made:
        kernel.kernel()
    left = iter(made)
    seconds = median_seconds(lambda: ptxspec.prove(next(left), sm="sm_90"), rounds=rounds)
    return seconds * 1e3, report.verdict, len(report.obligations)


def _family(result: Result, words: str, sizes: list[tuple[str, object, int]], rounds: int) -> None:
    """One family: ``sizes`` are (label, factory, number of applies)."""
    base: float | None = None
    base_applies = 1
    for label, make, applies in sizes:
        ms, verdict, obligations = _time(make, rounds)
        note = f"{verdict}, {obligations} obligations"
        if base is None:
            base, base_applies = ms, applies
            result.add(f"{words}: {label}", ms, "ms", note=note)
        else:
            if applies != base_applies:
                note += f"; {ms / applies * 1e3:.3g} us an apply, {base / base_applies * 1e3:.3g} in the smallest"
            result.add(f"{words}: {label}", ms, "ms", against="the smallest", other=base, note=note)


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    rounds = 3 if quick else 9
    threads = [32, 256] if quick else [32, 64, 128, 256, 512, 1024]
    _family(result, "threads in a block", [
        (f"{n}", lambda n=n: kernels.exchange(1, n), 4) for n in threads], rounds)
    blocks = [1, 2**20] if quick else [1, 2**10, 2**20, 2**31 - 1]
    _family(result, "blocks of 64 threads", [
        (f"{n:,}", lambda n=n: kernels.exchange(n, 64), 4) for n in blocks], rounds)
    trips = [2, 2**10] if quick else [2, 2**10, 2**20, 2**30]
    _family(result, "trips of a loop", [(f"{n:,}", lambda n=n: kernels.looped(n), 2) for n in trips], rounds)
    counts = [4, 16] if quick else [4, 16, 64, 256]
    with tempfile.TemporaryDirectory() as folder:
        _family(result, "applies", [
            (f"{2 * n}", lambda n=n: kernels.applies(n, Path(folder)), 2 * n) for n in counts], min(rounds, 5))
