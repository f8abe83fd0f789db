"""A register layout that hands every element to the neighbouring lane."""

from ptxspec import T
from ptxspec.layout import S, TileLayout, laneid

shifted = TileLayout(S[(32, 4) : (1 @ laneid, 1)] + 1 @ laneid)


@T.function
def kernel(
    A: T.Tensor((32, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    registers = T.alloc_local((32, 4), "float32", layout=shifted)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A, scope="warp")
