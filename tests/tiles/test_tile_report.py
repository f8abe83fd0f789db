"""What the report says of tile operations: widths, what would widen them, and why each barrier stands."""

from __future__ import annotations

import numpy as np
import pytest
from test_tiles import wide

import ptxspec
from ptxspec import T
from ptxspec.layout import S, TileLayout
from ptxspec.tiles.banks import conflicts


def copy(shape, tile, dtype="float32", align=16, storage="register", assume=None, far=None):
    """Blocks of ``tile`` at a runtime column offset."""
    @T.function
    def kernel(A: T.Tensor(shape, dtype, align=align), B: T.Tensor(far or shape, dtype, align=16), q: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=64))
        if assume is not None:
            T.assume(q % assume == 0)
        i, j = T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1]
        t = T.tile_load(A, shape=tile, offset=(i, j + T.int64(q)), storage=storage)
        T.tile_store(B, t * 2.0 if storage == "register" else t, offset=(i, j))

    return kernel


def of(kernel, name: str) -> str:
    """The note on one array."""
    return next(n for n in kernel.kernel().notes if f"`{name}` goes by" in n)


@pytest.mark.parametrize(("kernel", "said"), [
    (copy((64, 64), (16, 16)), "wider needs an offset along axis 1 that is a multiple of 4: T.assume(q % 4 == 0)"),
    (copy((64, 66), (16, 16), assume=4), "wider needs a pitch along axis 0 that is a multiple of 16 bytes, not 264"),
    (copy((64, 64), (16, 15)), "wider needs a tile extent along axis 1 that is a multiple of 2, not 15"),
    (copy((64, 64), (16, 16), align=4, assume=4), "wider needs the base of `A` at a multiple of 16 bytes: align=16"),
    (copy((64, 64), (16, 16), assume=4), "the widest there is"),
])
def test_each_access_says_what_would_make_it_wider(kernel, said) -> None:
    assert said in of(kernel, "A")
    report = ptxspec.prove(kernel)
    assert of(kernel, "A") in report.notes
    assert of(kernel, "A") in report.text()


M, N = T.dim("M"), T.dim("N")


