"""A two-word load of every second column: its words are not neighbours in memory."""

from ptxspec import T


@T.function
def kernel(
    A: T.Tensor((64, 4), "float32", align=16),
    B: T.Tensor((64, 2), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((2,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v2.b32"], registers, A.sub[tid, ::2])
    T.cuda.tile.apply(T.ptx["st.global.v2.b32"], B.sub[tid, :], registers)
