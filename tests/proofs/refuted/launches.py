"""Sizes, offsets and strides that only a launch knows, one fact short; the counterexample was worked out by hand."""

from ptxspec import T
from ptxspec.layout import S, TileLayout

M = T.dim("M")
N = T.dim("N")
K = T.dim("K")
LD = T.dim("LD")

EXPECT = {
    "rows_in_vectors_of_any_width": ("P103", "N = 1"),
    "pitch_shorter_than_a_row": ("P107", "LD = 63"),
    "transpose_with_one_guard": ("P103", "N = 1"),
    "too_few_groups": ("P103", "M = 9"),
    "reversed_past_the_start": ("P103", "index"),
    "window_one_too_far": ("P103",),
    "tail_meets_the_vectors": ("P107",),
    "any_trips_one_buffer": ("P107", "M = 2"),
    "more_blocks_than_rows": ("P103", "M = 1"),
}


# N = 1: columns 0 to 3 are read, 1 exists.
@T.function
def rows_in_vectors_of_any_width(A: T.Tensor((M, N), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=64))
    r = T.alloc_local((4,), "float32")
    for c in T.serial(4 * T.cuda.thread_idx("x"), N, 256):
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[T.cuda.block_idx("x"), c : c + 4])


# LD = 63: element (0, 63) is element (1, 0).
@T.function
def pitch_shorter_than_a_row(A: T.Tensor((M, LD), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=64))
    T.assume(LD >= 63)
    rows = A.view(M, 64, layout=TileLayout(S[(M, 64) : (LD, 1)]))
    rows[T.cuda.block_idx("x"), T.cuda.thread_idx("x")] = 1.0


# N = 1, thread x = 1.
@T.function
def transpose_with_one_guard(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + 31) // 32, (M + 31) // 32), block=(32, 8)))
    x = T.cuda.thread_idx("x")
    y = T.cuda.thread_idx("y")
    bx = T.cuda.block_idx("x") * 32
    by = T.cuda.block_idx("y") * 32
    for k in range(4):
        if by + y + 8 * k < M:
            B[by + y + 8 * k, bx + x] = A[by + y + 8 * k, bx + x]


# M = 9, K = 1: row 8 is group 1.
@T.function
def too_few_groups(A: T.Tensor((M,), "float32"), B: T.Tensor((K, 8), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=1))
    T.assume(M <= 8 * K + 1)
    T.assume(K >= 1)
    row = T.cuda.block_idx("x")
    B[row // 8, row % 8] = A[row]


# Row M - 1 gives index -1.
@T.function
def reversed_past_the_start(A: T.Tensor((M, 32), "float32"), B: T.Tensor((M, 32), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=32))
    row = T.cuda.block_idx("x")
    B[M - 2 - row, T.cuda.thread_idx("x")] = A[row, T.cuda.thread_idx("x")]


# n = N - 63 leaves 63 elements for 64 threads.
@T.function
def window_one_too_far(A: T.Tensor((N,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n <= N - 63)
    T.assume(N >= 64)
    tid = T.cuda.thread_idx("x")
    B[tid] = A[n + tid]


# N = 4: vector 0 covers element 3, and the tail starts there.
@T.function
def tail_meets_the_vectors(A: T.Tensor((N,), "float32", align=16), B: T.Tensor((N,), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=8, block=64))
    first = T.cuda.block_idx("x") * 64 + T.cuda.thread_idx("x")
    T.assume(N <= 1 << 30)
    T.assume(N >= 4)
    r = T.alloc_local((4,), "float32")
    for v in T.serial(first, N // 4, 512):
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A[4 * v : 4 * v + 4])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B[4 * v : 4 * v + 4], r)
    for i in T.serial(N // 4 * 4 - 1 + first, N, 512):
        B[i] = A[i]


# M = 2: round 1 writes what round 0 is still read from.
@T.function
def any_trips_one_buffer(A: T.Tensor((M, 64), "float32"), B: T.Tensor((M, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    for k in T.serial(M):
        s[tid] = A[k, tid]
        T.cuda.cta_sync()
        B[k, tid] = s[tid ^ 1]


# M = 1: two blocks, one row.
@T.function
def more_blocks_than_rows(A: T.Tensor((M, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M + 1, block=64))
    A[T.cuda.block_idx("x"), T.cuda.thread_idx("x")] = 1.0
