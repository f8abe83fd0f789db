"""Refused (in-bounds): the new layout of the four registers reaches the seventh."""

from ptxspec import T
from ptxspec.layout import S, TileLayout


@T.function
def register_view(A: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32")
    spread = registers.view(4, layout=TileLayout(S[4:2]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], spread, A.sub[tid, :])
