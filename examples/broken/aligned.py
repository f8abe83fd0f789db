"""A four-word load that starts at column 1: its address is 4 bytes past a multiple of 16."""

from ptxspec import T


@T.function
def kernel(
    A: T.Tensor((64, 8), "float32", align=16),
    B: T.Tensor((64, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, 1:5])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)
