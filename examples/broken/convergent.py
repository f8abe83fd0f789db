"""A block-wide barrier that only half of the block reaches."""

from ptxspec import T


@T.function
def kernel(
    A: T.Tensor((64,), "float32", align=16),
    B: T.Tensor((64,), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    shared = T.alloc_shared((64,), "float32")
    shared[tid] = A[tid]
    if tid < 32:
        T.cuda.cta_sync()
    B[tid] = shared[tid]
