"""The same kinds of index arithmetic, wrong by a little: the truth is run in ``tests/proof/test_corpus_truth.py``."""

from ptxspec import T
from ptxspec.layout import ComposeLayout, R, S, TileLayout, laneid, warpid

VALUES = {
    "even_multiple": {"n": range(8)},
    "runtime_offset_of_two": {"n": range(61)},
    "runtime_stride_too_small": {"n": range(3, 7)},
    "one_trip_too_many": {"n": range(-1, 7)},
    "shift_by_too_much": {"n": range(40)},
    "guard_with_one_end": {"n": range(-3, 70)},
    "division_by_zero": {"n": range(9)},
    "ring_of_two_read_one_behind": {"n": range(9)},
    "rows_meet_at_one_rotation": {"n": range(8)},
}

EXPECT = {
    "quotient_one_short": ("P103", "thread 88"),
    "even_multiple": ("P107", "thread 0", "thread 32"),
    "rounded_towards_zero_is_not_down": ("P103", "thread 1"),
    "fields_that_overlap": ("P107",),
    "shift_by_too_much": ("P109", "n = 32"),
    "division_by_zero": ("P109", "n = 0"),
    "xor_past_the_end": ("P103", "thread"),
    "min_forgets_the_other_end": ("P103", "thread 0"),
    "select_the_wrong_way": ("P103",),
    "predicate_with_or": ("P103", "thread 0"),
    "guard_with_one_end": ("P103", "n = "),
    "descending_past_the_start": ("P103",),
    "one_row_written_by_all": ("P107", "thread 0", "thread 1"),
    "registers_on_top_of_each_other": ("P106",),
    "copies_in_one_warp_only": ("P105", "warp"),
    "lanes_of_another_register": ("P108",),
    "swizzle_smaller_than_the_vector": ("P102",),
    "two_swizzles_of_one_array": ("P107",),
    "runtime_offset_of_two": ("P101", "n = 2"),
    "runtime_stride_too_small": ("P107", "n = 3"),
    "one_trip_too_many": ("P103", "n = 6"),
    "two_buffers_one_barrier_short": ("P107",),
    "three_buffers_two_ahead": ("P107",),
    "ring_of_two_read_one_behind": ("P107",),
    "rows_meet_at_one_rotation": ("P107", "n = 7"),
    "blocks_meet_at_the_seam": ("P107", "block"),
    "barrier_in_some_iterations": ("P110", "thread"),
    "barrier_in_unequal_turns": ("P110", "thread"),
}