@T.function
def unknown_pitch(A: T.Tensor((M, N), "float32", align=16), B: T.Tensor((64, 64), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.tile_store(B, T.tile_load(A, shape=(8, 64)) * 2.0)


@T.function
def assumed(A: T.Tensor((M, N), "float32", align=16), B: T.Tensor((64, 64), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(N % 4 == 0)
    T.assume(M > 3)
    T.tile_store(B, T.tile_load(A, shape=(8, 64), offset=(1, 4)) * 2.0, offset=(3, 2))


@T.function
def narrow(A: T.Tensor((64, 63), "float32", align=16), B: T.Tensor((64, 63), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.tile_store(B, T.tile_load(A, shape=(64, 63)) * 2.0)


@pytest.mark.parametrize(("kernel", "name", "said"), [
    (unknown_pitch, "A", "a pitch along axis 0 that is a multiple of 16 bytes, not `4*N`: T.assume(N % 4 == 0)"),
    (assumed, "A", "(base align=16, pitch `4*N` bytes along axis 0, assumed N % 4 == 0)"),
    (assumed, "B", "every group of 2 elements of `B` starts at a multiple of 8 bytes (base align=16, pitch 256 bytes "
                   "along axis 0)"),
    (assumed, "B", "wider needs an offset along axis 1 that is a multiple of 4, not 2"),
    (narrow, "B", "wider needs a tile extent along axis 1 that is a multiple of 2, not 63"),
    (copy((64, 66), (16, 16)), "A", "a pitch along axis 0 that is a multiple of 16 bytes, not 264, and an offset along "
                                    "axis 1 that is a multiple of 4: T.assume(q % 4 == 0)"),
    (copy((64, 64), (16, 16), assume=4), "A", "assumed q % assume == 0"),
])
def test_notes_name_the_facts_and_everything_that_is_missing(kernel, name, said) -> None:
    assert said in of(kernel, name)


def test_the_assumption_that_is_asked_for_does_it() -> None:
    before, after = copy((64, 64), (16, 16)), copy((64, 64), (16, 16), assume=4)
    assert "ld.global.b32, 4 bytes" in of(before, "A")
    assert "ld.global.v4.b32, 16 bytes" in of(after, "A")
    exe = ptxspec.compile(after, target="sm_90")
    assert wide(exe.ptx)["ld.global.v4.b32"] >= 1
    a, b = np.arange(4096, dtype=np.float32).reshape(64, 64), np.zeros((64, 64), np.float32)
    exe(a, b, 8)
    np.testing.assert_array_equal(b[:32, :32], 2 * a[:32, 8:40])
    with pytest.raises(ptxspec.PtxspecError):
        exe(a, b, 7)        # the assumption is checked at launch


def test_a_copy_names_the_end_that_narrows_it() -> None:
    kernel = copy((64, 64), (16, 16), assume=4, far=(64, 66))

    @T.function
    def fused(A: T.Tensor((64, 64), "float32", align=16), B: T.Tensor((64, 66), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        T.tile_store(B, T.tile_load(A, shape=(16, 16)))

    assert "8 bytes an access" in of(kernel, "A")
    assert "dealt out in groups of 2 elements, as an array that one is written to takes them" in of(kernel, "A")
    assert "8 bytes an access" in of(fused, "A")
    assert "the other end is no wider: wider needs a pitch along axis 0 that is a multiple of 16" in of(fused, "A")


@T.function
def through(A: T.Tensor((64, 64), "float32", align=16), B: T.Tensor((64, 64), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.tile_store(B, T.tile_load(A, shape=(64, 64), storage="shared"))


@T.function
def turned(A: T.Tensor((64, 64), "float32", align=16), B: T.Tensor((64, 64), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    for k in range(8):
        t = T.tile_load(A, shape=(8, 64), offset=(8 * k, 0), storage="shared")
        x = T.cuda.thread_idx("x")
        for m in range(8):
            B[8 * k + m, x] = t[m, 63 - x]


@T.function
def changed(A: T.Tensor((64, 64), "float32", align=16), B: T.Tensor((64, 64), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    t = T.tile_load(A, shape=(64, 64), storage="shared")
    x = T.cuda.thread_idx("x")
    for m in range(64):
        t[m, 63 - x] = 1.0
    T.tile_store(B, t)


@pytest.mark.parametrize(("kernel", "count", "reasons"), [
    (through, 0, ()), (turned, 2, ("filled again", "after the tile is filled")),
    (changed, 2, ("after the tile is filled", "before the shared tile is stored"))])
def test_barriers_stand_only_where_something_would_race(kernel, count, reasons) -> None:
    exe = ptxspec.compile(kernel, target="sm_90")
    assert exe.ptx.count("bar.sync") == count
    standing = [n for n in kernel.kernel().notes if ": a barrier" in n]
    assert len(standing) == count
    for reason in reasons:
        assert any(reason in n and "without it, " in n for n in standing)
    a, b = np.arange(4096, dtype=np.float32).reshape(64, 64), np.zeros((64, 64), np.float32)
    exe(a, b)
    expected = {through: a, turned: a[:, ::-1], changed: np.ones_like(a)}[kernel]
    np.testing.assert_array_equal(b, expected)


@T.function
def transposed(A: T.Tensor((64, 64), "float32", align=16), B: T.Tensor((64, 64), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=(32, 4)))
    i, j = T.cuda.block_idx("y") * 32, T.cuda.block_idx("x") * 32
    t = T.tile_load(A, shape=(32, 32), offset=(i, j), storage="shared")
    x, y = T.cuda.thread_idx("x"), T.cuda.thread_idx("y")
    for k in range(8):
        B[j + 8 * y + k, i + x] = t[x, 8 * y + k]


def test_rows_read_across_are_padded_and_the_conflicts_left_are_told() -> None:
    """Lane x reads row x: all in one bank without padding. One word more in each row spreads them over all banks, by
    rows and by columns; vectors of 16 bytes would not go together with that."""
    notes = transposed.kernel().notes
    assert any("rows of `t` are padded by 4 bytes: no lanes wait on one bank, not 32; its vectors travel 4 bytes at a "
               "time" in n for n in notes)
    assert not any("up to" in n for n in notes)
    exe = ptxspec.compile(transposed, target="sm_90")
    assert wide(exe.ptx)["ld.global.v4.b32"] == 2
    assert wide(exe.ptx)["st.shared.b32"] == 8
    a, b = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32), np.zeros((64, 64), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a.T)


def test_rows_read_across_as_vectors_keep_their_vectors() -> None:
    """Lane x reads 16 bytes of row x: 16 more bytes a row spread each quarter of a warp over all banks."""
    @T.function
    def kernel(A: T.Tensor((32, 32), "float32", align=16), B: T.Tensor((32, 32), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        t = T.tile_load(A, shape=(32, 32), storage="shared")
        x = T.cuda.thread_idx("x")
        row = T.alloc_local((8, 4), "float32")
        for k in range(8):
            T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], row.sub[k, :], t.sub[x, 4 * k:4 * k + 4])
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[x, 4 * k:4 * k + 4], row.sub[k, :])

    assert any("rows of `t` are padded by 16 bytes: no lanes wait on one bank, not 8" in n
               for n in kernel.kernel().notes)
    exe = ptxspec.compile(kernel, target="sm_90")
    assert wide(exe.ptx)["st.shared.v4.b32"] == 8
    a, b = np.random.default_rng(1).standard_normal((32, 32)).astype(np.float32), np.zeros((32, 32), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a)


@pytest.mark.parametrize(("dtype", "worst"), [("float32", 2), ("float16", 1), ("uint8", 2), ("float64", 2)])
def test_transposes_hardly_wait(dtype, worst) -> None:
    @T.function
    def kernel(A: T.Tensor((32, 64), dtype, align=16), B: T.Tensor((64, 32), dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        T.tile_store(B, T.tile_transpose(T.tile_load(A, shape=(32, 64), storage="shared")))

    counts = [count for *_, count in conflicts(kernel.kernel())]
    assert counts
    assert max(counts) == worst
    a = np.random.default_rng(1).integers(0, 99, (32, 64)).astype(dtype)
    b = np.zeros((64, 32), dtype)
    ptxspec.compile(kernel, target="sm_90")(a, b)
    np.testing.assert_array_equal(b, a.T)


@pytest.mark.parametrize("kernel", [through, turned])
def test_rows_that_are_used_along_themselves_have_no_conflicts(kernel) -> None:
    assert not any("bank" in n for n in kernel.kernel().notes)


def _strided(step, dtype):
    @T.function
    def kernel(A: T.Tensor((32,), dtype)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        s = T.alloc_shared((32 * step,), dtype)
        x = T.cuda.thread_idx("x")
        s[x * step] = A[x]
        A[x] = s[x * step]

    return kernel.kernel()


@pytest.mark.parametrize(("step", "dtype", "count"), [
    (1, "float32", 1), (2, "float32", 2), (32, "float32", 32), (33, "float32", 1), (1, "float64", 1),
    (2, "float64", 2), (16, "float64", 16), (1, "uint8", 1)])
def test_conflicts_are_counted_as_the_hardware_serves_lanes(step, dtype, count) -> None:
    """The halves of a warp go one after the other when each lane moves 8 bytes."""
    assert {c for *_, c in conflicts(_strided(step, dtype))} == {count}


def _two(rows, across):
    @T.function
    def kernel(A: T.Tensor((256, 64), "float32", align=16), B: T.Tensor((256, 64), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        x = T.cuda.thread_idx("x")
        t = T.tile_load(A, shape=(rows, 64), storage="shared")
        if across:
            for m in range(rows):
                B[m, x] = t[m, 63 - x]
        else:
            T.tile_store(B, t)
        u = T.tile_load(A, shape=(rows, 64), offset=(rows, 0), storage="shared")
        if across:
            for m in range(rows):
                B[rows + m, x] = u[m, 63 - x]
        else:
            T.tile_store(B, u, offset=(rows, 0))

    return kernel


@pytest.mark.parametrize(("rows", "across", "tiles", "barriers"), [
    (16, False, 1, 0),     # each thread reads what it wrote itself: one place, no barrier
    (16, True, 2, 2),      # a barrier would be the price, and memory suffices
    (104, True, 1, 3)])    # 52 KiB in all: one place, and a barrier in between
def test_tiles_share_storage_where_it_is_free_or_needed(rows, across, tiles, barriers) -> None:
    kernel = _two(rows, across)
    exe = ptxspec.compile(kernel, target="sm_90")
    assert sum(b.scope == "shared" for b in kernel.kernel().buffers) == tiles
    assert exe.ptx.count("bar.sync") == barriers
    a, b = np.arange(256 * 64, dtype=np.float32).reshape(256, 64), np.zeros((256, 64), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b[:2 * rows], a[:2 * rows, ::-1] if across else a[:2 * rows])


@T.function
def grid_of_whole_tiles(A: T.Tensor((M, N), "float32", align=16), B: T.Tensor((M, N), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + 63) // 64, (M + 31) // 32), block=64))
    T.assume(N % 4 == 0)
    i, j = T.cuda.block_idx("y") * 32, T.cuda.block_idx("x") * 64
    T.tile_store(B, T.tile_load(A, shape=(32, 64), offset=(i, j), bounds_check=False), offset=(i, j))


@T.function
def same_assumed(A: T.Tensor((M, N), "float32", align=16), B: T.Tensor((M, N), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + 63) // 64, (M + 31) // 32), block=64))
    T.assume(N % 64 == 0)
    T.assume(M % 32 == 0)
    i, j = T.cuda.block_idx("y") * 32, T.cuda.block_idx("x") * 64
    T.tile_store(B, T.tile_load(A, shape=(32, 64), offset=(i, j), bounds_check=False), offset=(i, j))


@T.function
def partial_blocks(A: T.Tensor((100, 128), "float32", align=16), B: T.Tensor((128, 128), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=64))
    i, j = T.cuda.block_idx("y") * 64, T.cuda.block_idx("x") * 64
    T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=(i, j), bounds_check=False), offset=(i, j))


@T.function
def odd_array(A: T.Tensor((65, 63), "float32", align=16), B: T.Tensor((65, 63), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=64))
    i, j = T.cuda.block_idx("y") * 32, T.cuda.block_idx("x") * 32
    T.tile_store(B, T.tile_load(A, shape=(32, 32), offset=(i, j), aligned=True), offset=(i, j))


def _at(given, **claims):
    @T.function
    def kernel(A: T.Tensor((64, 64), "float32", align=16), B: T.Tensor((64, 64), "float32", align=16), q: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        if given:
            T.assume(q % 4 == 0)
            T.assume(q >= 0)
            T.assume(q <= 48)
        T.tile_store(B, T.tile_load(A, shape=(16, 16), offset=(0, q), **claims))

    return kernel


def test_a_false_claim_is_refused_with_the_least_that_would_make_it_true() -> None:
    for kernel, codes, said in (
        (grid_of_whole_tiles, {"P103"}, "the least that makes it true is T.assume(M % 32 == 0) and T.assume(N % 64 == "
                                        "0)"),
        (partial_blocks, {"P103"}, "`blockIdx.y * 64 + 64 <= 100` in every block (axis 0), so an extent of 128"),
        (odd_array, {"P101", "P103"}, "`blockIdx.x * 32 + 32 <= 63` in every block (axis 1), so an extent of 64"),
        (_at(None, bounds_check=False), {"P103"}, "T.assume(q >= 0) and T.assume(q <= 48) (proved)"),
        (_at(None, aligned=True), {"P101", "P103"}, "T.assume(q % 4 == 0)` is enough (proved)"),
    ):
        with pytest.raises(ptxspec.ProofError) as caught:
            ptxspec.compile(kernel, target="sm_90")
        assert {d.code for d in caught.value.diagnostics} == codes
        assert "counterexample: thread" in str(caught.value)
        assert said in str(caught.value)


@pytest.mark.parametrize("kernel", [same_assumed, _at(True, bounds_check=False), _at(True, aligned=True)])
def test_what_is_asked_for_is_enough(kernel) -> None:
    exe = ptxspec.compile(kernel, target="sm_90")
    assert "ld.global.v4.b32" in exe.ptx


def rows_of(shape, layout=None, view=False):
    """A tile of rows, doubled or not; ``view`` sees all but the first row."""
    @T.function
    def kernel(A: T.Tensor(shape, "float32", layout=layout, align=16), B: T.Tensor((16, 64), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        T.tile_store(B, T.tile_load(A.sub[1:, :] if view else A, shape=(16, 64)) * 2.0)

    return kernel


def test_a_dense_array_may_be_seen_as_one_row() -> None:
    """Said where its rows are no whole vectors, and of nothing else: padded arrays, parts, rows that are."""
    said = "work that treats all elements alike may see `A`, which is dense, as one row: A.view(-1)"
    for kernel in (rows_of((32, 67)), rows_of((M, N))):
        assert said in of(kernel, "A")
    padded = TileLayout(S[(32, 67) : (69, 1)])
    for kernel in (rows_of((32, 67), padded), rows_of((32, 67), view=True), rows_of((32, 68))):
        assert "as one row" not in of(kernel, "A")
