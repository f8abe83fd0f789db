"""Sizes, offsets and strides that only a launch knows; why each is right stands above it."""

from ptxspec import T
from ptxspec.layout import S, TileLayout

M = T.dim("M")
N = T.dim("N")
K = T.dim("K")
LD = T.dim("LD")


# Row block_idx exists because the grid is M; columns are covered in whole vectors because N is a multiple of 4.
@T.function
def rows_in_vectors(A: T.Tensor((M, N), "float32", align=16), B: T.Tensor((M, N), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=64))
    T.assume(N % 4 == 0)
    r = T.alloc_local((4,), "float32")
    for c in T.serial(4 * T.cuda.thread_idx("x"), N, 256):
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[T.cuda.block_idx("x"), c : c + 4])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[T.cuda.block_idx("x"), c : c + 4], r)


# The pitch is a runtime stride at least as long as a row, so rows never meet.
@T.function
def rows_with_a_runtime_pitch(A: T.Tensor((M, LD), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=64))
    T.assume(LD >= 64)
    rows = A.view(M, 64, layout=TileLayout(S[(M, 64) : (LD, 1)]))
    rows[T.cuda.block_idx("x"), T.cuda.thread_idx("x")] = 1.0


# A transpose of any size: both guards, the tile padded by a column.
@T.function
def transpose_any_size(A: T.Tensor((M, N), "float32"), B: T.Tensor((N, M), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + 31) // 32, (M + 31) // 32), block=(32, 8)))
    tile = T.alloc_shared((32, 33), "float32")
    x = T.cuda.thread_idx("x")
    y = T.cuda.thread_idx("y")
    bx = T.cuda.block_idx("x") * 32
    by = T.cuda.block_idx("y") * 32
    for k in range(4):
        if by + y + 8 * k < M and bx + x < N:
            tile[y + 8 * k, x] = A[by + y + 8 * k, bx + x]
        else:
            tile[y + 8 * k, x] = 0.0
    T.cuda.cta_sync()
    for k in range(4):
        if bx + y + 8 * k < N and by + x < M:
            B[bx + y + 8 * k, by + x] = tile[x, y + 8 * k]


# (M - 1) // 8 of the last row is at most the last group; remainders lie below 8.
@T.function
def groups_of_eight_rows(A: T.Tensor((M,), "float32"), B: T.Tensor((K, 8), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=1))
    T.assume(M <= 8 * K)
    row = T.cuda.block_idx("x")
    B[row // 8, row % 8] = A[row]


# Index M - 1 - row runs down from the last row; different blocks read different rows and write different rows.
@T.function
def rows_reversed(A: T.Tensor((M, 32), "float32"), B: T.Tensor((M, 32), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=32))
    row = T.cuda.block_idx("x")
    B[M - 1 - row, T.cuda.thread_idx("x")] = A[row, 31 - T.cuda.thread_idx("x")]


# The neighbour to the right, held back at the last element.
@T.function
def neighbours_clamped(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(N + 127) // 128, block=128))
    T.assume(N <= 1 << 30)
    i = T.cuda.block_idx("x") * 128 + T.cuda.thread_idx("x")
    if i < N:
        B[i] = A[T.min(i + 1, N - 1)] + A[T.max(i - 1, 0)]


# A ring of runtime depth: (k % depth) and ((k + 1) % depth) differ as depth is at least 2, and a barrier separates the
# rounds that use one slot again.
@T.function
def trips_of_any_number(A: T.Tensor((M, 64), "float32"), B: T.Tensor((M, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    for k in T.serial(M):
        s[k % 2, tid] = A[k, tid]
        T.cuda.cta_sync()
        B[k, tid] = s[k % 2, tid ^ 1]


# Offset and extent together stay inside: n + 64 <= N.
@T.function
def window_at_a_runtime_offset(A: T.Tensor((N,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n <= N - 64)
    T.assume(N >= 64)
    tid = T.cuda.thread_idx("x")
    B[tid] = A[n + tid]


# Two-dimensional grid over a three-dimensional array, the innermost index wrapped into its extent.
@T.function
def wrapped_inner_index(A: T.Tensor((M, N, 16), "float32"), B: T.Tensor((M, N, 16), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(N, M), block=16))
    x = T.cuda.block_idx("x")
    y = T.cuda.block_idx("y")
    tid = T.cuda.thread_idx("x")
    B[y, x, (tid + x) % 16] = A[y, x, (tid + y) % 16]


# A grid-stride loop in 64 bits over vectors; the last partial vector is left to a scalar loop.
@T.function
def vectors_and_a_tail(A: T.Tensor((N,), "float32", align=16), B: T.Tensor((N,), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=8, block=64))
    first = T.cuda.block_idx("x") * 64 + T.cuda.thread_idx("x")
    T.assume(N <= 1 << 30)
    r = T.alloc_local((4,), "float32")
    for v in T.serial(first, N // 4, 512):
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A[4 * v : 4 * v + 4])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B[4 * v : 4 * v + 4], r)
    for i in T.serial(N // 4 * 4 + first, N, 512):
        B[i] = A[i]
