"""A 64-bit view that starts at a runtime float: an odd start splits a 64-bit word."""

from ptxspec import T


@T.function
def kernel(
    A: T.Tensor((64,), "float32", align=16),
    B: T.Tensor((16,), "float64", align=16),
    start: T.int32,
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
    tid = T.cuda.thread_idx("x")
    T.assume(start >= 0)
    T.assume(start <= 32)
    wide = A.sub[start : start + 32].view("float64")
    B[tid] = wide[tid]
