"""Addresses that leave their array, their alignment or their type."""

from ptxspec import T
from ptxspec.layout import S, TileLayout

M = T.dim("M")
LD = T.dim("LD")
N = T.dim("N")

EXPECT = {
    "next_row": ("P103", "thread 63", "64", "guard it with `if tid + 1 < 64:`"),
    "column_one": ("P101", "thread 0", "byte offset 4", "leaves 4 modulo 16"),
    "padded_pitch": ("P101", "thread 1", "stride 1185 x 4 B = 4740 leaves 4 modulo 16", "1188"),
    "symbolic_pitch": ("P101", "LD = 5", "T.assume(LD % 4 == 0)"),
    "declared_too_low": ("P101", "align=16"),
    "view_larger_than_storage": ("P103",),
    "shared_pool": ("P101",),
    "negative": ("P103", "index"),
    "short_array": ("P103", "M = 0", "T.assume(M >= 64)"),
    "square_wraps": ("P109", "n = 46341", "T.int64"),
    "grid_wraps": ("P109", "blockIdx.x", "T.int64"),
    "odd_wide_view": ("P101", "n = 1", "T.assume(n % 2 == 0)"),
    "column_order": ("P102", "apart"),
    "data_dependent": ("P103", "where[0] = 64"),
    "last_partial_tile": ("P103", "thread"),
    "half_of_a_guard": ("P103",),
    "step_backwards": ("P109", "step"),
    "zero_divisor": ("P109", "n = 0"),
    "next_of_many": ("P103", "the offset 1", "< N - 1"),
    "too_much_shared": ("P111", "16777216"),
    "wrong_space": ("P104", "shared"),
}


@T.function
def next_row(A: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid + 1, :])


@T.function
def column_one(A: T.Tensor((64, 8), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, 1:5])


@T.function
def padded_pitch(A: T.Tensor((64, 1185), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, 0:4])


@T.function
def symbolic_pitch(A: T.Tensor((64, LD), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    T.assume(LD >= 4)
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, 0:4])


@T.function
def declared_too_low(A: T.Tensor((64, 4), "float32", align=4)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :])


@T.function
def view_larger_than_storage(A: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=128))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    wide = A.view(128, 4, layout=TileLayout(S[(128, 4) : (4, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, wide.sub[tid, :])


@T.function
def shared_pool(A: T.Tensor((4,), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    pool = T.alloc_shared((64,), "uint8", align=16)
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A)
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], pool.sub[4:20].view("float32"), r)


@T.function
def negative(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    A[tid - 1] = 1.0


@T.function
def short_array(A: T.Tensor((M,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    A[T.cuda.thread_idx("x")] = 1.0


@T.function
def square_wraps(A: T.Tensor((1 << 20,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    i = n * n
    if i < 1024:
        A[i] = 0.0


@T.function
def grid_wraps(A: T.Tensor((1 << 32,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1 << 30, block=1))
    A[T.cuda.block_idx("x") * 4] = 0.0


@T.function
def odd_wide_view(A: T.Tensor((64, 8), "float32", align=16), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    T.assume(n >= 0)
    T.assume(n <= 6)
    r = T.alloc_local((1,), "float64")
    T.cuda.tile.apply(T.ptx["ld.global.b64"], r, A.sub[tid, n : n + 2].view("float64"))


@T.function
def column_order(A: T.Tensor((64, 4), "float32", align=16, layout=TileLayout(S[(64, 4) : (1, 64)]))):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[0, :])


@T.function
def data_dependent(A: T.Tensor((64,), "float32"), where: T.Tensor((64,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    x = where[0]
    if x >= 0:
        A[x] = 1.0


@T.function
def last_partial_tile(A: T.Tensor((1000, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=8, block=128))
    i = T.cuda.block_idx("x") * 128 + T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i, :])


@T.function
def half_of_a_guard(A: T.Tensor((M,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    if n < M:
        A[n] = 1.0


@T.function
def step_backwards(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    for i in T.serial(0, 64, n):
        A[i] = 1.0


@T.function
def zero_divisor(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    T.assume(n >= 0)
    A[T.min(T.max(63 // n, 0), 63)] = 1.0


@T.function
def too_much_shared(A: T.Tensor((4,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    s = T.alloc_shared((1 << 22,), "float32")
    s[0] = A[0]


@T.function
def wrong_space(A: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], r, A.sub[T.cuda.thread_idx("x"), :])


@T.function
def next_of_many(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(N + 63) // 64, block=64))
    row = T.cuda.block_idx("x") * 64 + T.cuda.thread_idx("x")
    if row < N:
        B[row] = A[row + 1]
