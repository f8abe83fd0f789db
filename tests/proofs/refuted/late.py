"""Registers, shared bytes and barriers of some iterations only: wrong in an iteration that is not the first."""

from ptxspec import T

EXPECT = {
    "second_iteration_too_early": ("P108", "k = 1", "without having been written"),
    "half_of_a_wide_read": ("P108", "k = 1", "byte 4"),
    "lost_where_the_predicate_is_false": ("P108", "k = 1"),
    "no_iteration_at_all": ("P108", "n = 0"),
    "no_barrier_from_the_second_on": ("P107", "no barrier between"),
    "two_iterations_apart": ("P107", "the other is in a later one"),
    "barrier_for_one_parameter_only": ("P107", "no barrier between"),
    "no_barrier_before_the_first": ("P107", "no barrier between"),
    "barrier_for_some_values_only": ("P107", "no barrier between"),
    "no_thread_may_write": ("P108", "may find nothing", "`lane == which` or `1 == which`"),
    "blocks_that_wait_too_late": ("P107", "cluster_sync"),
}
N = range(5)
VALUES = {
    "second_iteration_too_early": {"n": N},
    "half_of_a_wide_read": {"n": N},
    "lost_where_the_predicate_is_false": {"n": N},
    "no_iteration_at_all": {"n": N},
    "no_barrier_from_the_second_on": {"n": N},
    "two_iterations_apart": {"n": N},
    "barrier_for_one_parameter_only": {"n": N, "m": range(3)},
    "no_barrier_before_the_first": {"n": N},
    "barrier_for_some_values_only": {"F[0]": range(2)},
    "no_thread_may_write": {"which": range(40)},
    "blocks_that_wait_too_late": {"n": N},
}


@T.function
def second_iteration_too_early(B: T.Tensor((4,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    q = T.alloc_local((1,), "float32")
    for k in T.serial(n):
        if k > 0:
            B[T.cuda.thread_idx()] = q[0]
        if k == 1:
            q[0] = 1.0


@T.function
def half_of_a_wide_read(B: T.Tensor((4,), "float64"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    q = T.alloc_local((2,), "float32")
    q[0] = 1.0
    for k in T.serial(n):
        if k > 0:
            B[T.cuda.thread_idx()] = q.view("float64")[0]
            q[1] = 2.0


# The load of the first iteration is off, so the register holds nothing in the second.
@T.function
def lost_where_the_predicate_is_false(
    A: T.Tensor((4, 1), "float32"), B: T.Tensor((4,), "float32"), n: T.int32
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((1,), "float32")
    q[0] = 1.0
    for k in T.serial(n):
        B[tid] = q[0]
        T.cuda.tile.apply(T.ptx["ld.global.b32"], q, A.sub[tid, :], pred=k > 0)


@T.function
def no_iteration_at_all(B: T.Tensor((4,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    q = T.alloc_local((1,), "float32")
    T.assume(n >= 0)
    for k in T.serial(n):
        if k == 0:
            q[0] = 1.0
    B[T.cuda.thread_idx()] = q[0]


@T.function
def no_barrier_from_the_second_on(B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = 1.0
    for k in T.serial(n):
        if k == 0:
            T.cuda.cta_sync()
        B[tid] = s[63 - tid]
        if k == 2:
            s[tid] = 2.0


@T.function
def two_iterations_apart(B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = 1.0
    for k in T.serial(n):
        if k == 0:
            T.cuda.cta_sync()
        if k == 1:
            B[tid] = s[63 - tid]
        if k == 3:
            s[tid] = 2.0


@T.function
def barrier_for_one_parameter_only(B: T.Tensor((64,), "float32"), n: T.int32, m: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    for _k in T.serial(n):
        s[tid] = 1.0
        if m > 0:
            T.cuda.cta_sync()
        B[tid] = s[63 - tid]
        if m > 0:
            T.cuda.cta_sync()


@T.function
def no_barrier_before_the_first(B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = 1.0
    for k in T.serial(n):
        if k > 0:
            T.cuda.cta_sync()
        B[tid] = s[63 - tid]


@T.function
def blocks_that_wait_too_late(B: T.Tensor((4, 8), "float32"), C: T.Tensor((4, 8), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=8, cluster=2))
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    for k in T.serial(n):
        if k > 0:
            T.cuda.cluster_sync()
            C[b, tid] = B[b ^ 1, tid]
        B[b, tid] = 1.0


@T.function
def barrier_for_some_values_only(B: T.Tensor((64,), "float32"), F: T.Tensor((1,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = 1.0
    v = F[0]
    if v > 0:
        T.cuda.cta_sync()
    B[tid] = s[63 - tid]


@T.function
def no_thread_may_write(B: T.Tensor((32,), "int32"), which: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    s = T.alloc_shared((1,), "int32")
    lane = T.cuda.thread_idx("x")
    if lane == which:
        s[0] = lane
    T.cuda.cta_sync()
    B[lane] = s[0]
