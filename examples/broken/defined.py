"""Registers stored although the load that fills them ran only for the first half of the block."""

from ptxspec import T


@T.function
def kernel(
    A: T.Tensor((64, 4), "float32", align=16),
    B: T.Tensor((64, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :], pred=tid < 32)
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)
