"""Kernels that the prover refuses, each wrong in one way: what the hardware then does is in ``test_gpu_faults.py``."""

from ptxspec import T
from ptxspec.layout import S, TileLayout


@T.function
def misaligned_load(A: T.Tensor((257,), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid * 4 + 1 : tid * 4 + 5])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)


@T.function
def misaligned_store(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 5), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, 0:4], registers)


@T.function
def misaligned_shared(A: T.Tensor((64, 2), "float32", align=16), B: T.Tensor((64, 2), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((2,), "float32")
    shared = T.alloc_shared((64, 3), "float32", align=16)
    T.cuda.tile.apply(T.ptx["ld.global.v2.b32"], registers, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.shared.v2.b32"], shared.sub[tid, 0:2], registers)
    T.cuda.tile.apply(T.ptx["st.global.v2.b32"], B.sub[tid, :], registers)


@T.function
def misaligned_view(A: T.Tensor((129,), "float32", align=16), B: T.Tensor((64,), "float64", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid] = A.sub[1:129].view("float64")[tid]


@T.function
def far_past_the_end(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[T.int64(tid) * 2**38] = A[tid]


@T.function
def past_shared_memory(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    shared = T.alloc_shared((64,), "float32")
    shared[tid * 16384] = A[tid]
    B[tid] = shared[tid * 16384]


@T.function
def past_the_end(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid + 1, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)


@T.function
def write_past_the_end(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid + 1] = A[tid]


@T.function
def write_before_the_start(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    B[tid - 2] = A[tid]


@T.function
def row_of_a_view(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid + 1, :], registers)


@T.function
def larger_than_its_storage(A: T.Tensor((16,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=16))
    tid = T.cuda.thread_idx("x")
    B.view(16, layout=TileLayout(S[16:5]))[tid] = A[tid]


@T.function
def guarded_by_the_wrong_bound(A: T.Tensor((100,), "float32"), B: T.Tensor((100,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32))
    i = T.cuda.block_idx("x") * 32 + T.cuda.thread_idx("x")
    if i <= 100:
        B[i] = A[T.min(i, 99)]


@T.function
def lost_updates(A: T.Tensor((1,), "int32"), B: T.Tensor((1,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=64, block=256))
    B[0] += A[0]


@T.function
def no_barrier(A: T.Tensor((256, 4), "float32", align=16), B: T.Tensor((256, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=256))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32")
    shared = T.alloc_shared((256, 4), "float32", align=16)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
    T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], registers, shared.sub[(tid + 1) % 256, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)
