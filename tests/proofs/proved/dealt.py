"""Tiles dealt out by a number that only a launch knows: quotient and remainder give the tile's number back."""

from ptxspec import T

rows, cols = T.dim("rows"), T.dim("cols")


# Was unknown, after minutes: the quotient was held to wrap, and two tiles to lie in one place.
@T.function
def one_tile_a_block(A: T.Tensor((rows, cols), "float32", align=16), B: T.Tensor((rows, cols), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((cols + 63) // 64) * ((rows + 63) // 64), block=128))
    T.assume(cols < 1 << 30)
    T.assume(rows < 1 << 30)
    across = (cols + 63) // 64
    t = T.cuda.block_idx("x")
    at = (t // across * 64, t % across * 64)
    T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at), offset=at)


@T.function
def every_so_many(A: T.Tensor((rows, cols), "float32", align=16), B: T.Tensor((rows, cols), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=264, block=128))
    T.assume(cols < 1 << 30)
    T.assume(rows < 1 << 30)
    across = (cols + 63) // 64
    for t in T.serial(T.cuda.block_idx("x"), across * ((rows + 63) // 64), 264):
        at = (t // across * 64, t % across * 64)
        T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at), offset=at)


@T.function
def _counted(A: T.Tensor((rows, cols), "float32", align=16), B: T.Tensor((rows, cols), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=264, block=128))
    T.assume(cols <= 1 << 20)       # so that the number of tiles, which the adjoint counts down from, stays an int32
    T.assume(rows <= 1 << 20)
    across = (cols + 63) // 64
    for t in T.serial(T.cuda.block_idx("x"), across * ((rows + 63) // 64), 264):
        at = (t // across * 64, t % across * 64)
        T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=at) * 2, offset=at)


from_the_last_tile_on = _counted.adjoint()
from_the_last_tile_on_without_atomics = _counted.adjoint(atomics=False)


@T.function
def the_tiles_in_shared_memory(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows, cols), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=100, block=64))
    T.assume(cols < 1 << 30)
    T.assume(rows < 1 << 30)
    across = (cols + 31) // 32
    for t in T.serial(T.cuda.block_idx("x"), across * ((rows + 31) // 32), 100):
        at = (t // across * 32, t % across * 32)
        T.tile_store(B, T.tile_load(A, shape=(32, 32), offset=at, storage="shared"), offset=at)


@T.function
def columns_first(A: T.Tensor((rows, cols), "float32"), B: T.Tensor((rows, cols), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=100, block=64))
    T.assume(cols < 1 << 30)
    T.assume(rows < 1 << 30)
    down = (rows + 31) // 32
    for t in T.serial(T.cuda.block_idx("x"), down * ((cols + 31) // 32), 100):
        at = (t % down * 32, t // down * 32)
        T.tile_store(B, T.tile_load(A, shape=(32, 32), offset=at), offset=at)


@T.function
def a_parameter_divides(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32"), n: T.int32, m: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=3, block=4))
    T.assume(n >= 1)
    T.assume(n <= 4)
    T.assume(m >= 0)
    T.assume(m <= 3)
    tid = T.cuda.thread_idx("x")
    for t in T.serial(T.cuda.block_idx("x"), n * m, 3):
        B[t // n, t % n * 4 + tid] = A[t // n, t % n * 4 + tid]


# Rows are cut by one more than the tiles of a row: still every number has a place of its own.
@T.function
def more_than_there_are(B: T.Tensor((8, 24), "float32"), n: T.int32, m: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=n * m, block=4))
    T.assume(n >= 1)
    T.assume(n <= 4)
    T.assume(m >= 0)
    T.assume(m <= 3)
    t = T.cuda.block_idx("x")
    B[t // (n + 1), t % (n + 1) * 4 + T.cuda.thread_idx("x")] = 1.0


depth = T.dim("depth")


@T.function
def elements_of_three_axes(A: T.Tensor((rows, cols, depth), "float32"), B: T.Tensor((rows, cols, depth), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=100, block=128))
    T.assume(rows <= 1 << 10)
    T.assume(cols <= 1 << 10)
    T.assume(depth <= 1 << 10)
    first = T.cuda.block_idx("x") * 128 + T.cuda.thread_idx("x")
    for t in T.serial(first, rows * cols * depth, 12800):
        i, j, k = t // (cols * depth), t // depth % cols, t % depth
        B[i, j, k] = A[i, j, k]


@T.function
def tiles_of_many_arrays(A: T.Tensor((depth, rows, cols), "float32"), B: T.Tensor((depth, rows, cols), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=100, block=64))
    T.assume(rows <= 1 << 12)
    T.assume(cols <= 1 << 12)
    T.assume(depth <= 1 << 12)
    across, down = (cols + 31) // 32, (rows + 31) // 32
    for t in T.serial(T.cuda.block_idx("x"), depth * down * across, 100):
        at = (t // (down * across), t // across % down * 32, t % across * 32)
        T.tile_store(B, T.tile_load(A, shape=(1, 32, 32), offset=at), offset=at)
