"""Registers that an index chooses which the analysis does not follow: the verdict is not `proved`."""

from ptxspec import T

EXPECT = {
    "written_elsewhere": ("P108",), "written_in_part": ("P108",), "undone_by_a_predicate": ("P108",),
}


@T.function
def written_elsewhere(B: T.Tensor((32,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((32,), "float32")
    q[31 - tid] = T.float32(1)
    B[tid] = q[tid]


@T.function
def written_in_part(B: T.Tensor((32,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((32,), "float32")
    if tid < 16:
        q[tid] = T.float32(1)
    B[tid] = q[tid]


@T.function
def undone_by_a_predicate(A: T.Tensor((32, 1), "float32"), B: T.Tensor((32,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((32, 1), "float32")
    q[tid, 0] = T.float32(1)
    T.cuda.tile.apply(T.ptx["ld.global.b32"], q.sub[3, :], A.sub[tid, :], pred=tid < 3)
    B[tid] = q[tid, 0]
