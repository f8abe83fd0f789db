"""Sixteen MiB of shared memory: no chip has it."""

from ptxspec import T


@T.function
def kernel(
    B: T.Tensor((64,), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    shared = T.alloc_shared((64, 65536), "float32")
    shared[tid, 0] = T.float32(1)
    B[tid] = shared[tid, 0]
