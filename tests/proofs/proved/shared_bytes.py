"""Shared memory of which every byte that is read was written before."""

from ptxspec import T

K = T.dim("K")
M = T.dim("M")
N = T.dim("N")


@T.function
def prefetch(A: T.Tensor((K, 64), "float32"), B: T.Tensor((K, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    if K > 0:
        s[0, tid] = A[0, tid]
    T.cuda.cta_sync()
    for i in T.serial(K):
        if i + 1 < K:
            s[(i + 1) % 2, tid] = A[i + 1, tid]
        B[i, tid] = s[i % 2, 63 - tid]
        T.cuda.cta_sync()


@T.function
def three_stages(A: T.Tensor((K, 64), "float32"), B: T.Tensor((K, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    T.assume(K >= 3)
    T.assume(K < 1000000)
    s = T.alloc_shared((3, 64), "float32")
    s[0, tid] = A[0, tid]
    s[1, tid] = A[1, tid]
    T.cuda.cta_sync()
    for i in T.serial(K):
        if i + 2 < K:
            s[(i + 2) % 3, tid] = A[i + 2, tid]
        B[i, tid] = s[i % 3, 63 - tid]
        T.cuda.cta_sync()


@T.function
def transposed_edge(A: T.Tensor((M, N), "float32"), B: T.Tensor((N, M), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + 15) // 16, (M + 15) // 16), block=(16, 16)))
    x = T.cuda.thread_idx("x")
    y = T.cuda.thread_idx("y")
    bx = T.cuda.block_idx("x")
    by = T.cuda.block_idx("y")
    s = T.alloc_shared((16, 17), "float32")
    if by * 16 + y < M and bx * 16 + x < N:
        s[y, x] = A[by * 16 + y, bx * 16 + x]
    T.cuda.cta_sync()
    if bx * 16 + y < N and by * 16 + x < M:
        B[bx * 16 + y, by * 16 + x] = s[x, y]


@T.function
def either_way(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    if n > 100:
        s[tid] = A[tid]
    else:
        s[63 - tid] = 0.0
    T.cuda.cta_sync()
    B[tid] = s[63 - tid]


@T.function
def reduced(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = A[tid]
    T.cuda.cta_sync()
    for i in T.serial(6):
        if tid < (32 >> i):
            s[tid] = s[tid] + s[tid + (32 >> i)]
        T.cuda.cta_sync()
    if tid == 0:
        B[0] = s[0]


@T.function
def same_unknown_row(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), row: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    T.assume(row >= 0)
    T.assume(row < 100)
    s = T.alloc_shared((100, 64), "float32")
    s[row, tid] = A[tid]
    T.cuda.cta_sync()
    B[tid] = s[row, 63 - tid]


@T.function
def written_where_it_runs(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    T.assume(n >= 1)
    s = T.alloc_shared((64,), "float32")
    for _ in T.serial(n):
        s[tid] = A[tid]
    T.cuda.cta_sync()
    B[tid] = s[63 - tid]


@T.function
def added_to_zeros(B: T.Tensor((64,), "uint32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((4, 1), "uint32")
    one = T.alloc_local((1,), "uint32")
    one[0] = 1
    if tid < 4:
        s[tid, 0] = 0
    T.cuda.cta_sync()
    T.cuda.tile.apply(T.ptx["red.shared.add.u32"], s.sub[tid % 4], one)
    T.cuda.cta_sync()
    B[tid] = s[tid % 4, 0]
