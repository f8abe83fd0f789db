"""Layouts and index arithmetic that are right although they look odd."""

from ptxspec import T
from ptxspec.layout import ComposeLayout, R, S, TileLayout, laneid


@T.function
def xor_index(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid ^ 1] = A[tid]


@T.function
def negative_register_stride(A: T.Tensor((4,), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    r = T.alloc_local((4,), "float32", layout=TileLayout(S[(4,) : (-1,)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A)


@T.function
def interleaved_registers(A: T.Tensor((2, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    r = T.alloc_local((2, 4), "float32", layout=TileLayout(S[(2, 4) : (1, 2)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A)


@T.function
def one_part_of_an_overlapping_layout(A: T.Tensor((4,), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    r = T.alloc_local((2, 4), "float32", layout=TileLayout(S[(2, 4) : (1, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r.sub[1, :], A)


@T.function
def one_register_a_lane(A: T.Tensor((32, 1), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    r = T.alloc_local((32, 1), "float32", layout=TileLayout(S[(32, 1) : (1 @ laneid, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.b32"], r, A, scope="warp")


@T.function
def swizzled_rows(A: T.Tensor((32, 8), "float32", align=16), B: T.Tensor((32, 8), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    s = T.alloc_shared((32, 8), "float32", align=16, layout=ComposeLayout(2, 1, 1, TileLayout(S[(32, 8) : (8, 1)])))
    for half in T.unroll(2):
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, 4 * half : 4 * half + 4])
        T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], s.sub[tid, 4 * half : 4 * half + 4], r)
    T.cuda.cta_sync()
    for half in T.unroll(2):
        T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], r, s.sub[31 - tid, 4 * half : 4 * half + 4])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, 4 * half : 4 * half + 4], r)


@T.function
def shifts_and_masks(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=256))
    tid = T.cuda.thread_idx("x")
    low = tid & 15
    high = tid >> 4
    B[(low << 4) | high] = A[tid]


@T.function
def padded_transpose(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=(32, 8)))
    x = T.cuda.thread_idx("x")
    y = T.cuda.thread_idx("y")
    s = T.alloc_shared((32, 33), "float32")
    for k in T.serial(4):
        s[8 * k + y, x] = A[8 * k + y, x]
    T.cuda.cta_sync()
    for k in T.serial(4):
        B[8 * k + y, x] = s[x, 8 * k + y]


@T.function
def wide_view_at_an_even_offset(A: T.Tensor((64, 8), "float32", align=16), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    T.assume(n >= 0)
    T.assume(n <= 6)
    T.assume(n % 2 == 0)
    r = T.alloc_local((1,), "float64")
    T.cuda.tile.apply(T.ptx["ld.global.b64"], r, A.sub[tid, n : n + 2].view("float64"))


@T.function
def huge_grid(A: T.Tensor((1 << 30, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1 << 30, block=1))
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[T.cuda.block_idx("x"), :])


@T.function
def wide_index(A: T.Tensor((1 << 32,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1 << 30, block=1))
    A[T.int64(T.cuda.block_idx("x")) * 4] = 0.0


@T.function
def a_copy_for_every_eight_lanes(A: T.Tensor((32, 4), "float32", align=16), B: T.Tensor((32, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((8, 4), "float32", layout=TileLayout(S[(8, 4) : (1 @ laneid, 1)] + R[4 : 8 @ laneid]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q.sub[tid % 8, :], A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], q.sub[tid % 8, :])
