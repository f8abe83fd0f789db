"""Tiles over arrays whose shape only a launch knows: proved axis by axis, and refused where tiles overlap."""

from __future__ import annotations

import numpy as np
import pytest
from test_tiles import wide

import ptxspec
from ptxspec import T

M, N = T.dim("M"), T.dim("N")


def tiles(step=(32, 32), tile=(32, 32), storage="register", dtype="float32", multiple=4, shift=0, operation="store"):
    """Tiles of ``tile`` at multiples of ``step``."""
    @T.function
    def kernel(A: T.Tensor((M, N), dtype, align=16), B: T.Tensor((M, N), dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + step[1] - 1) // step[1], (M + step[0] - 1) // step[0]),
                                                  block=64))
        if multiple > 1:
            T.assume(N % multiple == 0)
        i, j = T.cuda.block_idx("y") * step[0] + shift, T.cuda.block_idx("x") * step[1]
        t = T.tile_load(A, shape=tile, offset=(i, j), storage=storage)
        if operation == "store":
            T.tile_store(B, t, offset=(i, j))
        elif operation == "scaled":
            T.tile_store(B, t * 2.0, offset=(i, j))
        else:
            T.tile_atomic_add(B, t, offset=(i, j))

    return kernel


@pytest.mark.parametrize("given", [
    {}, {"storage": "shared"}, {"operation": "scaled"}, {"operation": "add"}, {"dtype": "float64", "multiple": 2},
    {"multiple": 1}, {"step": (64, 48), "tile": (32, 16)}, {"dtype": "float16", "multiple": 8}])
def test_proved_and_right_for_any_shape(given) -> None:
    exe = ptxspec.compile(tiles(**given), target="sm_90")
    step, tile = given.get("step", (32, 32)), given.get("tile", (32, 32))
    dtype, operation = given.get("dtype", "float32"), given.get("operation", "store")
    rng = np.random.default_rng(3)
    for shape in ((64, 64), (33, 40), (7, 8), (100, 72)):
        a = rng.integers(-4, 5, shape).astype(dtype)
        b = rng.integers(-4, 5, shape).astype(dtype)
        expected = b.copy()
        for i in range(0, shape[0], step[0]):
            for j in range(0, shape[1], step[1]):
                window = np.s_[i:i + tile[0], j:j + tile[1]]
                if operation == "add":
                    expected[window] += a[window]
                else:
                    expected[window] = a[window] * (2 if operation == "scaled" else 1)
        exe(a, b)
        np.testing.assert_array_equal(b, expected)


def test_whole_vectors_from_an_assumed_pitch_and_single_elements_without() -> None:
    assert wide(ptxspec.compile(tiles(), target="sm_90").ptx)["ld.global.v4.b32"] >= 1
    assert "ld.global.v4.b32" not in wide(ptxspec.compile(tiles(multiple=1), target="sm_90").ptx)
    note = next(n for n in tiles(multiple=1).kernel().notes if "`A`" in n)
    assert "a pitch along axis 0 that is a multiple of 16 bytes, not `4*N`" in note


@pytest.mark.parametrize("kernel", [
    tiles(step=(16, 32)), tiles(step=(32, 16)), tiles(step=(31, 32)), tiles(step=(32, 28)),
    tiles(step=(16, 32), shift=3),
    tiles(step=(32, 16), storage="shared"), tiles(step=(16, 32), operation="scaled")])
def test_overlapping_tiles_are_never_proved(kernel) -> None:
    report = ptxspec.prove(kernel)
    assert report.verdict != "proved"
    assert any(o.code == "race-free" and o.verdict != "proved" for o in report.obligations)


def test_an_index_past_its_row_is_refused_though_the_rows_differ() -> None:
    """Without its bound a column runs into the next row: in-bounds says so, whatever the race test relies on."""
    @T.function
    def spill(A: T.Tensor((M, N), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(1, M), block=64))
        A[T.cuda.block_idx("y"), T.cuda.thread_idx("x")] = 1.0

    report = ptxspec.prove(spill)
    assert any(o.code == "in-bounds" and o.verdict == "refuted" for o in report.obligations)
