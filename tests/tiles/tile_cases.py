"""Kernels of tile operations and what they must compute, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxspec import T

DTYPES = {"float32": np.float32, "float64": np.float64, "float16": np.float16, "uint8": np.uint8, "int32": np.int32,
          "int64": np.int64}


def window_kernel(shape: Sequence[int], out_shape: Sequence[int], dtype: str, tile: Sequence[int], threads: int,
                  storage: str, *, twice: bool = False):
    """One block: load a tile of ``A`` at a runtime offset, store it to ``B`` at another one.

    The offsets are read from the rows of ``Offsets``, so every rank has one signature.
    """
    rank = len(shape)
    shape, out_shape, tile = tuple(shape), tuple(out_shape), tuple(tile)

    @T.function
    def window(A: T.Tensor(shape, dtype), B: T.Tensor(out_shape, dtype), Offsets: T.Tensor((2, rank), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=threads))
        source = tuple([Offsets[0, k] for k in range(rank)])
        target = tuple([Offsets[1, k] for k in range(rank)])
        t = T.tile_load(A, shape=tile, offset=source, storage=storage)
        if twice:
            T.tile_store(B, t, offset=target)
            T.cuda.cta_sync()
        T.tile_store(B, t, offset=target)

    return window


def moved(a: np.ndarray, b: np.ndarray, tile: Sequence[int], source: Sequence[int],
          target: Sequence[int]) -> np.ndarray:
    """``b`` after the tile at ``source`` of ``a`` was stored at ``target``: zeros from outside, nothing to there."""
    result = b.copy()
    for at in np.ndindex(*tile):
        start = tuple(o + i for o, i in zip(source, at, strict=True))
        stop = tuple(o + i for o, i in zip(target, at, strict=True))
        inside = all(0 <= i < n for i, n in zip(start, a.shape, strict=True))
        if all(0 <= i < n for i, n in zip(stop, b.shape, strict=True)):
            result[stop] = a[start] if inside else 0
    return result
