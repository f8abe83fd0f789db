"""Races, divergence and registers."""

from ptxspec import T
from ptxspec.layout import S, TileLayout, laneid

M = T.dim("M")

EXPECT = {
    "no_barrier": ("P107", "thread 0", "thread 63", "T.cuda.cta_sync()"),
    "single_buffer": ("P107", "i = 1", "iteration", "T.cuda.cta_sync()"),
    "all_write_one": ("P107", "two threads write to one byte"),
    "blocks_write_one": ("P107", "two blocks", "blocks never wait"),
    "neighbours_overlap": ("P107", "thread 1"),
    "barrier_in_half": ("P110", "tid < n", "move it out"),
    "barrier_in_uneven_loop": ("P110", "the loop over i"),
    "shared_never_written": ("P108", "never written"),
    "shared_written_too_late": ("P108", "only written after it"),
    "half_a_cluster": ("P110", "block 1"),
    "strides_that_meet": ("P107", "thread 64", "block 63"),
    "column_never_written": ("P108", "no write before it touches these bytes"),
    "never_written": ("P108", "without having been written"),
    "after_false_predicate": ("P108", "thread 32", "tid = 31 passes"),
    "keeps_nothing": ("P108",),
    "loop_may_not_run": ("P108", "n = 0"),
    "one_branch": ("P108", "thread 7"),
    "overlapping_destinations": ("P106", "byte 8"),
    "foreign_register": ("P105", "laneid"),
    "missing_second_barrier": ("P107",),
    "warp_barrier_is_not_enough": ("P107", "thread 0", "thread 63"),
}


@T.function
def no_barrier(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    s = T.alloc_shared((64, 4), "float32", align=16)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], s.sub[tid, :], r)
    T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], r, s.sub[(tid + 1) % 64, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], r)


@T.function
def single_buffer(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    for i in T.serial(32):
        s[tid] = A[i, tid]
        T.cuda.cta_sync()
        B[i, tid] = s[63 - tid]


@T.function
def all_write_one(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    A[0] = 1.0


@T.function
def blocks_write_one(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=64))
    A[T.cuda.thread_idx("x")] = 1.0


@T.function
def neighbours_overlap(A: T.Tensor((65,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    for k in T.serial(2):
        A[tid + k] = 1.0


@T.function
def barrier_in_half(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    if tid < n:
        T.cuda.cta_sync()


@T.function
def barrier_in_uneven_loop(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    for i in T.serial(T.cuda.thread_idx("x"), 100, 64):
        A[i & 63] = 1.0
        T.cuda.cta_sync()


@T.function
def never_written(A: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], A.sub[T.cuda.thread_idx("x"), :], r)


@T.function
def after_false_predicate(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["mov.b32"], r.view(4, 1), T.float32(0))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :], pred=tid < 32)
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], r)


@T.function
def keeps_nothing(A: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :], pred=tid < 32, preserve_dst=True)


@T.function
def loop_may_not_run(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((1,), "float32")
    for i in T.serial(n):
        r[0] = T.float32(i)
    A[tid] = r[0]


@T.function
def one_branch(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((1,), "float32")
    if tid < 7:
        r[0] = A[tid]
    B[tid] = r[0]


@T.function
def overlapping_destinations(A: T.Tensor((2, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    r = T.alloc_local((2, 4), "float32", layout=TileLayout(S[(2, 4) : (2, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A)


@T.function
def foreign_register(A: T.Tensor((32, 1), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    r = T.alloc_local((32, 1), "float32", layout=TileLayout(S[(32, 1) : (1 @ laneid, 1)]))
    tid = T.cuda.thread_idx("x")
    T.cuda.tile.apply(T.ptx["ld.global.b32"], r.sub[31 - tid, :], A.sub[tid, :])


@T.function
def missing_second_barrier(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    for i in T.serial(n):
        T.cuda.cta_sync()
        s[(tid + i) % 64] = A[tid]
        B[tid] = s[tid]


@T.function
def warp_barrier_is_not_enough(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = A[tid]
    T.cuda.warp_sync()
    B[tid] = s[63 - tid]


@T.function
def shared_never_written(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    A[tid] = s[tid]


@T.function
def shared_written_too_late(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    B[tid] = s[tid]
    T.cuda.cta_sync()
    s[tid] = A[tid]


@T.function
def strides_that_meet(A: T.Tensor((M,), "float32"), B: T.Tensor((M,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=64, block=128))
    first = T.cuda.block_idx("x") * 128 + T.cuda.thread_idx("x")
    for i in T.serial(first, M, 64 * 127):
        B[i] = A[i]


@T.function
def column_never_written(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64, 4), "float32")
    s[tid, 2] = A[tid]
    T.cuda.cta_sync()
    B[tid] = s[63 - tid, 3]


@T.function
def half_a_cluster(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32, cluster=2))
    if T.cuda.block_idx("x") % 2 == 0:
        T.cuda.cluster_sync()
