"""Kernels that need every kind of argument."""

from __future__ import annotations

from ptxspec import T

M = T.dim("M")


@T.function
def copy_rows(A: T.Tensor((M, 4), "float32", align=16), B: T.Tensor((M, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 31) // 32, block=32))
    i = T.cuda.block_idx("x") * 32 + T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    if i < M:
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[i, :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i, :], registers)


@T.function
def with_options(A: T.Tensor((M, 64), "float32", align=16), B: T.Tensor((M, 64), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2 * M, block=32, cluster=2, cooperative=True, stream=33,
                                              dynamic_smem_bytes=65536))
    row = T.cuda.block_idx("x") // 2
    column = T.cuda.block_idx("x") % 2 * 32 + T.cuda.thread_idx("x")
    B[row, column] = A[row, column]


@T.function
def scaled(A: T.Tensor((M, 4), "float32"), B: T.Tensor((M, 4), "float32"), factor: T.float32, count: T.int32,
           twice: T.bool):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 31) // 32, block=32))
    T.assume(count <= M)
    i = T.cuda.block_idx("x") * 32 + T.cuda.thread_idx("x")
    if i < count:
        for k in range(4):
            B[i, k] = A[i, k] * factor
            if twice:
                B[i, k] = A[i, k] * factor * factor
