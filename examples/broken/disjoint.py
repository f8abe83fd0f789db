"""A load whose four destination words share two registers."""

from ptxspec import T
from ptxspec.layout import S, TileLayout


@T.function
def kernel(
    A: T.Tensor((64, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((2, 2), "float32", layout=TileLayout(S[(2, 2) : (1, 1)]))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers.view(4), A.sub[tid, :])
