"""Refused (fits): 240,000 bytes of shared memory are more than a block of sm_90 can have."""

from ptxspec import T


@T.function
def fits(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    shared = T.alloc_shared((60000,), "float32")
    shared[tid] = A[tid]
