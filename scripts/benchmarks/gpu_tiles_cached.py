"""Cooperative tile copies that stay in the L2 cache: done in microseconds, so that every round trip to memory shows."""

from __future__ import annotations

from benchmarks import gpu_tiles
from benchmarks.gpu_tiles import Work
from benchmarks.record import Result

TITLE = "Cooperative tile copies within the L2 cache"
METHOD = "16 MiB each way, on both sides also with blocks of 64 threads; otherwise as follows. " + gpu_tiles.METHOD


def works(quick: bool) -> list[Work]:
    """A matrix in square tiles, and one row."""
    matrix = Work("64x64 f32, 16 MiB each way", 2048, 2048, "float32", (64, 64))
    return [matrix] if quick else [
        matrix, Work("4096 f32 in one dimension, 16 MiB each way", 1 << 22, 0, "float32", (4096,))]


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    gpu_tiles.measure(result, works(quick), quick)
