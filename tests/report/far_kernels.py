"""Kernels whose counterexamples lie far out or hang on the contents of arrays."""

from ptxspec import T

N = T.dim("N")


@T.function
def cluster_race(A: T.Tensor((8,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32, cluster=2))
    t = T.cuda.thread_idx("x")
    if t < 8:
        A[t] = T.int32(1)


@T.function
def far(A: T.Tensor((N, 4), "float32", align=16), B: T.Tensor((N, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=N, block=64))
    b = T.cuda.block_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[b * 2, :], pred=b > 1000)


@T.function
def big(A: T.Tensor((1 << 20, 1 << 8), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1 << 20, block=64))
    b = T.cuda.block_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[b, 0:4], pred=b == 1048575)
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], A.sub[b + 1, 0:4], r, pred=b == 1048575)


@T.function
def float_guard(A: T.Tensor((64,), "float32"), idx: T.Tensor((64,), "int32"), B: T.Tensor((64,), "float32"),
                s: T.float32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    t = T.cuda.thread_idx("x")
    if A[t] > T.float32(2.5):
        if s < T.float32(0):
            B[t] = A[idx[t]]
