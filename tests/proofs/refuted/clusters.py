"""Blocks that exchange values without a barrier of their cluster, or across clusters."""

from ptxspec import T

EXPECT = {
    "no_cluster_sync": ("P107", "thread 0, block 0", "thread 0, block 1", "refuted/clusters.py:23:5",
                        "refuted/clusters.py:24:17",
                        "a cluster_sync between them is enough (proved): `T.cuda.cluster_sync()` before line 24"),
    "only_cta_sync": ("P107", "only T.cuda.cluster_sync() makes blocks of one cluster wait",
                      "a cluster_sync between them is enough (proved)"),
    "across_clusters": ("P107", "blocks of different clusters never wait for each other"),
    "one_buffer_of_a_cluster": ("P107", "no barrier closes the iteration", "i = 1",
                                "a cluster_sync between them is enough (proved): `T.cuda.cluster_sync()` before line"),
    "half_meets": ("P110", "cluster barrier is not reached by all threads"),
}


@T.function
def no_cluster_sync(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32"), C: T.Tensor((4, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=64, cluster=2))
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    B[b, tid] = A[b, tid]
    C[b, tid] = B[b ^ 1, tid]


@T.function
def only_cta_sync(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32"), C: T.Tensor((4, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=64, cluster=2))
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    B[b, tid] = A[b, tid]
    T.cuda.cta_sync()
    C[b, tid] = B[b ^ 1, tid]


@T.function
def across_clusters(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32"), C: T.Tensor((4, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=64, cluster=2))
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    B[b, tid] = A[b, tid]
    T.cuda.cluster_sync()
    C[b, tid] = B[3 - b, tid]


@T.function
def one_buffer_of_a_cluster(
    A: T.Tensor((8, 4, 64), "float32"), B: T.Tensor((4, 64), "float32"), C: T.Tensor((8, 4, 64), "float32")
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=64, cluster=2))
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    for i in T.serial(8):
        B[b, tid] = A[i, b, tid]
        T.cuda.cluster_sync()
        C[i, b, tid] = B[b ^ 1, tid]


@T.function
def half_meets(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=64, cluster=2))
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    B[b, tid] = A[b, tid]
    if b % 2 == 0:
        T.cuda.cluster_sync()
