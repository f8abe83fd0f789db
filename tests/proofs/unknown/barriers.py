"""Barriers that all threads meet equally often, in different iterations: right, but beyond the structure of a proof."""

from ptxspec import T

EXPECT = {
    "in_turns": ("P110", "equally often"),
    "uneven_loops_that_balance": ("P110", "equally often"),
}


# Every thread meets the barrier twice: even ones in iterations 0 and 2, odd ones in 1 and 3.
@T.function
def in_turns(A: T.Tensor((8,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    tid = T.cuda.thread_idx("x")
    for i in T.serial(4):
        if (i + tid) % 2 == 0:
            T.cuda.cta_sync()
    A[tid] = 1.0


# Thread 0 runs iterations 0 and 3, the others one iteration that is not 0: each meets one barrier.
@T.function
def uneven_loops_that_balance(A: T.Tensor((4,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    tid = T.cuda.thread_idx("x")
    for i in T.serial(tid, 4, 3):
        if i > 0:
            T.cuda.cta_sync()
    A[tid] = 1.0
