"""Gradients over rows that begin anywhere in memory: whole vectors from each row's own first boundary on."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_cases import DTYPES

import ptxspec
from ptxspec import T
from ptxspec.scalar import typed
from ptxspec.tiles import places

M, N = T.dim("M"), T.dim("N")


def copied(shape, tile, dtype="float32", threads=64, factor=None, target=None):
    """``B = A`` (or ``factor`` times it) in tiles; ``target``: the shape of ``B``, where it is another."""
    rows, columns = -(-shape[0] // tile[0]), -(-shape[1] // tile[1])

    @T.function
    def kernel(A: T.Tensor(shape, dtype, align=16), B: T.Tensor(target or shape, dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(columns, rows), block=threads))
        at = (T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1])
        t = T.tile_load(A, shape=tile, offset=at)
        T.tile_store(B, t if factor is None else t * factor, offset=at)

    return kernel


def opcodes(exe) -> set[str]:
    """Instructions on global memory."""
    return set(re.findall(r"(?m)\b((?:ld|st|red)\.global\S*)", exe.ptx))


def gradients(shape, dtype, seed=0):
    """Whole numbers, so that sums are exact: the gradient that is there, and the one that comes."""
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(1, 9, shape).astype(DTYPES[dtype]) for _ in range(2))


def check(exe, shape, dtype="float32", factor=1):
    """Run an adjoint: A's gradient has grown by B's, which is clear then."""
    ga, gb = gradients(shape, dtype)
    expected = ga + DTYPES[dtype](factor) * gb
    exe(np.zeros(shape, DTYPES[dtype]), np.zeros(shape, DTYPES[dtype]), ga, gb)
    np.testing.assert_array_equal(ga, expected)
    assert not gb.any()


@pytest.mark.parametrize("atomics", [True, False])
@pytest.mark.parametrize(("shape", "tile", "dtype", "threads"), [
    ((9, 133), (4, 64), "float32", 64), ((9, 133), (4, 64), "float32", 48), ((5, 199), (4, 48), "float32", 4),
    ((8, 263), (4, 128), "float16", 64), ((8, 262), (4, 128), "float16", 64)])
def test_the_adjoint_of_a_copy(shape, tile, dtype, threads, atomics) -> None:
    """Atomic additions were slower by vectors, so only additions without atomics go so."""
    exe = ptxspec.compile(copied(shape, tile, dtype, threads).adjoint(atomics=atomics), target="sm_90")
    found = opcodes(exe)
    assert ({"ld.global.v4.b32", "st.global.v4.b32"} <= found) != atomics
    assert any(o.startswith("red.global.add") for o in found) == atomics
    check(exe, shape, dtype)


def test_linear_arithmetic_in_between() -> None:
    exe = ptxspec.compile(copied((9, 133), (4, 64), factor=3.0).adjoint(atomics=False), target="sm_90")
    assert "ld.global.v4.b32" in opcodes(exe)
    check(exe, (9, 133), factor=3)


def test_an_end_that_begins_elsewhere_goes_singly() -> None:
    """B's rows begin at other places than A's: its elements are read one at a time, by the threads that own them."""
    kernel = copied((9, 133), (4, 64), target=(9, 134)).adjoint(atomics=False)
    notes = kernel.kernel_for("sm_90").notes
    assert any("`A_grad` goes by st.global.v4.b32" in n for n in notes)
    assert any("`B_grad` goes by ld.global.b32" in n for n in notes)
    exe = ptxspec.compile(kernel, target="sm_90")
    ga, gb = gradients((9, 133), "float32")[0], gradients((9, 134), "float32", 1)[1]
    expected = ga + gb[:, :133]
    exe(np.zeros((9, 133), np.float32), np.zeros((9, 134), np.float32), ga, gb)
    np.testing.assert_array_equal(ga, expected)
    # the last tile reaches past A's end: what it stored to B from there, zeros, has no source, but is cleared as well
    assert not gb.any()


@pytest.mark.parametrize("atomics", [True, False])
@pytest.mark.parametrize("shape", [(4, 64), (9, 133), (8, 130), (7, 195), (1, 63)])
def test_pitches_that_only_a_launch_knows(shape, atomics) -> None:
    @T.function
    def kernel(A: T.Tensor((M, N), "float32", align=16), B: T.Tensor((M, N), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + 63) // 64, (M + 3) // 4), block=64))
        at = (T.cuda.block_idx("y") * 4, T.cuda.block_idx("x") * 64)
        T.tile_store(B, T.tile_load(A, shape=(4, 64), offset=at), offset=at)

    exe = ptxspec.compile(kernel.adjoint(atomics=atomics), target="sm_90")
    assert ("ld.global.v4.b32" in opcodes(exe)) != atomics
    check(exe, shape)


@pytest.mark.parametrize("atomics", [True, False])
def test_tiles_of_several_arrays_meet(atomics) -> None:
    """A sum of rows that begin at the same and at other places: gradients reach all of them."""
    @T.function
    def kernel(A: T.Tensor((4, 133), "float32", align=16), B: T.Tensor((4, 137), "float32", align=16),
               C: T.Tensor((4, 136), "float32", align=16), D: T.Tensor((4, 133), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=64))
        at = (0, T.cuda.block_idx("x") * 64)
        a, b, c = (T.tile_load(x, shape=(4, 64), offset=at) for x in (A, B, C))
        T.tile_store(D, a + b * 2.0 - c, offset=at)

    exe = ptxspec.compile(kernel.adjoint(atomics=atomics), target="sm_90")
    arrays = [np.zeros((4, n), np.float32) for n in (133, 137, 136, 133)]
    grads = [np.random.default_rng(k).integers(1, 9, a.shape).astype(np.float32) for k, a in enumerate(arrays)]
    seed, wanted = grads[3].copy(), [g.copy() for g in grads]
    for g, factor in zip(wanted, (1, 2, -1), strict=False):
        g[:, :128] += factor * seed[:, :128]
    wanted[3][:, :128] = 0
    exe(*arrays, *grads)
    for g, w in zip(grads, wanted, strict=True):
        np.testing.assert_array_equal(g, w)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_offset(data) -> None:
    """Runtime offsets, past both ends too: every phase occurs, and nothing outside is touched."""
    rank = data.draw(st.integers(1, 3))
    width = data.draw(st.sampled_from([48, 64]))
    shape = (*(data.draw(st.integers(1, 4)) for _ in range(rank - 1)), data.draw(st.integers(width - 5, width + 40)))
    tile = (*(data.draw(st.integers(1, 3)) for _ in range(rank - 1)), width)
    threads, atomics = data.draw(st.sampled_from([7, 24, 32, 48])), data.draw(st.booleans())

    @T.function
    def kernel(A: T.Tensor(shape, "float32"), B: T.Tensor(shape, "float32"), Where: T.Tensor((rank,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=threads))
        at = tuple([Where[k] for k in range(rank)])
        T.tile_store(B, T.tile_load(A, shape=tile, offset=at), offset=at)

    exe = ptxspec.compile(kernel.adjoint(atomics=atomics), target="sm_90")
    for _ in range(4):
        at = [data.draw(st.integers(-1, n)) for n in shape[:-1]] + [data.draw(st.integers(-3, shape[-1] - width + 4))]
        ga, gb = gradients(shape, "float32")
        inside = tuple(slice(max(0, o), max(0, min(n, o + e))) for o, e, n in zip(at, tile, shape, strict=True))
        wanted, left = ga.copy(), gb.copy()
        wanted[inside] += gb[inside]
        left[inside] = 0
        exe(np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.array(at, np.int32), ga, gb)
        np.testing.assert_array_equal(ga, wanted)
        np.testing.assert_array_equal(gb, left)


def test_the_phase_is_not_believed(monkeypatch) -> None:
    right = places.phase
    monkeypatch.setattr(places, "phase", lambda *given: typed.binary("add", right(*given), 1))
    report = ptxspec.prove(copied((9, 133), (4, 64)).adjoint(atomics=False), sm="sm_90")
    assert report.verdict == "refuted"
    assert "aligned" in {o.code for o in report.obligations if o.verdict == "refuted"}


def test_tiles_that_overlap_are_refused_without_atomics() -> None:
    @T.function
    def kernel(A: T.Tensor((8, 261), "float32", align=16), B: T.Tensor((8, 264), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(4, 2), block=64))
        i, j = T.cuda.block_idx("y") * 4, T.cuda.block_idx("x")
        T.tile_store(B, T.tile_load(A, shape=(4, 64), offset=(i, j * 63)), offset=(i, j * 64))

    assert ptxspec.prove(kernel.adjoint(), sm="sm_90").verdict == "proved"
    report = ptxspec.prove(kernel.adjoint(atomics=False), sm="sm_90")
    assert report.verdict == "refuted"
    assert "race-free" in {o.code for o in report.obligations if o.verdict == "refuted"}
