"""Refused (no-wrap): ``block * 1024`` passes 2**31 in the 32-bit arithmetic it is written in."""

from ptxspec import T


@T.function
def no_wrap(A: T.Tensor((1 << 32,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1 << 22, block=1024))
    index = T.cuda.block_idx("x") * 1024 + T.cuda.thread_idx("x")
    A[index] = 0.0
