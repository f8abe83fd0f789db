"""The documents' kernels, and small ones that each test one host check."""

from __future__ import annotations

from ptxspec import T
from ptxspec.layout import S, TileLayout, laneid, warpid

global_layout = TileLayout(S[(15, 2, 7, 2) : (4, 1, 60, 2)])
register_layout = TileLayout(S[(15, 2, 7, 2) : (8, 2, 120, 4)])


@T.function
def strided_load(
    A: T.Tensor((15, 2, 7, 2), "float32", layout=global_layout, align=16),
    Out: T.Tensor((420,), "float32"),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    R = T.alloc_tensor(
        ty_args=[T.Tensor((15, 2, 7, 2), "float32", scope="local", layout=register_layout)]
    )
    av = A.rearrange("i b j d -> j i (d b)")
    rv = R.rearrange("i b j d -> j i (d b)")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], rv, av)
    for j, i, d, b in T.grid(7, 15, 2, 2):
        Out[60 * j + 4 * i + 2 * d + b] = R[i, b, j, d]


@T.function
def read_next_row(
    A: T.Tensor((64, 4), "float32", align=16),
    B: T.Tensor((64, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    shared = T.alloc_shared((64, 4), "float32", align=16)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
    T.cuda.cta_sync()
    T.cuda.tile.apply(
        T.ptx["ld.shared.v4.b32"], registers, shared.sub[(tid + 1) % 64, :]
    )
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)


@T.function
def cta_copy(A: T.Tensor((4, 32, 3, 4), "float32", align=16), B: T.Tensor((4, 32, 3, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=128))
    R = T.alloc_tensor(ty_args=[T.Tensor((4, 32, 3, 4), "float32", scope="local", layout=TileLayout(
        S[(4, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)]))])
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], R, A, scope="cta")
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B, R, scope="cta")


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