@T.function
def quotient_one_short(A: T.Tensor((96,), "float32"), B: T.Tensor((11, 8), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=96))
    tid = T.cuda.thread_idx("x")
    B[tid // 8, tid % 8] = A[tid]


@T.function
def even_multiple(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n < 8)
    tid = T.cuda.thread_idx("x")
    B[(tid * 6 + n) % 64] = A[tid]


@T.function
def rounded_towards_zero_is_not_down(A: T.Tensor((8,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid] = A[-tid // 64]


@T.function
def fields_that_overlap(A: T.Tensor((256,), "float32"), B: T.Tensor((256,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=256))
    tid = T.cuda.thread_idx("x")
    B[(tid & 3) * 64 + (tid >> 2 & 7) * 8 + (tid >> 4)] = A[tid]


@T.function
def shift_by_too_much(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n < 40)
    tid = T.cuda.thread_idx("x")
    B[tid] = A[tid >> n]


@T.function
def division_by_zero(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n <= 8)
    tid = T.cuda.thread_idx("x")
    B[tid] = A[tid % n]


@T.function
def xor_past_the_end(A: T.Tensor((60,), "float32"), B: T.Tensor((60,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=60))
    tid = T.cuda.thread_idx("x")
    B[tid] = A[tid ^ 4]


@T.function
def min_forgets_the_other_end(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid] = A[T.min(2 * tid - 40, 63)]


@T.function
def select_the_wrong_way(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid] = A[T.Select(tid < 32, tid - 32, tid + 32)]


@T.function
def predicate_with_or(A: T.Tensor((32, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid - 16, :], pred=(tid >= 16) | (tid < 48))


@T.function
def guard_with_one_end(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= -3)
    T.assume(n < 70)
    tid = T.cuda.thread_idx("x")
    if tid - n >= 0:
        B[tid] = A[tid - n]


@T.function
def descending_past_the_start(A: T.Tensor((8, 4), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    tid = T.cuda.thread_idx("x")
    for k in T.serial(4):
        A[tid, 2 - k] = 1.0


@T.function
def one_row_written_by_all(A: T.Tensor((64, 4), "float32", align=16, layout=TileLayout(S[(64, 4) : (0, 1)]))):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    A[T.cuda.thread_idx("x"), 0] = 1.0


@T.function
def registers_on_top_of_each_other(A: T.Tensor((64, 2, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((2, 4), "float32", layout=TileLayout(S[(2, 4) : (-1, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :, :])


@T.function
def copies_in_one_warp_only(A: T.Tensor((4, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    spread = TileLayout(S[(4, 4) : (1 @ laneid, 1)] + R[(8, 1) : (4 @ laneid, 1 @ warpid)])
    q = T.alloc_local((4, 4), "float32", layout=spread)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q.sub[tid % 4, :], A.sub[tid % 4, :])


@T.function
def lanes_of_another_register(A: T.Tensor((32, 4), "float32", align=16), B: T.Tensor((32, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((2, 4), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q.sub[0, :], A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], q.sub[1, :])


@T.function
def swizzle_smaller_than_the_vector(A: T.Tensor((8, 16), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    s = T.alloc_shared((8, 16), "float32", align=16, layout=ComposeLayout(0, 2, 2, TileLayout(S[(8, 16) : (16, 1)])))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid // 4, tid % 4 * 4 : tid % 4 * 4 + 4])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], s.sub[tid // 4, tid % 4 * 4 : tid % 4 * 4 + 4], r)


@T.function
def two_swizzles_of_one_array(A: T.Tensor((128,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    one = A.view(128, layout=ComposeLayout(0, 2, 3, TileLayout(S[(128,) : (1,)])))
    two = A.view(128, layout=ComposeLayout(1, 2, 3, TileLayout(S[(128,) : (1,)])))
    one[tid + 32] = 1.0
    two[tid + 32] = 2.0


@T.function
def runtime_offset_of_two(A: T.Tensor((4, 64), "float32", align=16), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    T.assume(n % 2 == 0)
    T.assume(n >= 0)
    T.assume(n <= 60)
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[T.cuda.thread_idx("x"), n : n + 4])


@T.function
def runtime_stride_too_small(A: T.Tensor((384,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 3)
    T.assume(n <= 6)
    tid = T.cuda.thread_idx("x")
    for k in T.serial(4):
        A[tid * n + k] = 1.0


@T.function
def one_trip_too_many(A: T.Tensor((5, 64), "float32"), B: T.Tensor((5, 64), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n <= 6)
    T.assume(n >= -1)
    tid = T.cuda.thread_idx("x")
    for k in T.serial(n):
        B[k, tid] = A[k, tid]


@T.function
def two_buffers_one_barrier_short(A: T.Tensor((9, 64), "float32"), B: T.Tensor((9, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    s[0, tid] = A[0, tid]
    T.cuda.cta_sync()
    for k in T.serial(8):
        s[(k + 1) & 1, tid] = A[k + 1, tid]
        B[k, tid] = s[k & 1, tid ^ 63]


@T.function
def three_buffers_two_ahead(A: T.Tensor((11, 64), "float32"), B: T.Tensor((9, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((3, 64), "float32")
    s[0, tid] = A[0, tid]
    s[1, tid] = A[1, tid]
    for k in T.serial(9):
        s[(k + 2) % 3, tid] = A[k + 2, tid]
        T.cuda.cta_sync()
        B[k, tid] = s[k % 3, 63 - tid]


@T.function
def ring_of_two_read_one_behind(A: T.Tensor((8, 64), "float32"), B: T.Tensor((8, 64), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n >= 0)
    T.assume(n <= 8)
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    s[1, tid] = 0.0
    for k in T.serial(n):
        s[k % 2, tid] = A[k, tid]
        T.cuda.cta_sync()
        B[k, tid] = s[(k + 1) % 2, (tid + 1) % 64]


@T.function
def rows_meet_at_one_rotation(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    T.assume(n >= 0)
    T.assume(n < 8)
    tid = T.cuda.thread_idx("x")
    A[2 * tid] = 1.0
    A[(2 * tid + 3 + n) % 64] = 2.0


@T.function
def blocks_meet_at_the_seam(A: T.Tensor((129,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=64))
    i = T.cuda.block_idx("x") * 64 + T.cuda.thread_idx("x")
    A[i] = 1.0
    if T.cuda.thread_idx("x") == 63:
        A[i + 1] = 1.0


@T.function
def barrier_in_some_iterations(A: T.Tensor((8,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    tid = T.cuda.thread_idx("x")
    for i in T.serial(4):
        if i < tid:
            T.cuda.cta_sync()
    A[tid] = 1.0


@T.function
def barrier_in_unequal_turns(A: T.Tensor((8,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    tid = T.cuda.thread_idx("x")
    for i in T.serial(5):
        if (i + tid) % 2 == 0:
            T.cuda.cta_sync()
    A[tid] = 1.0
