"""Small kernels that each test one host check. Those of the documents are in ``examples/``."""

from __future__ import annotations

from ptxspec import T
from ptxspec.layout import S, TileLayout

M = T.dim("M")


@T.function
def scale_rows(A: T.Tensor((M, 4), "float32"), B: T.Tensor((M, 4), "float32"), factor: T.float32, count: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 31) // 32, block=32))
    T.assume(count <= M)
    i = T.cuda.block_idx("x") * 32 + T.cuda.thread_idx("x")
    if i < count:
        for k in range(4):
            B[i, k] = A[i, k] * factor


@T.function
def transposed_in(
    A: T.Tensor((8, 4), "float32", layout=TileLayout(S[(8, 4) : (1, 8)])), B: T.Tensor((8, 4), "float32")
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    i = T.cuda.thread_idx("x")
    for k in range(4):
        B[i, k] = A[i, k]
