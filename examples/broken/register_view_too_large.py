"""Eight registers seen through a layout over a tensor of four."""

from ptxspec import T
from ptxspec.layout import S, TileLayout


@T.function
def kernel(
    A: T.Tensor((64, 8), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32")
    eight = registers.view(2, 4, layout=TileLayout(S[(2, 4) : (4, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], eight, A.sub[tid, :].view(2, 4))
