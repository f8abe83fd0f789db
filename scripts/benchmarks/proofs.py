"""Proof time: flat in threads, blocks and trip counts, at most linear in applies."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from math import log
from pathlib import Path

import ptxspec
from benchmarks.kernels import proofs as kernels
from benchmarks.record import Result
from benchmarks.timing import median_seconds

TITLE = "Proof time against the size of the launch"
METHOD = (
    "Median time of `ptxspec.prove` on a freshly traced kernel, every obligation (bounds, alignment, races, "
    "initialisation, barriers, wrap-around) included, caches off. What each is compared with is the smallest kernel of "
    "its family: about 1 means that the size costs nothing. The fitted exponent is the slope of a straight line "
    "through the logarithms of size and time (least squares): 0 is flat, 1 is linear. One thread and one block are "
    "left out of the fit: without a second one there is no race to exclude, which is another question."
)

#: Exponents up to these count as flat and as linear.
FLAT, LINEAR = 0.1, 1.05


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


def exponent(points: list[tuple[int, float]]) -> float:
    """The slope of a straight line through log(size), log(time), by least squares."""
    xs, ys = [log(size) for size, _ in points], [log(time) for _, time in points]
    middle, height = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - middle) * (y - height) for x, y in zip(xs, ys, strict=True)) / sum((x - middle) ** 2 for x in xs)


def _family(
    result: Result, words: str, sizes: list[int], make: Callable[[int], object], rounds: int, budget: float,
    single: bool = False,
) -> None:
    """One family: ``make(size)`` is a kernel; ``single`` says that size 1 is another question."""
    base: float | None = None
    points: list[tuple[int, float]] = []
    for size in sizes:
        ms, verdict, obligations = _time(lambda size=size: make(size), rounds)
        note = f"{verdict}, {obligations} obligations"
        if budget == LINEAR:
            note += f", {ms / size * 1e3:.3g} us each"
        if single and size == 1:
            result.add(f"{words}: 1", ms, "ms", note=note)
            continue
        points.append((size, ms))
        if base is None:
            base = ms
            result.add(f"{words}: {size:,}", ms, "ms", note=note)
        else:
            result.add(f"{words}: {size:,}", ms, "ms", against="the smallest", other=base, note=note)
    what = "flat" if budget == FLAT else "at most linear"
    result.add(f"{words}: fitted exponent", exponent(points), "", budget=budget, note=f"{what} is the budget")


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    rounds = 3 if quick else 15
    threads = [1, 32, 256] if quick else [1, 32, 64, 128, 256, 512, 1024]
    _family(result, "threads in a block", threads, lambda n: kernels.exchange(2, n), rounds, FLAT, single=True)
    blocks = [1, 2, 2**20] if quick else [1, 2, 2**10, 2**20, 2**31 - 1]
    _family(result, "blocks of 64 threads", blocks, lambda n: kernels.exchange(n, 64), rounds, FLAT, single=True)
    trips = [2, 2**10] if quick else [2, 2**5, 2**10, 2**20, 2**30]
    _family(result, "trips of a loop", trips, kernels.looped, rounds, FLAT)
    # Loops of a few trips are gone through one by one, which is another method: the fit starts above them.
    long = [2**5, 2**10] if quick else [2**5, 2**10, 2**20, 2**30]
    _family(result, "trips of a double-buffered loop", long, kernels.double_buffered, rounds, FLAT)
    counts = [1, 8] if quick else [1, 2, 4, 8, 16, 32, 64, 128]
    with tempfile.TemporaryDirectory() as folder:
        for words, family in (("loads and stores", "rows"), ("exchanges through shared memory", "exchanges"),
                              ("guarded scalar stores", "scalars")):
            _family(result, words, counts, lambda n, family=family: kernels.applies(n, Path(folder), family),
                    min(rounds, 5), LINEAR)
    repeats = [1, 64] if quick else [1, 4, 16, 64, 256, 1024, 4096]
    _family(result, "repeats of a load and a store", repeats, kernels.repeated, min(rounds, 5), LINEAR)
    elements = [8, 64] if quick else [8, 16, 32, 64, 128, 256]
    _family(result, "elements of a partial tile a thread", elements, kernels.partial_tiles, min(rounds, 5), LINEAR)
    _family(result, "the same, adjoint without atomics", elements,
            lambda n: kernels.partial_tiles(n).adjoint(atomics=False), min(rounds, 5), LINEAR)
