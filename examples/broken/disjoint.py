"""Refused (disjoint): two loads of four words each go to six registers, so two registers are written twice."""

from ptxspec import T
from ptxspec.layout import S, TileLayout


@T.function
def disjoint(A: T.Tensor((64, 2, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((2, 4), "float32", layout=TileLayout(S[(2, 4) : (2, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :, :])
