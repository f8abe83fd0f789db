"""Statements that can never run: nothing was proved about them, and the prover says so."""

from ptxspec import T

M = T.dim("M")

EXPECT = {
    "contradiction": ("P103", "n > 5", "n < 3"),
    "empty_grid": ("P112", "nothing runs", "the grid has 0 blocks"),
    "empty_loop": ("P103", "loop i"),
    "empty_array": ("P103", "M == 0"),
}


@T.function
def contradiction(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    T.assume(n > 5)
    T.assume(n < 3)
    A[T.cuda.thread_idx("x")] = 1.0


@T.function
def empty_grid(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=0, block=64))
    A[T.cuda.block_idx("x") + T.cuda.thread_idx("x")] = 1.0


@T.function
def empty_loop(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    for i in T.serial(5, 5):
        A[i] = 1.0


@T.function
def empty_array(A: T.Tensor((M,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=1))
    T.assume(M == 0)
    A[T.cuda.block_idx("x")] = 1.0
