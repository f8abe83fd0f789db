"""Barriers, races and definedness that are right."""

from ptxspec import T

M = T.dim("M")


@T.function
def exchange(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = A[tid]
    T.cuda.cta_sync()
    B[tid] = s[63 - tid]


@T.function
def double_buffer(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((2, 64), "float32")
    for i in T.serial(32):
        s[i % 2, tid] = A[i, tid]
        T.cuda.cta_sync()
        B[i, tid] = s[i % 2, 63 - tid]


@T.function
def single_buffer_two_barriers(A: T.Tensor((32, 64), "float32"), B: T.Tensor((32, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    for i in T.serial(32):
        s[tid] = A[i, tid]
        T.cuda.cta_sync()
        B[i, tid] = s[63 - tid]
        T.cuda.cta_sync()


@T.function
def runtime_trips(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    for i in T.serial(n):
        s[(tid + i) % 64] = A[tid]
        T.cuda.cta_sync()
        B[tid] = s[tid]
        T.cuda.cta_sync()


@T.function
def uniform_branch(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = 1.0
    if n > T.cuda.block_idx("x"):
        T.cuda.cta_sync()
        if T.cuda.block_idx("x") == 0:
            A[tid] = s[63 - tid]


@T.function
def tree(A: T.Tensor((64,), "float32"), B: T.Tensor((1,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = A[tid]
    T.cuda.cta_sync()
    for level in T.serial(6):
        half = T.int32(32) >> level
        if tid < half:
            s[tid] = s[tid] + s[tid + half]
        T.cuda.cta_sync()
    if tid == 0:
        B[0] = s[0]


@T.function
def same_predicate(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :], pred=tid < 32)
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], r, pred=tid < 20)


@T.function
def preserved(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    T.cuda.tile.apply(T.ptx["mov.b32"], r.view(4, 1), T.float32(0))
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[tid, :], pred=tid < 32, preserve_dst=True)
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], r)


@T.function
def both_branches(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    r = T.alloc_local((1,), "float32")
    if tid < 7:
        r[0] = A[tid]
    else:
        r[0] = 0.0
    B[tid] = r[0]


@T.function
def uniform_value(A: T.Tensor((64,), "float32"), flags: T.Tensor((4,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = A[tid]
    if flags[2] > 0:
        T.cuda.cta_sync()
        A[63 - tid] = s[tid]


@T.function
def runtime_grid_stride(A: T.Tensor((M,), "float32"), B: T.Tensor((M,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=n, block=128))
    T.assume(n <= 1024)
    first = T.cuda.block_idx("x") * 128 + T.cuda.thread_idx("x")
    for i in T.serial(first, M, T.cuda.grid_dim("x") * 128):
        B[i] = A[i]


@T.function
def offsets_from_memory(A: T.Tensor((4096,), "float32"), offsets: T.Tensor((8,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    start = offsets[3]
    if start >= 0 and start < 4000:
        A[start + T.cuda.thread_idx("x")] = 1.0


@T.function
def index_in_a_cell(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    at = T.alloc_local((1,), "int32")
    at[0] = tid
    if n > 3:
        at[0] = 63 - at[0]
    A[at[0]] = 1.0


@T.function
def barrier_in_one_iteration(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    s[tid] = A[tid]
    for i in T.serial(3):
        if i == 1:
            T.cuda.cta_sync()
    B[tid] = s[63 - tid]


@T.function
def cells_after_loops(A: T.Tensor((64,), "float32"), n: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
    tid = T.cuda.thread_idx("x")
    T.assume(n >= 1)
    r = T.alloc_local((2,), "int32")
    r[0] = 1
    for k in T.serial(2):
        r[k] = r[0] * 3 + k
    for i in T.serial(0, 8, 5):
        if i > 0:
            r[0] = r[1] - tid
    A[r[0] * 4 + r[1] - 10] = 1.0
    for _ in T.serial(n):
        r[1] = 7 - tid
    A[r[1]] = 1.0


@T.function
def barrier_under_a_condition_that_always_holds(A: T.Tensor((64,), "float32"), B: T.Tensor((32, 64), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    s = T.alloc_shared((64,), "float32")
    for i in T.serial(1, 32, 2):
        s[tid] = A[tid]
        if i > 0:
            T.cuda.cta_sync()
        B[i, tid] = s[63 - tid]
        T.cuda.cta_sync()
