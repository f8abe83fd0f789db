"""Tiles dealt out by a number that only a launch knows, and wrongly so."""

from ptxspec import T

rows, cols = T.dim("rows"), T.dim("cols")
EXPECT = {
    "narrow_steps": ("P107", "two blocks write to one byte of B", "cols ="),
    "flat_rows": ("P107", "two threads write to one byte of B"),
    "another_divisor": ("P107",),
    "no_columns": ("P109", "the divisor must not be zero: `(cols + 63) // 64`", "cols = 0"),
    "one_column_less": ("P109", "the divisor must not be zero: `(cols + 63) // 64 - 1`"),
    "too_many_for_an_int32": ("P109", "does not fit int32"),
    "a_tile_too_many": ("P103", "n ="),
    "axes_mixed_up": ("P107", "two threads write to one byte of B"),
}


@T.function
def narrow_steps(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows, cols), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=100, block=64))
    T.assume(cols < 1 << 30)
    T.assume(rows < 1 << 30)
    across = (cols + 63) // 64
    for t in T.serial(T.cuda.block_idx("x"), across * ((rows + 63) // 64), 100):
        at = (t // across * 64, t % across * 60)
        T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at), offset=at)


# The tiles of one block: a row of them is as long as the block's step, so the next one is the tile below.
@T.function
def flat_rows(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows, cols), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=100, block=64))
    T.assume(cols < 1 << 30)
    T.assume(rows < 1 << 30)
    across = (cols + 63) // 64
    for t in T.serial(T.cuda.block_idx("x"), across * ((rows + 63) // 64), 100):
        at = (t // across * 63, t % across * 64)
        T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at), offset=at)


@T.function
def another_divisor(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows, cols), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((cols + 63) // 64) * ((rows + 63) // 64), block=64))
    T.assume(cols < 1 << 30)
    T.assume(rows < 1 << 30)
    T.assume(cols > 64)
    across = (cols + 63) // 64
    t = T.cuda.block_idx("x")
    at = (t // across * 64, t % (across - 1) * 64)
    T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at), offset=at)


@T.function
def no_columns(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows, cols), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((cols + 63) // 64) * ((rows + 63) // 64) + 1, block=64))
    T.assume(cols < 1 << 30)
    T.assume(rows < 1 << 30)
    across = (cols + 63) // 64
    t = T.cuda.block_idx("x")
    at = (t // across * 64, t % across * 64)
    T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at), offset=at)


@T.function
def one_column_less(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows, cols), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((cols + 63) // 64) * ((rows + 63) // 64), block=64))
    T.assume(cols < 1 << 30)
    T.assume(rows < 1 << 30)
    across = (cols + 63) // 64 - 1
    t = T.cuda.block_idx("x")
    at = (t // across * 64, t % across * 64)
    T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at), offset=at)


@T.function
def too_many_for_an_int32(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows, cols), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=100, block=64))
    across = (cols + 63) // 64
    for t in T.serial(T.cuda.block_idx("x"), across * ((rows + 63) // 64), 100):
        at = (t // across * 64, t % across * 64)
        T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at), offset=at)


@T.function
def a_tile_too_many(B: T.Tensor((3, 16), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=n * 3 + 1, block=4))
    T.assume(n >= 1)
    T.assume(n <= 4)
    t = T.cuda.block_idx("x")
    B[t // n, t % n * 4 + T.cuda.thread_idx("x")] = 1.0


depth = T.dim("depth")


@T.function
def axes_mixed_up(A: T.Tensor((rows, cols, depth), "float32"), B: T.Tensor((rows, cols, depth), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=100, block=128))
    T.assume(rows <= 1 << 10)
    T.assume(cols <= 1 << 10)
    T.assume(depth <= 1 << 10)
    first = T.cuda.block_idx("x") * 128 + T.cuda.thread_idx("x")
    for t in T.serial(first, rows * cols * depth, 12800):
        i, j, k = t // (cols * depth), t // depth % depth, t % depth
        if j < cols:
            B[i, j, k] = A[i, j, k]
