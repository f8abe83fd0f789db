"""Tile loads and stores against NumPy, in the simulator, which also watches every byte that is touched."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tile_cases import DTYPES, moved, window_kernel

import ptxspec
from ptxspec import T


def wide(ptx: str) -> dict[str, int]:
    """How many memory instructions of each opcode there are."""
    found: dict[str, int] = {}
    for opcode in re.findall(r"(?m)^\s*(?:@!?%p\d+ )?((?:ld|st)\.(?:global|shared)\S*)", ptx):
        found[opcode] = found.get(opcode, 0) + 1
    return found


def values(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Random bytes as elements (NaNs and denormals included)."""
    kind = DTYPES[dtype]
    raw = np.random.default_rng(seed).integers(0, 256, int(np.prod(shape)) * np.dtype(kind).itemsize, dtype=np.uint8)
    return raw.view(kind).reshape(shape)


CASES = [
    # array, tile, threads: whole vectors, odd widths, more threads than elements, a count that does not divide
    ((12, 16), (4, 8), 32), ((9, 7), (4, 4), 8), ((5, 6), (3, 5), 7), ((4, 4), (2, 2), 64), ((33,), (16,), 4),
    ((17,), (5,), 3), ((3, 4, 8), (2, 2, 4), 16), ((2, 3, 4, 5), (1, 2, 3, 4), 5),
]


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize(("shape", "tile", "threads"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "uint8", "float64", "float16"])
def test_any_offset_reads_zero_outside_and_writes_nothing_there(shape, tile, threads, dtype, storage) -> None:
    rng = np.random.default_rng(len(shape) * 100 + threads)
    exe = ptxspec.compile(window_kernel(shape, shape, dtype, tile, threads, storage), target="sm_90")
    a = values(shape, dtype, 1)
    for _ in range(4):
        source = [int(rng.integers(-t - 1, n + 2)) for t, n in zip(tile, shape, strict=True)]
        target = [int(rng.integers(-t - 1, n + 2)) for t, n in zip(tile, shape, strict=True)]
        b = values(shape, dtype, 2)
        expected = moved(a, b, tile, source, target)
        exe(a, b, np.array([source, target], np.int32))
        np.testing.assert_array_equal(b.view(np.uint8), expected.view(np.uint8))


def test_an_offset_near_the_largest_integer_does_not_wrap() -> None:
    exe = ptxspec.compile(window_kernel((8, 8), (8, 8), "float32", (4, 4), 16, "register"), target="sm_90")
    a, b = values((8, 8), "float32", 1), values((8, 8), "float32", 2)
    expected = moved(a, b, (4, 4), (2**31 - 2, 0), (0, 0))
    exe(a, b, np.array([[2**31 - 2, 0], [0, 0]], np.int32))
    np.testing.assert_array_equal(b.view(np.uint8), expected.view(np.uint8))


def test_a_tile_stored_twice_is_loaded_once() -> None:
    exe = ptxspec.compile(window_kernel((8, 8), (8, 8), "float32", (4, 4), 16, "register", twice=True), target="sm_90")
    a, b = values((8, 8), "float32", 1), values((8, 8), "float32", 2)
    expected = moved(a, b, (4, 4), (1, 2), (3, 0))
    exe(a, b, np.array([[1, 2], [3, 0]], np.int32))
    np.testing.assert_array_equal(b.view(np.uint8), expected.view(np.uint8))


