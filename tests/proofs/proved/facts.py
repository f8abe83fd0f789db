"""Facts on the path: guards, predicates, assumptions, ranges, symbolic sizes and the grid tied to them."""

from ptxspec import T

M = T.dim("M")
N = T.dim("N")
K = T.dim("K")


@T.function
def guard_by_if(A: T.Tensor((32,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    if tid < 32:
        B[tid] = A[tid]


@T.function
def guard_by_predicate(A: T.Tensor((32, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :], pred=tid < 32)


@T.function
def assumed_multiple(A: T.Tensor((64, N), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    T.assume(N % 4 == 0)
    T.assume(N >= 4)
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, 0:4])


@T.function
def assumed_offset(A: T.Tensor((4096,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    T.assume(n % 4 == 0)
    T.assume(n >= 0)
    T.assume(n < 1024)
    r = T.alloc_local((4,), "float32")
    start = n + 4 * tid
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A[start : start + 4])


@T.function
def symbolic_grid(A: T.Tensor((M, 64), "float32"), B: T.Tensor((M, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=64))
    row = T.cuda.block_idx("x")
    tid = T.cuda.thread_idx("x")
    B[row, tid] = A[row, tid]


@T.function
def rounded_grid(A: T.Tensor((M,), "float32"), B: T.Tensor((M,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 127) // 128, block=128))
    i = T.cuda.block_idx("x") * 128 + T.cuda.thread_idx("x")
    if i < M:
        B[i] = A[i]


@T.function
def grid_stride(A: T.Tensor((M,), "float32"), B: T.Tensor((M,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=64, block=128))
    first = T.cuda.block_idx("x") * 128 + T.cuda.thread_idx("x")
    for i in T.serial(first, M, 64 * 128):
        B[i] = A[i]


@T.function
def two_sizes(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(N, M), block=1))
    x = T.cuda.block_idx("x")
    y = T.cuda.block_idx("y")
    B[y, x] = A[y, x] * 2.0


@T.function
def select_and_min(A: T.Tensor((64,), "float32"), B: T.Tensor((128,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=128))
    tid = T.cuda.thread_idx("x")
    B[tid] = A[T.min(tid, 63)] + A[T.Select(tid < 64, tid, 127 - tid)]


@T.function
def masked_remainder(A: T.Tensor((M,), "float32"), B: T.Tensor((M,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    T.assume(M >= 1)
    T.assume(M <= 32)
    if tid < M:
        B[tid] = A[(tid + 1) % M]
