"""What the prover does not decide, and says so."""

from ptxspec import T

EXPECT = {
    "value_through_shared": ("P103", "which the kernel itself writes"),
    "value_through_registers": ("P103", "which the kernel itself writes"),
}


@T.function
def value_through_shared(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "int32")
    s[tid] = 63 - tid
    T.cuda.cta_sync()
    A[s[tid] % 64 + s[0]] = 1.0


@T.function
def value_through_registers(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    T.assume(n < 64)
    r = T.alloc_local((1,), "int32")
    r[0] = 0
    for _ in T.serial(n):
        r[0] = r[0] + 1
    A[r[0]] = 1.0
