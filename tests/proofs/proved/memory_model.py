"""Atomics whose scope takes in all threads that meet, and loads past the coherent caches of what nobody writes."""

from ptxspec import T

N = T.dim("N")


@T.function
def atomics_of_the_device(A: T.Tensor((4,), "uint32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32))
    q = T.alloc_local((1,), "uint32")
    q[0] = T.uint32(1)
    T.cuda.tile.apply(T.ptx["red.global.add.u32"], A.sub[0:1], q)


@T.function
def atomics_of_one_block(A: T.Tensor((4,), "uint32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32))
    q = T.alloc_local((1,), "uint32")
    q[0] = T.uint32(1)
    b = T.cuda.block_idx("x")
    T.cuda.tile.apply(T.ptx["red.relaxed.cta.global.add.u32"], A.sub[b : b + 1], q)


@T.function
def atomics_of_one_cluster(A: T.Tensor((2,), "uint32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32, cluster=2))
    q = T.alloc_local((1,), "uint32")
    q[0] = T.uint32(1)
    c = T.cuda.block_idx("x") // 2
    T.cuda.tile.apply(T.ptx["red.relaxed.cluster.global.add.u32"], A.sub[c : c + 1], q)


@T.function
def half_is_read_half_is_written(A: T.Tensor((N, 2), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(N + 31) // 32, block=32))
    row = T.cuda.block_idx("x") * 32 + T.cuda.thread_idx("x")
    q = T.alloc_local((1,), "float32")
    if row < N:
        T.cuda.tile.apply(T.ptx["ld.global.nc.b32"], q, A.sub[row, 0:1])
        A[row, 1] = q[0]
