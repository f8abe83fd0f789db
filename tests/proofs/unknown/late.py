"""What values of memory decide in some iterations only is not followed from one iteration to another."""

from ptxspec import T

EXPECT = {
    "one_place_read_twice": ("P108", "only approximated"),
    "barriers_by_values": ("P107", "barriers are met in some iterations of a loop only, or"),
    "one_of_two_barriers_by_value": ("P107", "barriers are met in some iterations of a loop only, or"),
}


# Right, because F is never written; was refuted.
@T.function
def one_place_read_twice(B: T.Tensor((4,), "float32"), F: T.Tensor((4,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=4))
    q = T.alloc_local((1,), "float32")
    for _k in T.serial(2):
        if F[0] > 0:
            q[0] = 1.0
    if F[0] > 0:
        B[T.cuda.thread_idx()] = q[0]


# Wrong for F[0] = 0, F[1] = 1: no barrier is met. Was proved: both values were held to be one.
@T.function
def barriers_by_values(B: T.Tensor((64,), "float32"), F: T.Tensor((4,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = 1.0
    for k in T.serial(2):
        v = F[k]
        if k == 0:
            if v > 0:
                T.cuda.cta_sync()
        else:
            if v <= 0:
                T.cuda.cta_sync()
    B[tid] = s[63 - tid]


# Right: each iteration meets one of its two barriers.
@T.function
def one_of_two_barriers_by_value(B: T.Tensor((64,), "float32"), F: T.Tensor((4,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = 1.0
    for k in T.serial(2):
        v = F[k]
        if v > 0:
            T.cuda.cta_sync()
        if v <= 0:
            T.cuda.cta_sync()
    B[tid] = s[63 - tid]
