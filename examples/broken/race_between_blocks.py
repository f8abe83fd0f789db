"""Two blocks write the same row."""

from ptxspec import T


@T.function
def kernel(
    B: T.Tensor((64,), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid] = T.float32(1)
