"""Blocks of one cluster that exchange values through global memory, ordered by the barriers of the cluster."""

from ptxspec import T

N = T.dim("N")


@T.function
def neighbour_block(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32"), C: T.Tensor((4, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=64, cluster=2))
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    B[b, tid] = A[b, tid]
    T.cuda.cluster_sync()
    C[b, tid] = B[b ^ 1, 63 - tid]


@T.function
def double_buffer_of_a_cluster(
    A: T.Tensor((8, 6, 64), "float32"), B: T.Tensor((2, 6, 64), "float32"), C: T.Tensor((8, 6, 64), "float32")
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=6, block=64, cluster=3))
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    c = T.cuda.cluster_cta_id("x")
    for i in T.serial(8):
        B[i % 2, b, tid] = A[i, b, tid]
        T.cuda.cluster_sync()
        C[i, b, tid] = B[i % 2, b - c + (c + 1) % 3, tid]


@T.function
def many_clusters(A: T.Tensor((N, 64), "float32"), B: T.Tensor((N, 64), "float32"), C: T.Tensor((N, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=N, block=64, cluster=4))
    T.assume(N % 4 == 0)
    tid = T.cuda.thread_idx("x")
    b = T.cuda.block_idx("x")
    B[b, tid] = A[b, tid]
    T.cuda.cluster_sync()
    C[b, tid] = B[b - b % 4 + 3 - b % 4, tid]


@T.function
def one_writes_for_all(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), C: T.Tensor((2, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=64, cluster=2))
    tid = T.cuda.thread_idx("x")
    if T.cuda.cluster_cta_id("x") == 0:
        B[tid] = A[tid]
    T.cuda.cluster_sync()
    C[T.cuda.block_idx("x"), tid] = B[63 - tid]
