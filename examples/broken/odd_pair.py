"""Refused (aligned): a 64-bit view of 32-bit words that starts at an odd word for every second thread."""

from ptxspec import T


@T.function
def odd_pair(A: T.Tensor((66,), "float32", align=16), B: T.Tensor((64, 1), "float64", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((1,), "float64")
    T.cuda.tile.apply(T.ptx["ld.global.b64"], registers, A.sub[tid : tid + 2].view("float64"))
    T.cuda.tile.apply(T.ptx["st.global.b64"], B.sub[tid, :], registers)
