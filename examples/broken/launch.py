"""2,048 threads in a block: twice what any chip takes."""

from ptxspec import T


@T.function
def kernel(
    B: T.Tensor((2048,), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=2048))
    tid = T.cuda.thread_idx("x")
    B[tid] = T.float32(1)
