"""Index arithmetic of every kind that is right: run thread by thread in ``tests/proof/test_corpus_truth.py``."""

from ptxspec import T
from ptxspec.layout import ComposeLayout, R, S, TileLayout, laneid, warpid

#: Values of scalar parameters that brute force tries; the assumptions leave no others.
VALUES = {
    "remainder_of_an_odd_multiple": {"n": range(8)},
    "runtime_rotation": {"n": range(64)},
    "runtime_offset_in_steps": {"n": range(61)},
    "runtime_stride": {"n": range(4, 7)},
    "runtime_trips": {"n": range(-1, 6)},
    "runtime_start_and_step": {"n": range(8), "m": range(1, 9)},
    "guard_with_both_ends": {"n": range(-3, 70)},
    "runtime_ring": {"n": range(9)},
    "select_of_two_halves": {"n": range(2)},
    "shift_by_a_runtime_amount": {"n": range(4)},
    "division_by_a_runtime_number": {"n": range(1, 9)},
    "loop_down_by_hand": {"n": range(9)},
    "predicate_of_three_parts": {"n": range(40)},
    "swizzle_at_a_runtime_row": {"n": range(8)},
}


@T.function
def quotient_and_remainder(A: T.Tensor((96,), "float32"), B: T.Tensor((12, 8), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=96))
    tid = T.cuda.thread_idx("x")
    B[tid // 8, tid % 8] = A[tid]


@T.function
def quotient_and_remainder_swapped(A: T.Tensor((96,), "float32"), B: T.Tensor((8, 12), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=96))
    tid = T.cuda.thread_idx("x")
    B[tid % 8, tid // 8] = A[tid]


@T.function
def three_digits(A: T.Tensor((120,), "float32"), B: T.Tensor((2, 5, 12), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=120))
    tid = T.cuda.thread_idx("x")
    B[tid // 12 % 2, tid // 24, tid % 12] = A[tid]


@T.function
def remainder_of_an_odd_multiple(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n < 8)
    tid = T.cuda.thread_idx("x")
    B[(tid * 13 + n) % 64] = A[tid]


@T.function
def negative_numbers_rounded_down(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[(tid - 70) % 64] = A[(3 - tid) // 8 + 8]


@T.function
def shifts_as_digits(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[((tid & 7) << 3) | (tid >> 3)] = A[tid]


@T.function
def three_fields_put_together(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=256))
    tid = T.cuda.thread_idx("x")
    B[(tid & 3) * 64 + (tid >> 2 & 7) * 8 + (tid >> 5)] = A[tid]


@T.function
def shift_by_a_runtime_amount(A: T.Tensor((64,), "float32"), B: T.Tensor((64, 4), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n < 4)
    tid = T.cuda.thread_idx("x")
    B[tid, n] = A[tid >> n]


@T.function
def division_by_a_runtime_number(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 1)
    T.assume(n <= 8)
    tid = T.cuda.thread_idx("x")
    B[tid] = A[tid // n] + A[tid % n]


@T.function
def pairs_swapped_in_a_swizzled_row(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid ^ (tid >> 3)] = A[tid ^ 63]


@T.function
def xor_of_both_coordinates(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=(32, 8)))
    x = T.cuda.thread_idx("x")
    y = T.cuda.thread_idx("y")
    s = T.alloc_shared((32, 32), "float32")
    for k in T.serial(4):
        s[8 * k + y, x ^ (8 * k + y)] = A[8 * k + y, x]
    T.cuda.cta_sync()
    for k in T.serial(4):
        B[8 * k + y, x] = s[x, x ^ (8 * k + y)]


@T.function
def min_and_max_keep_inside(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid] = A[T.max(tid - 1, 0)] + A[T.min(tid + 1, 63)] + A[T.min(T.max(2 * tid - 40, 0), 63)]


@T.function
def min_of_an_interval(A: T.Tensor((40,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid] = A[T.min(tid, 39 - T.min(tid, 39))]


@T.function
def select_of_two_halves(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n <= 1)
    tid = T.cuda.thread_idx("x")
    B[T.Select(n == 1, tid, 63 - tid)] = A[T.Select(tid < 32, tid + 32, tid - 32)]


@T.function
def select_with_its_condition(A: T.Tensor((32,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid] = A[T.Select(tid % 2 == 0, tid // 2, 31 - tid // 2)]


@T.function
def predicate_of_three_parts(A: T.Tensor((32, 4), "float32", align=16), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n < 40)
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid - 16, :], pred=(tid >= 16) & (tid < 48) & (tid < n))


@T.function
def guard_with_both_ends(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= -3)
    T.assume(n < 70)
    tid = T.cuda.thread_idx("x")
    if 0 <= tid - n < 64:
        B[tid] = A[tid - n]


@T.function
def descending_columns(
    A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32", layout=TileLayout(S[(64, 4) : (4, -1)]))
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    for k in T.serial(4):
        B[tid, k] = A[tid, 3 - k]


@T.function
def rows_woven_together(
    A: T.Tensor((2, 64), "float32"), B: T.Tensor((2, 64), "float32", layout=TileLayout(S[(2, 64) : (1, 2)]))
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[0, tid] = A[1, tid]
    B[1, tid] = A[0, tid]


@T.function
def one_row_read_by_all(
    A: T.Tensor((64, 4), "float32", align=16, layout=TileLayout(S[(64, 4) : (0, 1)])),
    B: T.Tensor((64, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], r)


@T.function
def registers_backwards_and_woven(A: T.Tensor((64, 2, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((2, 4), "float32", layout=TileLayout(S[(2, 4) : (-1, 2)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], A.sub[tid, :, :], r)


@T.function
def copies_in_both_warps(A: T.Tensor((4, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    spread = TileLayout(S[(4, 4) : (1 @ laneid, 1)] + R[(8, 2) : (4 @ laneid, 1 @ warpid)])
    q = T.alloc_local((4, 4), "float32", layout=spread)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q.sub[tid % 4, :], A.sub[tid % 4, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], q.sub[tid % 4, :])


@T.function
def registers_of_a_warp_in_a_row_of_each_lane(
    A: T.Tensor((2, 32, 2, 1), "float32"), B: T.Tensor((2, 32, 2, 1), "float32")
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    q = T.alloc_local((2, 32, 2, 1), "float32", layout=TileLayout(S[(2, 32, 2, 1) : (1 @ warpid, 2, 1, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.b32"], q, A, scope="cta")
    T.cuda.tile.apply(T.ptx["st.global.b32"], B, q, scope="cta")


@T.function
def swizzled_columns_of_odd_extents(
    A: T.Tensor((3, 32, 3, 1), "float32"),
    B: T.Tensor((3, 32, 3, 1), "float32", layout=ComposeLayout(1, 2, 2, TileLayout(S[(3, 32, 3, 1) : (96, 3, 1, 1)]))),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=96))
    q = T.alloc_local((3, 32, 3, 1), "float32", layout=TileLayout(S[(3, 32, 3, 1) : (1 @ warpid, 1 @ laneid, 1, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.b32"], q, A, scope="cta")
    T.cuda.tile.apply(T.ptx["st.global.b32"], B, q, scope="cta")


@T.function
def swizzle_at_a_runtime_row(
    A: T.Tensor((8, 16), "float32", align=16), B: T.Tensor((8, 16), "float32", align=16), n: T.int32
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    T.assume(n >= 0)
    T.assume(n < 8)
    tid = T.cuda.thread_idx("x")
    row = tid // 4 ^ n
    r = T.alloc_local((4,), "float32")
    s = T.alloc_shared((8, 16), "float32", align=16, layout=ComposeLayout(2, 2, 2, TileLayout(S[(8, 16) : (16, 1)])))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[row, tid % 4 * 4 : tid % 4 * 4 + 4])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], s.sub[row, tid % 4 * 4 : tid % 4 * 4 + 4], r)
    T.cuda.cta_sync()
    T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], r, s.sub[7 - row, (3 - tid % 4) * 4 : (3 - tid % 4) * 4 + 4])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[row, tid % 4 * 4 : tid % 4 * 4 + 4], r)


@T.function
def swizzle_put_on_a_view(A: T.Tensor((8, 16), "float32", align=16), B: T.Tensor((8, 16), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    flat = T.alloc_shared((256,), "float32", align=64)
    s = flat.sub[64:192].view(8, 16, layout=ComposeLayout(2, 2, 2, TileLayout(S[(8, 16) : (16, 1)])))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid // 4, tid % 4 * 4 : tid % 4 * 4 + 4])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], s.sub[tid // 4, tid % 4 * 4 : tid % 4 * 4 + 4], r)
    T.cuda.cta_sync()
    T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], r, s.sub[tid % 8, tid // 8 * 4 : tid // 8 * 4 + 4])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid % 8, tid // 8 * 4 : tid // 8 * 4 + 4], r)


@T.function
def runtime_rotation(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n < 64)
    tid = T.cuda.thread_idx("x")
    B[(tid + n) % 64] = A[tid]


@T.function
def runtime_offset_in_steps(A: T.Tensor((4, 64), "float32", align=16), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    T.assume(n % 4 == 0)
    T.assume(n >= 0)
    T.assume(n <= 60)
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[T.cuda.thread_idx("x"), n : n + 4])


@T.function
def runtime_stride(A: T.Tensor((384,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 4)
    T.assume(n <= 6)
    tid = T.cuda.thread_idx("x")
    for k in T.serial(4):
        A[tid * n + k] = 1.0


@T.function
def runtime_trips(A: T.Tensor((5, 64), "float32"), B: T.Tensor((5, 64), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n <= 5)
    T.assume(n >= -1)
    tid = T.cuda.thread_idx("x")
    for k in T.serial(n):
        B[k, tid] = A[n - 1 - k, tid]


@T.function
def runtime_start_and_step(A: T.Tensor((8,), "float32"), n: T.int32, m: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    T.assume(n >= 0)
    T.assume(n < 8)
    T.assume(m >= 1)
    T.assume(m <= 8)
    for k in T.serial(n, 8, m):
        A[k] = 1.0


@T.function
def loop_down_by_hand(A: T.Tensor((8,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    T.assume(n >= 0)
    T.assume(n <= 8)
    for k in T.serial(n):
        A[n - k - 1] = A[7 - k]


@T.function
def two_buffers_in_turn(A: T.Tensor((9, 64), "float32"), B: T.Tensor((9, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    for k in T.serial(9):
        s[k & 1, tid] = A[k, tid]
        T.cuda.cta_sync()
        B[k, tid] = s[k & 1, tid ^ 63]


@T.function
def three_buffers_one_ahead(A: T.Tensor((10, 64), "float32"), B: T.Tensor((9, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((3, 64), "float32")
    s[0, tid] = A[0, tid]
    for k in T.serial(9):
        s[(k + 1) % 3, tid] = A[k + 1, tid]
        T.cuda.cta_sync()
        B[k, tid] = s[k % 3, 63 - tid]


@T.function
def runtime_ring(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n <= 8)
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((4, 64), "float32")
    for k in T.serial(n):
        s[k % 4, tid] = A[k, tid]
        T.cuda.cta_sync()
        B[k, tid] = s[k % 4, (tid + 1) % 64]


@T.function
def halves_of_two_blocks(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=64))
    i = T.cuda.thread_idx("x") * 2 + T.cuda.block_idx("x")
    B[i ^ 1] = A[127 - i]


@T.function
def blocks_woven_by_quotient(A: T.Tensor((96,), "float32"), B: T.Tensor((3, 4, 8), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=12, block=8))
    b = T.cuda.block_idx("x")
    tid = T.cuda.thread_idx("x")
    B[b % 3, b // 3, tid] = A[(95 - b) - 12 * tid]