def test_two_copies_taken_apart_stay_what_they_were() -> None:
    """Both tiles are used again after their copies; writing the first anew moves the second one's statements."""
    shape = (32, 8)

    @T.function
    def two(A: T.Tensor(shape, "float32", align=16), B: T.Tensor(shape, "float32", align=16),
            C: T.Tensor(shape, "float32", align=16), D: T.Tensor(shape, "float32", align=16),
            E: T.Tensor(shape, "float32", align=16), F: T.Tensor(shape, "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
        t = T.tile_load(A, shape=shape)
        T.tile_store(B, t)
        u = T.tile_load(C, shape=shape)
        T.tile_store(D, u)
        T.tile_store(E, t * 2.0)
        T.tile_store(F, u * 3.0)

    arrays = [np.random.default_rng(k).random(shape, dtype=np.float32) for k in range(6)]
    ptxspec.compile(two, target="sm_90")(*arrays)
    a, b, c, d, e, f = arrays
    for found, expected in ((b, a), (d, c), (e, 2 * a), (f, 3 * c)):
        np.testing.assert_array_equal(found, expected)


def test_32_bytes_an_access_where_target_and_base_allow_it() -> None:
    @T.function
    def copy(A: T.Tensor((64, 64), "float32", align=32), B: T.Tensor((64, 64), "float32", align=32)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(B, T.tile_load(A, shape=(64, 64)))

    a = np.random.default_rng(1).random((64, 64), dtype=np.float32)
    for sm, vector in (("sm_90", "v4"), ("sm_100", "v8")):
        exe = ptxspec.compile(copy, target=sm)
        assert set(wide(exe.ptx)) == {f"ld.global.{vector}.b32", f"st.global.{vector}.b32"}
        b = np.zeros_like(a)
        exe(a, b)
        np.testing.assert_array_equal(b, a)


@T.function
def interior(A: T.Tensor((128, 128), "float32", align=16), B: T.Tensor((128, 128), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=128))
    i, j = T.cuda.block_idx("y") * 64, T.cuda.block_idx("x") * 64
    t = T.tile_load(A, shape=(64, 64), offset=(i, j))
    T.tile_store(B, t, offset=(i, j))


def test_a_tile_that_surely_lies_inside_has_only_whole_vectors_and_no_branch() -> None:
    exe = ptxspec.compile(interior, target="sm_90")
    assert wide(exe.ptx) == {"ld.global.v4.b32": 8, "st.global.v4.b32": 8}
    assert "bra" not in exe.ptx
    a, b = values((128, 128), "float32", 3), values((128, 128), "float32", 4)
    exe(a, b)
    np.testing.assert_array_equal(b.view(np.uint8), a.view(np.uint8))


@T.function
def computed(A: T.Tensor((64, 64), "float32", align=16), C: T.Tensor((64, 64), "float32", align=16),
             B: T.Tensor((64, 64), "float32", align=16), scale: T.float32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=64))
    i, j = T.cuda.block_idx("y") * 32, T.cuda.block_idx("x") * 32
    t = T.tile_load(A, shape=(32, 32), offset=(i, j))
    u = T.tile_load(C, shape=(32, 32), offset=(i, j))
    T.tile_store(B, 2.0 * t - u * scale, offset=(i, j))


def test_arithmetic_on_tiles() -> None:
    exe = ptxspec.compile(computed, target="sm_90")
    rng = np.random.default_rng(5)
    a, c = (rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2))
    b = np.full_like(a, np.nan)
    exe(a, c, b, 3.0)
    np.testing.assert_array_equal(b, np.float32(2) * a - c * np.float32(3))


@T.function
def neighbours(A: T.Tensor((64, 64), "float32", align=16), B: T.Tensor((64, 64), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=(32, 4)))
    i, j = T.cuda.block_idx("y") * 32, T.cuda.block_idx("x") * 32
    t = T.tile_load(A, shape=(32, 32), offset=(i, j), storage="shared")
    x, y = T.cuda.thread_idx("x"), T.cuda.thread_idx("y")
    for k in range(8):
        B[j + 8 * y + k, i + x] = t[x, 8 * y + k]


def test_every_thread_sees_all_of_a_shared_tile() -> None:
    exe = ptxspec.compile(neighbours, target="sm_90")
    a, b = values((64, 64), "float32", 6), values((64, 64), "float32", 7)
    exe(a, b)
    np.testing.assert_array_equal(b.view(np.uint8), np.ascontiguousarray(a.T).view(np.uint8))


@pytest.mark.parametrize(("code", "make"), [
    ("P103", {"shape": (65, 63), "bounds_check": False}),
    ("P101", {"shape": (65, 63), "aligned": True, "tile": (4, 8)}),
])
def test_a_false_claim_is_refused_with_a_counterexample(code, make) -> None:
    shape, tile = make.pop("shape"), make.pop("tile", (16, 16))

    @T.function
    def claims(A: T.Tensor(shape, "float32", align=16), B: T.Tensor(shape, "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(4, 5), block=32))
        i, j = T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1]
        t = T.tile_load(A, shape=tile, offset=(i, j), **make)
        T.tile_store(B, t, offset=(i, j))

    with pytest.raises(ptxspec.ProofError) as caught:
        ptxspec.compile(claims, target="sm_90")
    assert code in {d.code for d in caught.value.diagnostics}
    assert "counterexample" in str(caught.value)


@pytest.mark.parametrize(("code", "call"), [
    ("K231", lambda A: T.tile_load(A, shape=(4,))),
    ("K231", lambda A: T.tile_load(A, shape=(4, 0))),
    ("K231", lambda A: T.tile_load(A, shape=(4, 4), offset=(1,))),
    ("K232", lambda A: T.tile_load(A, shape=(4, 4), storage="cache")),
    ("K232", lambda A: T.tile_load(A, shape=(4, 4), bounds_check=3)),
    ("K233", lambda A: T.tile_load(A, shape=(4, 3), aligned=True)),
    ("K230", lambda A: T.tile_store(A, 3)),
])
def test_misuse_has_its_code(code, call) -> None:
    from ptxspec.lang.trace import intrinsic
    intrinsic(call)

    @T.function
    def misuse(A: T.Tensor((8, 8), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        call(A)

    with pytest.raises(ptxspec.PtxspecError) as caught:
        ptxspec.compile(misuse, target="sm_90")
    assert caught.value.code == code


def test_a_tile_that_moves_within_one_array_is_loaded_whole_before_it_is_stored() -> None:
    """Each thread's first store hits what it loads as its second vector: without a race, and in the wrong order if the
    two were fused."""
    @T.function
    def shift(A: T.Tensor((512,), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(A, T.tile_load(A, shape=256), offset=128)

    exe = ptxspec.compile(shift, target="sm_90")
    a = np.arange(512, dtype=np.float32)
    expected = a.copy()
    expected[128:384] = a[:256]
    exe(a)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize(("shape", "threads", "order"), [
    ((128, 128), 256, "LS" * 4), ((128, 128), 128, "LLSS" * 4), ((128, 128), 64, "LLLLSSSS" * 4),
    ((128, 132), 128, "LS" * 8), ((128, 132), 64, "LLSS" * 8)])
def test_a_thread_goes_to_memory_and_back_a_few_times(shape, threads, order) -> None:
    """Vectors of 16 bytes are loaded together where a thread has many; fewer where rows share sectors of 32 bytes."""
    @T.function
    def kernel(A: T.Tensor(shape, "float32", align=16), B: T.Tensor(shape, "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=threads))
        at = (T.cuda.block_idx("x") // 2 * 64, T.cuda.block_idx("x") % 2 * 64)
        T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at, bounds_check=False), offset=at, bounds_check=False)

    moves = re.findall(r"(?m)^\s+(ld|st)\.global\.v4", ptxspec.compile(kernel, target="sm_90").ptx)
    assert "".join("L" if move == "ld" else "S" for move in moves) == order
