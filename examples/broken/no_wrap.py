"""A square in 32 bits: from index 46341 on it wraps to a negative number, although the exact quotient is in bounds."""

from ptxspec import T


@T.function
def kernel(
    A: T.Tensor((65536,), "float32", align=16),
    B: T.Tensor((65536,), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=256, block=256))
    i = T.cuda.block_idx("x") * 256 + T.cuda.thread_idx("x")
    B[i] = A[(i * i) // 65536]
