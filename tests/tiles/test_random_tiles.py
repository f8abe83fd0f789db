"""Random tile moves against NumPy: shapes, tiles, blocks, types and offsets that nobody picked."""

from __future__ import annotations

import numpy as np
import pytest
from tile_cases import DTYPES, moved

import ptxspec
from ptxspec import T


def kernel(shape, out, tile, dtype, threads, storage, twice, multiple):
    """Offsets are multiples of ``multiple``, read when the kernel runs."""
    rank = len(shape)

    @T.function
    def move(A: T.Tensor(shape, dtype), B: T.Tensor(out, dtype), Where: T.Tensor((2, rank), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=threads))
        source = tuple([T.int64(Where[0, k]) * multiple for k in range(rank)])
        target = tuple([T.int64(Where[1, k]) * multiple for k in range(rank)])
        t = T.tile_load(A, shape=tile, offset=source, storage=storage)
        T.tile_store(B, t, offset=target)
        if twice:
            T.cuda.cta_sync()
            T.tile_store(B, t, offset=target)

    return move


@pytest.mark.parametrize("seed", range(24))
def test_random_moves(seed) -> None:
    rng = np.random.default_rng(seed)
    rank = int(rng.integers(1, 4))
    most = (40, 14, 7)[rank - 1]
    shape, out = (tuple(int(n) for n in rng.integers(1, most, rank)) for _ in range(2))
    tile = tuple(int(rng.choice((1, 2, 3, 4, 5, 8, 16) if rank < 3 else (1, 2, 3, 4))) for _ in range(rank))
    dtype = str(rng.choice(["float32", "float16", "uint8", "float64", "int32"]))
    multiple = int(rng.choice([1, 2, 4, 8]))
    move = kernel(shape, out, tile, dtype, int(rng.choice([1, 3, 7, 8, 32, 33, 64])),
                  str(rng.choice(["register", "shared"])), bool(rng.integers(2)), multiple)
    exe = ptxspec.compile(move, target="sm_90")
    for _ in range(4):
        where = rng.integers(-6, 12, (2, rank)).astype(np.int32)
        a = rng.integers(0, 100, shape).astype(DTYPES[dtype])
        b = rng.integers(0, 100, out).astype(DTYPES[dtype])
        expected = moved(a, b, tile, [int(v) * multiple for v in where[0]], [int(v) * multiple for v in where[1]])
        exe(a, b, where)
        np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize(("extent", "tile", "multiple"), [(6, 3, 8), (6, 3, 7), (5, 8, 16), (1, 4, 3), (9, 2, 100)])
def test_steps_longer_than_the_array(extent, tile, multiple, storage) -> None:
    """Only one multiple lies inside: branches for tiles across an edge may never run, and refuse nothing."""
    move = kernel((extent,), (extent,), (tile,), "float32", 8, storage, False, multiple)
    exe = ptxspec.compile(move, target="sm_90")
    for source, target in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        a, b = np.arange(1, extent + 1, dtype=np.float32), np.full(extent, 99, np.float32)
        expected = moved(a, b, (tile,), [source * multiple], [target * multiple])
        exe(a, b, np.array([[source], [target]], np.int32))
        np.testing.assert_array_equal(b, expected)
