"""128 threads copy 1,536 words together: three four-word loads and three stores a thread.

The operands have the shape (4 warps, 32 lanes, 3 repeats, 4 words). The register layout puts the first two axes on the
hardware, so that every thread owns the twelve words it moves.
"""

from ptxspec import T
from ptxspec.layout import S, TileLayout, laneid, warpid

registers_of_threads = TileLayout(S[(4, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)])


@T.function
def cta_copy(
    A: T.Tensor((4, 32, 3, 4), "float32", align=16),
    B: T.Tensor((4, 32, 3, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=128))
    registers = T.alloc_local((4, 32, 3, 4), "float32", layout=registers_of_threads)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A, scope="cta")
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B, registers, scope="cta")
