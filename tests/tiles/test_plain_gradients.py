"""Adjoints without atomics: the same gradients where no two threads meet, a refusal with both threads where they do."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ptxspec
from ptxspec import T


def copy(n, m, block, dtype="float32", storage="register"):
    @T.function
    def tile_copy(A: T.Tensor((n, m), dtype, align=16), B: T.Tensor((n, m), dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(-(-m // 16), -(-n // 8)), block=block))
        i, j = T.cuda.block_idx("y") * 8, T.cuda.block_idx("x") * 16
        T.tile_store(B, T.tile_load(A, shape=(8, 16), offset=(i, j), storage=storage), offset=(i, j))

    return tile_copy


def run(kernel, arrays):
    """The arrays after the kernel, in the simulator."""
    given = [a.copy() for a in arrays]
    exe = ptxspec.compile(kernel, target="sm_90")
    assert exe.report is not None
    assert exe.report.verdict == "proved"
    exe(*given)
    return given, exe.ptx


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
@pytest.mark.parametrize(("n", "m", "block"), [(16, 32, 32), (15, 29, 32), (8, 16, 24), (5, 3, 128)])
def test_the_same_gradients_as_with_atomics(n, m, block, dtype, storage):
    random = np.random.default_rng(n * m)
    arrays = [random.integers(-8, 9, (n, m)).astype(dtype) for _ in range(4)]
    kernel = copy(n, m, block, dtype, storage)
    plain, text = run(kernel.adjoint(atomics=False), arrays)
    assert "red." not in text
    atomic, other = run(kernel.adjoint(), arrays)
    assert "red." in other
    for one, two in zip(plain, atomic, strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(plain[2], arrays[2] + arrays[3])
    assert not plain[3].any()


def test_additions_are_as_wide_as_copies():
    _, text = run(copy(64, 64, 32).adjoint(atomics=False), [np.zeros((64, 64), np.float32)] * 4)
    assert set(re.findall(r"(?:ld|st)\.global\S*", text)) == {"ld.global.v4.b32", "st.global.v4.b32"}


def test_tiles_that_meet_are_refused_with_both_threads():
    @T.function
    def twice(A: T.Tensor((8, 16), "float32"), B: T.Tensor((2, 8, 16), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32))
        t = T.tile_load(A, shape=(8, 16), offset=(0, 0))
        T.tile_store(B.sub[T.cuda.block_idx("x")], t, offset=(0, 0))

    assert ptxspec.compile(twice.adjoint(), target="sm_90").report.verdict == "proved"
    with pytest.raises(ptxspec.ProofError) as refused:
        ptxspec.compile(twice.adjoint(atomics=False), target="sm_90")
    text = str(refused.value)
    assert "P107" in text
    assert "A_grad" in text
    assert "block 1" in text


def test_two_reads_of_one_tile_add_up():
    @T.function
    def doubled(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(8, 16), offset=(0, 0))
        u = T.tile_load(A, shape=(8, 16), offset=(0, 0))
        T.tile_store(B, t + u * 2, offset=(0, 0))

    seed = np.arange(128, dtype=np.float32).reshape(8, 16)
    zero = np.zeros_like(seed)
    plain, _ = run(doubled.adjoint(atomics=False), [zero, zero, zero, seed])
    np.testing.assert_array_equal(plain[2], seed * 3)


def test_both_kinds_are_kernels_of_their_own():
    kernel = copy(16, 32, 32)
    assert kernel.adjoint() is kernel.adjoint(atomics=True)
    assert kernel.adjoint(atomics=False) is kernel.adjoint(atomics=False)
    assert kernel.adjoint() is not kernel.adjoint(atomics=False)
