"""Registers, shared bytes and barriers of some iterations only: right, for reasons that an older prover missed."""

from ptxspec import T

N = range(5)
VALUES = {
    "a_guard_that_a_register_keeps": {"n": N},
    "written_in_the_iteration_before": {"n": N},
    "a_wide_read_of_halves": {"n": N},
    "second_iteration_writes": {"n": range(12)},
    "behind_a_loop_of_two": {"n": range(12)},
    "barrier_in_the_first_iteration": {"n": N},
    "barriers_for_one_parameter": {"n": N, "m": range(3)},
    "barriers_in_even_iterations": {"n": N},
    "blocks_that_wait_once": {"n": N},
    "one_place_by_two_names": {"m": range(2), "F[0]": range(2), "F[1]": range(2)},
    "one_place_by_two_names_of_two_threads": {"n": range(2), "F[0]": range(2), "F[1]": range(2)},
    "one_of_two_barriers_by_a_condition": {"n": range(2), "F[0]": range(2)},
    "one_of_all_threads_writes": {"which": range(-40, 40)},
}


# Was refuted: what was known of the condition ended with the iteration, and was then held to be false.
@T.function
def a_guard_that_a_register_keeps(B: T.Tensor((4,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    q = T.alloc_local((1,), "float32")
    c = T.alloc_local((1,), "int32")
    c[0] = n
    for _k in T.serial(2):
        if c[0] > 0:
            q[0] = 1.0
    if n > 0:
        B[T.cuda.thread_idx()] = q[0]


@T.function
def written_in_the_iteration_before(B: T.Tensor((4,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    q = T.alloc_local((1,), "float32")
    for k in T.serial(n):
        if k > 0:
            B[T.cuda.thread_idx()] = q[0]
        q[0] = 1.0


@T.function
def a_wide_read_of_halves(B: T.Tensor((4,), "float64"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    q = T.alloc_local((2,), "float32")
    q[0] = 1.0
    for k in T.serial(n):
        if k > 0:
            B[T.cuda.thread_idx()] = q.view("float64")[0]
        q[1] = 2.0


@T.function
def second_iteration_writes(B: T.Tensor((4,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    q = T.alloc_local((1,), "float32")
    for k in T.serial(n):
        if k > 1:
            B[T.cuda.thread_idx()] = q[0]
        if k == 1:
            q[0] = 1.0


@T.function
def behind_a_loop_of_two(B: T.Tensor((4,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    q = T.alloc_local((1,), "float32")
    for k in T.serial(n):
        if k == 1:
            q[0] = 1.0
    if n > 1:
        B[T.cuda.thread_idx()] = q[0]


# Was refuted: a loop that some iterations go round without a barrier counted as one without any.
@T.function
def barrier_in_the_first_iteration(B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = 1.0
    for k in T.serial(n):
        if k == 0:
            T.cuda.cta_sync()
        B[tid] = s[63 - tid]


# Was refuted for the same reason.
@T.function
def barriers_for_one_parameter(B: T.Tensor((64,), "float32"), n: T.int32, m: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    for _k in T.serial(n):
        if m > 0:
            s[tid] = 1.0
            T.cuda.cta_sync()
            B[tid] = s[63 - tid]
            T.cuda.cta_sync()


# Was refuted for the same reason.
@T.function
def barriers_in_even_iterations(B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    for k in T.serial(n):
        if k % 2 == 0:
            s[tid] = 1.0
            T.cuda.cta_sync()
            B[tid] = s[63 - tid]
            T.cuda.cta_sync()


# Was refuted for the same reason, among the blocks of a cluster.
@T.function
def blocks_that_wait_once(B: T.Tensor((4, 8), "float32"), C: T.Tensor((4, 8), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=8, cluster=2))
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    for k in T.serial(n):
        if k == 0:
            B[b, tid] = 1.0
            T.cuda.cluster_sync()
        if k > 0:
            C[b, tid] = B[b ^ 1, tid]


# Was refuted: nothing was known of the next iteration of a loop that every thread begins elsewhere.
@T.function
def loops_that_begin_at_the_thread(B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    for k in T.serial(tid, tid + 4):
        s[(k - tid) % 2, tid] = 1.0
        T.cuda.cta_sync()
        B[tid] = s[(k - tid) % 2, 63 - tid]


# Was refuted: of all threads that may write the byte, only the last was remembered.
@T.function
def one_of_all_threads_writes(B: T.Tensor((32,), "int32"), which: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    s = T.alloc_shared((1,), "int32")
    lane = T.cuda.thread_idx("x")
    if lane == which % 32:
        s[0] = lane
    T.cuda.cta_sync()
    B[lane] = s[0]


# Was refuted, as if F[0] and F[k % 2] could differ where k is 0.
@T.function
def one_place_by_two_names(B: T.Tensor((8,), "float32"), F: T.Tensor((2,), "int32"), m: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    q = T.alloc_local((1,), "float32")
    for k in T.serial(2):
        if m > 0 or k > 0 or F[k % 2] > 0:
            q[0] = 1.0
        if F[0] > 0:
            B[T.cuda.thread_idx()] = q[0]


@T.function
def one_place_by_two_names_of_two_threads(B: T.Tensor((8,), "float32"), F: T.Tensor((2,), "int32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    tid = T.cuda.thread_idx("x")
    if tid == 0 and F[n % 2] > 0:
        B[0] = 1.0
    if tid == 1:
        if n % 2 == 1:
            if F[1] <= 0:
                B[0] = 2.0


# Was refuted, as if F[0] could be two values, and the condition anything.
@T.function
def one_of_two_barriers_by_a_condition(B: T.Tensor((64,), "float32"), F: T.Tensor((4,), "int32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = 1.0
    if n > 0 or F[0] > 0:
        T.cuda.cta_sync()
    if not (n > 0 or F[0] > 0):
        T.cuda.cta_sync()
    B[tid] = s[63 - tid]
