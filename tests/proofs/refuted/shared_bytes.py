"""Shared memory that is read where nobody wrote: some bytes of an array, some threads, some iterations."""

from ptxspec import T

EXPECT = {
    "one_row_short": ("P108", "no write before it touches these bytes of s", "nobody has written byte 252 of s",
                      "this has written 252 bytes of s, from 0 to 251", "fill all of s before"),
    "half_a_vector": ("P108", "nobody has written byte 1016 of s",
                      "`ld.shared.v2.b32` reads only bytes that were written"),
    "first_iteration": ("P108", "i = 0", "nobody has written byte 508 of s", "the byte is written here, but later"),
    "other_stage": ("P108", "nobody has written byte 508 of s", "i = 0"),
    "padding": ("P108", "nobody has written byte 64 of s", "some of those from 0 to 1083"),
    "added_to_nothing": ("P108", "finds nothing: s is never written", "nobody has written byte 0 of s"),
    "one_way_only": ("P108", "nobody has written byte", "n = 0"),
}

K = T.dim("K")


@T.function
def one_row_short(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    if tid < 63:
        s[tid] = A[tid]
    T.cuda.cta_sync()
    B[tid] = s[63 - tid]


@T.function
def half_a_vector(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64, 4), "float32", align=16)
    r = T.alloc_local((4,), "float32")
    s[tid, 0] = A[tid, 0]
    s[tid, 1] = A[tid, 1]
    T.cuda.cta_sync()
    T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], r, s.sub[63 - tid])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid], r)


@T.function
def first_iteration(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    for i in T.serial(4):
        s[i % 2, tid] = A[i, tid]
        T.cuda.cta_sync()
        B[i, tid] = s[(i + 1) % 2, 63 - tid]
        T.cuda.cta_sync()


@T.function
def other_stage(A: T.Tensor((K, 64), "float32"), B: T.Tensor((K, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    for i in T.serial(K):
        s[i % 2, tid] = A[i, tid]
        T.cuda.cta_sync()
        B[i, tid] = s[1 - i % 2, 63 - tid]
        T.cuda.cta_sync()


@T.function
def padding(A: T.Tensor((16, 16), "float32"), B: T.Tensor((16,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=(16, 16)))
    x = T.cuda.thread_idx("x")
    y = T.cuda.thread_idx("y")
    s = T.alloc_shared((16, 17), "float32")
    s[y, x] = A[y, x]
    T.cuda.cta_sync()
    if y == 0:
        B[x] = s[x, 16]


@T.function
def one_way_only(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    T.assume(n >= 0)
    T.assume(n < 4)
    s = T.alloc_shared((64,), "float32")
    if n > 1:
        s[tid] = A[tid]
    T.cuda.cta_sync()
    B[tid] = s[63 - tid]


@T.function
def added_to_nothing(B: T.Tensor((4,), "uint32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((4, 1), "uint32")
    one = T.alloc_local((1,), "uint32")
    one[0] = 1
    T.cuda.tile.apply(T.ptx["red.shared.add.u32"], s.sub[tid % 4], one)
    T.cuda.cta_sync()
    if tid < 3:
        B[tid] = 0
