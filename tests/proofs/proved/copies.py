"""Copies of registers on every thread that uses them."""

from ptxspec import T
from ptxspec.layout import R, S, TileLayout, laneid, warpid


@T.function
def a_copy_for_every_lane_of_both_warps(A: T.Tensor((4, 1), "float32"), B: T.Tensor((64, 1), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((4, 1), "float32", layout=TileLayout(S[(4, 1) : (1 @ laneid, 1)]
                                                            + R[(8, 2) : (4 @ laneid, 1 @ warpid)]))
    T.cuda.tile.apply(T.ptx["ld.global.b32"], q.sub[tid % 4, :], A.sub[tid % 4, :])
    T.cuda.tile.apply(T.ptx["st.global.b32"], B.sub[tid, :], q.sub[tid % 4, :])


@T.function
def registers_chosen_by_the_lane(A: T.Tensor((32, 1), "float32"), B: T.Tensor((32, 1), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    q = T.alloc_local((32, 1), "float32", layout=TileLayout(S[(32, 1) : (1, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.b32"], q, A, scope="warp")
    T.cuda.tile.apply(T.ptx["st.global.b32"], B, q, scope="warp")
