"""Atomics that are none to each other, and loads past the coherent caches of what the kernel writes."""

from ptxspec import T

N = T.dim("N")

EXPECT = {
    "atomics_of_one_block_on_all": ("P107", "two blocks combine into one byte of A", "scope cta is not atomic"),
    "atomics_of_one_cluster_on_all": ("P107", "scope cluster is not atomic to threads of other clusters"),
    "one_scope_too_narrow": ("P107", "scope cta is not atomic to threads of other blocks"),
    "atomics_of_two_sizes": ("P107", "different sizes are not atomic to each other"),
    "read_past_the_caches": ("P107", "a read that is not coherent may find bytes of A", "past the coherent caches"),
    "read_past_the_caches_of_another_row": ("P107", "past the coherent caches"),
}


@T.function
def atomics_of_one_block_on_all(A: T.Tensor((4,), "uint32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32))
    q = T.alloc_local((1,), "uint32")
    q[0] = T.uint32(1)
    T.cuda.tile.apply(T.ptx["red.relaxed.cta.global.add.u32"], A.sub[0:1], q)


@T.function
def atomics_of_one_cluster_on_all(A: T.Tensor((4,), "uint32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32, cluster=2))
    q = T.alloc_local((1,), "uint32")
    q[0] = T.uint32(1)
    T.cuda.tile.apply(T.ptx["red.relaxed.cluster.global.add.u32"], A.sub[0:1], q)


@T.function
def one_scope_too_narrow(A: T.Tensor((4,), "uint32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=1))
    q = T.alloc_local((1,), "uint32")
    q[0] = T.uint32(1)
    if T.cuda.block_idx("x") == 0:
        T.cuda.tile.apply(T.ptx["red.relaxed.gpu.global.add.u32"], A.sub[0:1], q)
    else:
        T.cuda.tile.apply(T.ptx["red.relaxed.cta.global.add.u32"], A.sub[0:1], q)


@T.function
def atomics_of_two_sizes(A: T.Tensor((4,), "uint32", align=8)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    q = T.alloc_local((1,), "uint32")
    p = T.alloc_local((1,), "uint64")
    q[0] = T.uint32(1)
    p[0] = T.uint64(1)
    if T.cuda.thread_idx("x") < 16:
        T.cuda.tile.apply(T.ptx["red.global.add.u32"], A.sub[0:1], q)
    else:
        T.cuda.tile.apply(T.ptx["red.global.add.u64"], A.sub[0:2].view("uint64"), p)


# By one thread: the cache may still hold what was there before the store.
@T.function
def read_past_the_caches(A: T.Tensor((32, 1), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((1,), "float32")
    A[tid, 0] = 1.0
    T.cuda.tile.apply(T.ptx["ld.global.nc.b32"], q, A.sub[tid, :])
    A[tid, 0] = q[0]


# No barrier helps, and the write may come last.
@T.function
def read_past_the_caches_of_another_row(A: T.Tensor((N, 32), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
    tid = T.cuda.thread_idx("x")
    q = T.alloc_local((1,), "float32")
    for k in T.serial(N - 1):
        T.cuda.tile.apply(T.ptx["ldu.global.b32"], q, A.sub[k + 1, tid : tid + 1])
        T.cuda.cta_sync()
        A[k, tid] = q[0]
