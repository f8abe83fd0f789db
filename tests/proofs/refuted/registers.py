"""Registers that hold nothing when they are read, told only by some iterations or by indices of the running kernel."""

from ptxspec import T
from ptxspec.layout import S, TileLayout, laneid

N = T.dim("N")

EXPECT = {
    "not_in_the_first_iteration": ("P108", "k = 1", "without having been written"),
    "late_in_a_long_loop": ("P108", "k = 6", "without having been written"),
    "in_one_of_few_iterations": ("P108", "k = 1"),
    "later_in_a_runtime_loop": ("P108", "k = 3"),
    "chosen_and_never_written": ("P108", "no register of q has been written by then"),
    "chosen_before_it_is_written": ("P108", "no register of q has been written by then"),
}


# The first iteration reads nothing, so that it proves nothing of the second.
@T.function
def not_in_the_first_iteration(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    q = T.alloc_local((4,), "float32")
    tid = T.cuda.thread_idx()
    T.assume(n >= 0)
    T.assume(n <= 100)
    for k in T.serial(0, n):
        if k > 0:
            A[tid] = q[0]


@T.function
def late_in_a_long_loop(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    q = T.alloc_local((4,), "float32")
    tid = T.cuda.thread_idx()
    for k in T.serial(0, 100000):
        if k > 5:
            A[tid] = q[0]


@T.function
def in_one_of_few_iterations(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    q = T.alloc_local((4,), "float32")
    tid = T.cuda.thread_idx()
    for k in T.serial(0, 3):
        if k == n:
            if k > 0:
                A[tid] = q[1]


@T.function
def later_in_a_runtime_loop(A: T.Tensor((N, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    q = T.alloc_local((2,), "float32")
    q[0] = 1.0
    for k in T.serial(0, N):
        if k > 2:
            A[k, T.cuda.thread_idx()] = q[0] + q[1]


# Which register is read depends on the thread, but none is ever written.
@T.function
def chosen_and_never_written(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    q = T.alloc_local((4,), "float32")
    tid = T.cuda.thread_idx()
    A[tid] = q[tid % 4]


@T.function
def chosen_before_it_is_written(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32))
    q = T.alloc_local((4, 32), "float32", layout=TileLayout(S[(4, 32) : (1, 1 @ laneid)]))
    lane = T.cuda.lane_id()
    block = T.cuda.block_idx()
    B[block * 32 + lane] = q[block, lane]
    for k in T.unroll(4):
        q[k, lane] = A[block * 32 + lane, k]
