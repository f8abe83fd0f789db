"""Copies of registers that lie on other threads than the one that uses them. Found by mutating random kernels."""

from ptxspec import T
from ptxspec.layout import R, S, TileLayout, laneid, warpid

EXPECT = {
    "copies_in_every_other_warp": ("P105", "warpid 1"),
    "copies_that_stay_in_one_warp": ("P105", "warpid 1"),
    "one_copy_is_in_one_warp": ("P105", "warpid 1"),
}


@T.function
def copies_in_every_other_warp(A: T.Tensor((4, 1), "float32"), B: T.Tensor((64, 1), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((4, 1), "float32", layout=TileLayout(S[(4, 1) : (1 @ laneid, 1)]
                                                            + R[(8, 2) : (4 @ laneid, 2 @ warpid)]))
    T.cuda.tile.apply(T.ptx["ld.global.b32"], q.sub[tid % 4, :], A.sub[tid % 4, :])
    T.cuda.tile.apply(T.ptx["st.global.b32"], B.sub[tid, :], q.sub[tid % 4, :])


@T.function
def copies_that_stay_in_one_warp(A: T.Tensor((4, 1), "float32"), B: T.Tensor((64, 1), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((4, 1), "float32", layout=TileLayout(S[(4, 1) : (1 @ laneid, 1)]
                                                            + R[(8, 2) : (4 @ laneid, 0 @ warpid)]))
    T.cuda.tile.apply(T.ptx["ld.global.b32"], q.sub[tid % 4, :], A.sub[tid % 4, :])
    T.cuda.tile.apply(T.ptx["st.global.b32"], B.sub[tid, :], q.sub[tid % 4, :])


@T.function
def one_copy_is_in_one_warp(A: T.Tensor((4, 1), "float32"), B: T.Tensor((64, 1), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((4, 1), "float32", layout=TileLayout(S[(4, 1) : (1 @ laneid, 1)]
                                                            + R[(8, 1) : (4 @ laneid, 1 @ warpid)]))
    T.cuda.tile.apply(T.ptx["ld.global.b32"], q.sub[tid % 4, :], A.sub[tid % 4, :])
    T.cuda.tile.apply(T.ptx["st.global.b32"], B.sub[tid, :], q.sub[tid % 4, :])
