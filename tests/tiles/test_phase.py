"""Rows that begin anywhere in memory go by whole vectors from their own first boundary on, proved and right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_tiles import wide
from tile_cases import DTYPES, moved

import ptxspec
from ptxspec import T
from ptxspec.layout import S, TileLayout
from ptxspec.scalar import typed
from ptxspec.tiles import phase

M, N = T.dim("M"), T.dim("N")


def grid_copy(shape, tile, dtype="float32", threads=64, pitches=None, align=16, storage="register"):
    """Every tile of ``A`` to the same place of ``B``; ``pitches``: elements from row to row of either, where padded."""
    layouts = [TileLayout(S[tuple(shape) : (p, 1)]) for p in pitches] if pitches else ["default"] * 2
    rows, columns = -(-shape[0] // tile[0]), -(-shape[1] // tile[1])

    @T.function
    def kernel(A: T.Tensor(shape, dtype, layout=layouts[0], align=align),
               B: T.Tensor(shape, dtype, layout=layouts[1], align=align)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(columns, rows), block=threads))
        at = (T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1])
        T.tile_store(B, T.tile_load(A, shape=tile, offset=at, storage=storage), offset=at)

    return kernel


def offset_copy(shape, tile, dtype, threads):
    """One tile, at an offset that is read when the kernel runs."""
    rank = len(shape)

    @T.function
    def kernel(A: T.Tensor(shape, dtype), B: T.Tensor(shape, dtype), Where: T.Tensor((rank,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=threads))
        at = tuple([Where[k] for k in range(rank)])
        T.tile_store(B, T.tile_load(A, shape=tile, offset=at), offset=at)

    return kernel


def any_copy(tile=(4, 64), threads=64):
    """The copy for arrays of any shape."""
    @T.function
    def kernel(A: T.Tensor((M, N), "float32", align=16), B: T.Tensor((M, N), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(
            grid=((N + tile[1] - 1) // tile[1], (M + tile[0] - 1) // tile[0]), block=threads))
        at = (T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1])
        T.tile_store(B, T.tile_load(A, shape=tile, offset=at), offset=at)

    return kernel


def numbers(shape, dtype, seed=0):
    """Random bytes as numbers."""
    return np.random.default_rng(seed).integers(1, 100, shape).astype(DTYPES[dtype])


@pytest.mark.parametrize(("shape", "tile", "dtype", "threads", "opcode"), [
    ((9, 133), (4, 64), "float32", 64, "v4.b32"),
    ((9, 133), (4, 64), "float32", 48, "v4.b32"),        # threads that own more than others
    ((5, 199), (4, 48), "int32", 36, "v4.b32"),
    ((5, 199), (4, 48), "int32", 4, "v4.b32"),           # three turns of the block a row
    ((9, 263), (4, 128), "float16", 64, "v4.b32"),
    ((9, 262), (4, 128), "float16", 64, "v4.b32"),
    ((5, 519), (4, 256), "uint8", 64, "v4.b32"),
    ((5, 518), (4, 192), "uint8", 48, "v2.b32"),        # sixteen single elements a row would be too many for 12 lanes
])
def test_whole_vectors_whatever_the_pitch(shape, tile, dtype, threads, opcode) -> None:
    kernel = grid_copy(shape, tile, dtype, threads)
    exe = ptxspec.compile(kernel, target="sm_90")
    found = wide(exe.ptx)
    assert found.get(f"ld.global.{opcode}") and found.get(f"st.global.{opcode}")
    a, b = numbers(shape, dtype), np.zeros(shape, DTYPES[dtype])
    exe(a, b)
    np.testing.assert_array_equal(b, a)
    for note in ptxspec.prove(kernel, sm="sm_90").notes[:2]:
        assert f".global.{opcode}" in note
        assert "from each row's own first multiple of" in note
        assert f"(pitch {shape[1] * a.itemsize} bytes along axis 0)" in note


@pytest.mark.parametrize(("given", "why"), [
    ({"tile": (4, 32)}, "rows of 128 bytes are too short to pay"),
    ({"align": 4}, "the base may lie anywhere"),
    ({"pitches": (133, 134)}, "source and target rows begin at different places"),
    ({"shape": (9, 134), "pitches": None}, "8 bytes an access are wide enough"),
    ({"storage": "shared", "pitches": (133, 134)}, "as in registers"),
    ({"threads": 24}, "a row's 16 lanes and 24 threads do not go into each other"),
])
def test_where_rows_stay_as_they_are(given, why) -> None:
    given = {"shape": (9, 133), "tile": (4, 64), **given}
    exe = ptxspec.compile(grid_copy(**given), target="sm_90")
    assert not any(".v4" in opcode for opcode in wide(exe.ptx)), why


@pytest.mark.parametrize("pitches", [(133, 137), (137, 133), (133, 133), (141, 149)])
def test_pitches_that_leave_the_same_rest(pitches) -> None:
    shape = (9, 133)
    exe = ptxspec.compile(grid_copy(shape, (4, 64), pitches=pitches), target="sm_90")
    assert wide(exe.ptx)["st.global.v4.b32"]
    stores = [np.zeros((9, p), np.float32) for p in pitches]
    a, b = (s[:, :133] for s in stores)
    a[:] = numbers(shape, "float32")
    exe(a, b)
    np.testing.assert_array_equal(b, a)
    assert not stores[1][:, 133:].any()


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_offset(data) -> None:
    """Runtime offsets, negative and past the end too: every phase occurs, and nothing outside is touched."""
    dtype, width, threads = data.draw(st.sampled_from([
        ("float32", 48, 24), ("float32", 64, 64), ("float16", 96, 36), ("uint8", 192, 24), ("int32", 64, 8),
        ("float32", 64, 40)]))
    rank = data.draw(st.integers(1, 3))
    shape = (*(data.draw(st.integers(1, 4)) for _ in range(rank - 1)), data.draw(st.integers(width - 5, width + 40)))
    tile = (*(data.draw(st.integers(1, 3)) for _ in range(rank - 1)), width)
    exe = ptxspec.compile(offset_copy(shape, tile, dtype, threads), target="sm_90")
    for _ in range(6):
        at = [data.draw(st.integers(-1, n)) for n in shape[:-1]] + [data.draw(st.integers(-3, shape[-1] - width + 4))]
        a, b = numbers(shape, dtype, 1), numbers(shape, dtype, 2)
        expected = moved(a, b, tile, at, at)
        exe(a, b, np.array(at, np.int32))
        np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize("shape", [(4, 64), (9, 133), (8, 130), (7, 195), (8, 192), (1, 63), (3, 1)])
def test_pitches_that_only_a_launch_knows(shape) -> None:
    exe = ptxspec.compile(any_copy(), target="sm_90")
    assert wide(exe.ptx)["st.global.v4.b32"]
    a, b = numbers(shape, "float32"), np.zeros(shape, np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a)


def test_the_phase_is_not_believed(monkeypatch) -> None:
    """A phase that is off by one is refuted: the prover works addresses out for itself."""
    right = phase.phase
    monkeypatch.setattr(phase, "phase", lambda *given: typed.binary("add", right(*given), 1))
    report = ptxspec.prove(grid_copy((9, 133), (4, 64)), sm="sm_90")
    refuted = {o.code for o in report.obligations if o.verdict == "refuted"}
    assert report.verdict == "refuted"
    assert "aligned" in refuted


def test_rows_that_share_an_end_are_refuted(monkeypatch) -> None:
    """Ends taken one place too far meet the next tile's."""
    put = phase.put

    def too_far(at, axis, value):
        ends = getattr(value, "name", "") == "floormod"
        return put(at, axis, typed.binary("add", value, 1) if ends else value)

    monkeypatch.setattr(phase, "put", too_far)
    report = ptxspec.prove(grid_copy((9, 256 + 5), (4, 64)), sm="sm_90")
    assert report.verdict == "refuted"
    assert "race-free" in {o.code for o in report.obligations if o.verdict == "refuted"}


def test_tiles_that_overlap_are_refuted() -> None:
    @T.function
    def kernel(A: T.Tensor((8, 261), "float32", align=16), B: T.Tensor((8, 261), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(4, 2), block=64))
        at = (T.cuda.block_idx("y") * 4, T.cuda.block_idx("x") * 62)
        T.tile_store(B, T.tile_load(A, shape=(4, 64), offset=at), offset=at)

    report = ptxspec.prove(kernel, sm="sm_90")
    assert report.verdict == "refuted"
    assert "race-free" in {o.code for o in report.obligations if o.verdict == "refuted"}
