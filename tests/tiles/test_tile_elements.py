"""Single elements of tiles: assigned, read back, moved to shared memory where that is needed, and refused where not."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec import T


def matrix(*shape):
    """A parameter's type."""
    return T.Tensor(shape, "float32", align=16)


def run(kernel, *arguments) -> tuple[np.ndarray, np.ndarray, ptxspec.backend.executable.Executable]:
    """``A`` (8, 8) of random values, ``B`` after the kernel, and the executable."""
    exe = ptxspec.compile(kernel, target="sm_90")
    a, b = np.random.default_rng(5).random((8, 8), dtype=np.float32), np.zeros((8, 8), np.float32)
    exe(a, b, *arguments)
    return a, b, exe


def test_an_element_that_any_thread_assigns_is_seen_by_all() -> None:
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        t = T.tile_load(A, shape=(8, 8))
        x = T.cuda.thread_idx("x")
        t[x // 8, x % 8] = A[x // 8, x % 8] * 2.0
        B[x % 8, x // 8] = t[x % 8, x // 8]

    a, b, exe = run(kernel)
    np.testing.assert_array_equal(b, 2 * a)
    assert exe.ptx.count("bar.sync") == 2
    standing = [n for n in kernel.kernel().notes if ": a barrier" in n]
    assert any("before an element is assigned" in n and "without it, two threads write" in n for n in standing)
    assert any("after an element was assigned" in n and "without it, one thread reads" in n for n in standing)


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize("n", [0, 9])
def test_assignments_under_conditions_reach_the_store(n, storage) -> None:
    """The tile is complete in shared memory whichever way is taken; conditions of single threads get no barrier."""
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8), n: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        t = T.tile_load(A, shape=(8, 8), storage=storage)
        x = T.cuda.thread_idx("x")
        if n > 3:
            t[x // 8, x % 8] = 5.0
        if x < 8:
            t[0, x] = 7.0
        T.tile_store(B, t + 1.0)

    a, b, exe = run(kernel, n)
    expected = np.full_like(a, 5) if n > 3 else a.copy()
    expected[0] = 7
    np.testing.assert_array_equal(b, expected + 1)
    assert exe.ptx.count("bar.sync") == 2


def test_own_elements_stay_in_registers() -> None:
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
        t = T.tile_load(A, shape=(8, 8))
        for _ in range(3):
            for i, j in t.owned():
                t[i, j] = t[i, j] * 2.0 + 1.0
        for i, j in t.owned():
            t[i, j] += 1.0
        T.tile_store(B, t)

    a, b, exe = run(kernel)
    expected = a
    for _ in range(3):
        expected = expected * 2 + 1
    np.testing.assert_array_equal(b, expected + 1)
    assert "shared" not in exe.ptx


def test_own_elements_assigned_after_others_have_read_the_tile() -> None:
    """The copy in shared memory becomes the tile, so both ways of reading agree."""
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
        t = T.tile_load(A, shape=(8, 8))
        first = t[0, 0]
        for i, j in t.owned():
            t[i, j] = t[i, j] + first
        T.tile_store(B, t * t[7, 7])

    a, b, _ = run(kernel)
    expected = a + a[0, 0]
    np.testing.assert_array_equal(b, expected * expected[7, 7])


def test_rows_made_from_rows_in_a_loop() -> None:
    """Every trip reads what other threads wrote in the one before: one barrier a trip, and one after the load."""
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
        t = T.tile_load(A, shape=(8, 8), storage="shared")
        x = T.cuda.thread_idx("x")
        for k in range(1, 8):
            t[k, x] = t[k - 1, 7 - x]
        T.tile_store(B, t)

    a, b, exe = run(kernel)
    expected = a.copy()
    for k in range(1, 8):
        expected[k] = expected[k - 1][::-1]
    np.testing.assert_array_equal(b, expected)
    assert exe.ptx.count("bar.sync") == 8


def test_two_threads_that_assign_one_element_race() -> None:
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        t = T.tile_load(A, shape=(8, 8), storage="shared")
        x = T.cuda.thread_idx("x")
        t[x // 16, x % 8] = B[x // 8, x % 8]
        T.tile_store(B, t)

    with pytest.raises(ptxspec.ProofError) as caught:
        ptxspec.compile(kernel, target="sm_90")
    assert {d.code for d in caught.value.diagnostics} == {"P107"}


def test_code_that_would_go_on_with_old_registers_is_refused() -> None:
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        t = T.tile_load(A, shape=(8, 8))
        x = T.cuda.thread_idx("x")
        for _ in range(3):
            T.tile_store(B, t * 2.0)
            t[x // 8, x % 8] = 5.0

    with pytest.raises(ptxspec.PtxspecError) as caught:
        ptxspec.compile(kernel, target="sm_90")
    assert caught.value.code == "K242"


def test_an_element_outside_the_tile_is_refused() -> None:
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        t = T.tile_load(A, shape=(8, 8), storage="shared")
        t[T.cuda.thread_idx("x") // 4, 0] = 1.0
        T.tile_store(B, t)

    with pytest.raises(ptxspec.ProofError) as caught:
        ptxspec.compile(kernel, target="sm_90")
    assert "P103" in {d.code for d in caught.value.diagnostics}


def test_a_waiting_load_stays_in_its_loop_when_a_copy_is_taken_apart() -> None:
    """`t` was stored as one copy; using it again inside a loop re-opens that copy outside of the loop."""
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8), C: matrix(32, 8)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(8, 8))
        T.tile_store(B, t)
        for k in range(4):
            p = T.tile_load(C, shape=(8, 8), offset=(8 * k, 0))
            T.tile_store(B, t)
            T.tile_store(B, p + 0.0)

    c = np.random.default_rng(6).random((32, 8), dtype=np.float32)
    _, b, _ = run(kernel, c)
    np.testing.assert_array_equal(b, c[24:])


@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize(("dtype", "value"), [("float32", 2.5), ("int32", -7), ("float16", 0.5), ("uint8", 200)])
def test_filled_tiles(dtype, value, storage) -> None:
    @T.function
    def kernel(B: T.Tensor((9, 12), dtype)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        T.tile_store(B, T.tile_full((8, 8), value, dtype, storage), offset=(3, 0))

    b = np.ones((9, 12), dtype)
    ptxspec.compile(kernel, target="sm_90")(b)
    expected = np.ones((9, 12), dtype)
    expected[3:, :8] = value
    np.testing.assert_array_equal(b, expected)


def test_zeros_ones_and_computed_tiles_combine() -> None:
    @T.function
    def kernel(B: T.Tensor((16,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
        numbers = T.tile_arange(16) * 3 - 1
        T.tile_store(B, numbers + T.tile_ones(16, "int32") + T.tile_zeros(16, "int32", storage="shared"))

    b = np.zeros(16, np.int32)
    ptxspec.compile(kernel, target="sm_90")(b)
    np.testing.assert_array_equal(b, np.arange(16) * 3)


@pytest.mark.parametrize(("code", "function", "arguments"), [
    ("K231", T.tile_reshape, ("t", (3, 5))), ("K231", T.tile_broadcast, ("t", (8, 9))),
    ("K236", T.tile_squeeze, ("t", 0)), ("K231", T.tile_view, ("t", (0, 0, 0))), ("K230", T.tile_transpose, (3,)),
    ("K230", T.tile_squeeze, (3,)), ("K236", T.tile_squeeze, ("t", "t")), ("K216", list, ("t",)),
    ("K232", T.tile_zeros, (4, "float32", "texture")), ("K231", T.tile_arange, (4.5,)),
    ("K231", T.tile_full, ((4, 0), 1.0)), ("K231", T.tile_full, (4, "one"))])
def test_what_makes_no_tile_is_refused(code, function, arguments) -> None:
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(8, 8))
        function(*[t if a == "t" else a for a in arguments])

    with pytest.raises(ptxspec.PtxspecError) as caught:
        kernel.kernel()
    assert caught.value.code == code


def test_windows_of_a_tile_stay_inside() -> None:
    @T.function
    def kernel(A: matrix(8, 8), B: matrix(8, 8), q: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(8, 8), storage="shared")
        T.tile_store(B, T.tile_view(t, (q, 0), (4, 8)))

    with pytest.raises(ptxspec.ProofError) as caught:
        ptxspec.compile(kernel, target="sm_90")
    assert "P103" in {d.code for d in caught.value.diagnostics}
