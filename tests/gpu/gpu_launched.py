"""Kernels for the tests of launching: each result is its input, in its own way."""

from __future__ import annotations

from ptxspec import T
from ptxspec.layout import S, TileLayout, cbx, laneid, warpid

M = T.dim("M")


@T.function
def copy_rows(A: T.Tensor((M, 4), "float32", align=16), B: T.Tensor((M, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 63) // 64, block=64))
    i = T.cuda.block_idx("x") * 64 + T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    if i < M:
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[i, :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i, :], registers)


@T.function
def next_row(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    shared = T.alloc_shared((64, 4), "float32", align=16)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
    T.cuda.cta_sync()
    T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], registers, shared.sub[(tid + 1) % 64, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)


@T.function
def scaled_by(A: T.Tensor((M, 4), "float32"), B: T.Tensor((M, 4), "float32"), factor: T.float32, count: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 31) // 32, block=32))
    T.assume(count <= M)
    i = T.cuda.block_idx("x") * 32 + T.cuda.thread_idx("x")
    if i < count:
        for k in range(4):
            B[i, k] = A[i, k] * factor


@T.function
def big_shared(A: T.Tensor((4096, 4), "float32", align=16), B: T.Tensor((4096, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1024))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    shared = T.alloc_shared((4096, 4), "float32", align=16)
    for k in range(4):
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[k * 1024 + tid, :])
        T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[k * 1024 + tid, :], registers)
    T.cuda.cta_sync()
    for k in range(4):
        T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], registers, shared.sub[k * 1024 + (1023 - tid), :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[k * 1024 + (1023 - tid), :], registers)


spread = TileLayout(S[(2, 4, 32, 4) : (1 @ cbx, 1 @ warpid, 1 @ laneid, 1)])


@T.function
def clustered(A: T.Tensor((768, 4), "float32", align=16), B: T.Tensor((768, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=6, block=128, cluster=2))
    registers = T.alloc_local((2, 4, 32, 4), "float32", layout=spread)
    pair = T.cuda.block_idx("x") // 2
    rows = A.view((3, 2, 4, 32, 4))
    to = B.view((3, 2, 4, 32, 4))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, rows.sub[pair], scope="cluster")
    T.cuda.cluster_sync()
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], to.sub[pair], registers, scope="cluster")


@T.function
def after_barrier(A: T.Tensor((512, 4), "float32", align=16), B: T.Tensor((512, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=8, block=64, cooperative=True))
    i = T.cuda.block_idx("x") * 64 + T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[i, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i, :], registers)
