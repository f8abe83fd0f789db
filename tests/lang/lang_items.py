"""One realistic kernel for every item of the language, with its arguments and what NumPy says it computes.

Each is a function of a random generator that gives the kernel, its arguments and those of them that change, as they are
after the launch. The simulator runs them in ``test_language_items.py``, the GPU in ``tests/gpu/test_gpu_random.py``.
"""

from __future__ import annotations

import numpy as np
from lang_cases import Case, f32, item

from ptxspec import T
from ptxspec.layout import ComposeLayout, R, S, TileLayout, cbx, laneid, warpid

M, N = T.dim("M"), T.dim("N")


@item
def cluster_ids_and_scope(rng: np.random.Generator) -> Case:
    """The two blocks of a cluster copy a matrix together; every thread says where in the cluster it is."""

    @T.function
    def kernel(A: T.Tensor((3, 2, 4, 32, 2, 4), "float32"), B: T.Tensor((3, 2, 4, 32, 2, 4), "float32"),
               Ids: T.Tensor((6, 128), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=6, block=128, cluster=2))
        cluster = T.cuda.block_idx() // 2
        r = T.alloc_local((2, 4, 32, 2, 4), "float32", layout=TileLayout(
            S[(2, 4, 32, 2, 4) : (1 @ cbx, 1 @ warpid, 1 @ laneid, 4, 1)]))
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[cluster], scope="cluster")
        T.cuda.cluster_sync()
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[cluster], r, scope="cluster")
        Ids[T.cuda.block_idx(), T.cuda.thread_idx()] = T.cuda.cluster_cta_id() * 1000 + T.cuda.warp_in_warpgroup()

    a = f32(rng, 3, 2, 4, 32, 2, 4)
    ids = (np.arange(6)[:, None] % 2) * 1000 + np.arange(128)[None, :] // 32
    return Case(kernel, [a, np.zeros_like(a), np.zeros((6, 128), np.int32)], {1: a, 2: ids.astype(np.int32)},
                ("sm_90", "sm_120"))


@item
def cluster_in_two_directions(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(Out: T.Tensor((4, 4, 8, 4), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(4, 4), block=(8, 4), cluster=(2, 2)))
        x, y = T.cuda.cluster_cta_id("x"), T.cuda.cluster_cta_id("y")
        i, j = T.cuda.thread_idx("x"), T.cuda.thread_idx("y")
        Out[T.cuda.block_idx("y"), T.cuda.block_idx("x"), i, j] = (y * 2 + x) * 100 + T.cuda.lane_id()

    by, bx, i, j = np.meshgrid(*(np.arange(n) for n in (4, 4, 8, 4)), indexing="ij")
    want = ((by % 2) * 2 + bx % 2) * 100 + j * 8 + i
    return Case(kernel, [np.zeros((4, 4, 8, 4), np.int32)], {0: want.astype(np.int32)}, ("sm_90", "sm_100"))


@item
def copies_of_registers_on_lanes(rng: np.random.Generator) -> Case:
    """Four lanes hold each row: all load it, one of four stores it."""
    @T.function
    def kernel(A: T.Tensor((8, 4), "float32"), B: T.Tensor((8, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        lane = T.cuda.lane_id()
        q = T.alloc_local((8, 4), "float32", layout=TileLayout(S[(8, 4) : (1 @ laneid, 1)] + R[4 : 8 @ laneid]))
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q.sub[lane % 8], A.sub[lane % 8])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[lane % 8], q.sub[lane % 8], pred=lane < 8)

    a = f32(rng, 8, 4)
    return Case(kernel, [a, np.zeros_like(a)], {1: a})


@item
def copies_in_shared_memory(rng: np.random.Generator) -> Case:
    """Two copies of a table in shared memory: both are written, and each half of the block reads its own."""
    @T.function
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((2, 64), "float32"), C: T.Tensor((16, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        tid = T.cuda.thread_idx()
        twice = T.alloc_shared((64,), "float32", layout=TileLayout(S[64 : 1] + R[2 : 64]))
        twice[tid] = A[tid]
        T.cuda.cta_sync()
        both = twice.view(2, 64, layout=TileLayout(S[2, 64]))
        for k in range(2):
            B[k, tid] = both[k, 63 - tid]
        T.cuda.cta_sync()
        r = T.alloc_local((4,), "float32")
        if tid < 16:
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.view(16, 4).sub[15 - tid])
            T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], twice.view(16, 4).sub[tid], r)
        T.cuda.cta_sync()
        if tid < 16:
            T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], r, both.sub[1].view(16, 4).sub[tid])
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"], C.sub[tid], r)

    a = f32(rng, 64)
    return Case(kernel, [a, np.zeros((2, 64), np.float32), np.zeros((16, 4), np.float32)],
                {1: np.stack([a[::-1]] * 2), 2: a.reshape(16, 4)[::-1]})


@item
def swizzled_transpose(rng: np.random.Generator) -> Case:
    """A tile of 32 x 32 words through shared memory whose rows are permuted by XOR, for any shape."""
    swizzled = ComposeLayout(0, 5, 5, TileLayout(S[32, 32]))

    @T.function
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((N, M), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + 31) // 32, (M + 31) // 32), block=(32, 8)))
        x, y = T.cuda.thread_idx("x"), T.cuda.thread_idx("y")
        column, row = T.cuda.block_idx("x") * 32, T.cuda.block_idx("y") * 32
        tile = T.alloc_shared((32, 32), "float32", layout=swizzled)
        for k in T.unroll(4):
            if row + y + 8 * k < M and column + x < N:
                tile[y + 8 * k, x] = A[row + y + 8 * k, column + x]
        T.cuda.cta_sync()
        for k in T.unroll(4):
            if column + y + 8 * k < N and row + x < M:
                B[column + y + 8 * k, row + x] = tile[x, y + 8 * k]

    a = f32(rng, 45, 70)
    return Case(kernel, [a, np.zeros((70, 45), np.float32)], {1: a.T.copy()})


@item
def storage_laid_out_anew(rng: np.random.Generator) -> Case:
    """One array read as 2 x 2 blocks of itself, a diagonal and a window that overlaps itself."""
    @T.function
    def kernel(A: T.Tensor((16, 16), "int32"), Blocks: T.Tensor((8, 8, 2, 2), "int32"),
               Diagonal: T.Tensor((16,), "int32"), Windows: T.Tensor((64, 3), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        tid = T.cuda.thread_idx()
        blocks = A.view(8, 8, 2, 2, layout=TileLayout(S[(8, 8, 2, 2) : (32, 2, 16, 1)]))
        for i, j in T.grid(2, 2):
            Blocks[tid // 8, tid % 8, i, j] = blocks[tid // 8, tid % 8, i, j]
        if tid < 16:
            Diagonal[tid] = A.view(16, layout=TileLayout(S[16 : 17]))[tid]
        windows = A.view(254, 3, layout=TileLayout(S[(254, 3) : (1, 1)]))
        for k in range(3):
            Windows[tid, k] = windows[tid * 4 + 1, k]

    a = rng.integers(0, 1000, (16, 16)).astype(np.int32)
    starts = np.arange(64) * 4 + 1
    return Case(kernel, [a, np.zeros((8, 8, 2, 2), np.int32), np.zeros(16, np.int32), np.zeros((64, 3), np.int32)],
                {1: a.reshape(8, 2, 8, 2).transpose(0, 2, 1, 3).copy(), 2: np.diag(a).copy(),
                 3: a.reshape(-1)[starts[:, None] + np.arange(3)]})


@item
def views_of_other_types(rng: np.random.Generator) -> Case:
    """The same bytes as 8, 16, 64 and 128 bits."""
    @T.function
    def kernel(A: T.Tensor((32, 4), "float32", align=16), Bytes: T.Tensor((32, 16), "uint8", align=16),
               Halves: T.Tensor((32, 8), "int16", align=16), Doubles: T.Tensor((32, 2), "float64", align=16),
               Quads: T.Tensor((32,), "bits128", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        r = T.alloc_local((4,), "float32")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i])
        for k in range(16):
            Bytes[i, k] = A.view("uint8")[i, k]
        for k in range(8):
            Halves[i, k] = A.view("int16")[i, k]
        T.cuda.tile.apply(T.ptx["st.global.v2.b64"], Doubles.sub[i], r.view("float64"))
        T.cuda.tile.apply(T.ptx["st.global.b128"], Quads.sub[i : i + 1], r.view("bits128"))

    a = f32(rng, 32, 4)
    return Case(kernel, [a, np.zeros((32, 16), np.uint8), np.zeros((32, 8), np.int16), np.zeros((32, 2)),
                         np.zeros((32, 4), np.float32).view("V16").reshape(32)],
                {1: a.view(np.uint8), 2: a.view(np.int16), 3: a.view(np.float64), 4: a.view("V16").reshape(32)},
                ("sm_90", "sm_120"))


@item
def symbolic_shapes_and_scalars(rng: np.random.Generator) -> Case:
    """y = alpha * x + y over the first ``count`` of M rows of N columns, scalars of several types."""
    @T.function
    def kernel(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32"), alpha: T.float64, count: T.int32,
               skip: T.uint8, on: T.bool):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 7) // 8, block=(32, 8)))
        row = T.cuda.block_idx() * 8 + T.cuda.thread_idx("y")
        T.assume(count <= M)
        if row < count:
            for column in range(T.cuda.thread_idx("x"), N, 32):
                if on and column % 16 != T.int32(skip):
                    Y[row, column] = T.float32(alpha) * X[row, column] + Y[row, column]

    x, y = f32(rng, 37, 75), f32(rng, 37, 75)
    want = y.copy()
    chosen = np.arange(75) % 16 != 3
    want[:30, chosen] = np.float32(1.5) * x[:30][:, chosen] + y[:30][:, chosen]
    return Case(kernel, [x, y, 1.5, 30, 3, True], {1: want})


@item
def grid_stride_and_runtime_trips(rng: np.random.Generator) -> Case:
    """Rows of lengths that only the launch knows, summed by a grid-stride loop with an inner runtime loop."""
    @T.function
    def kernel(A: T.Tensor((M, N), "int32"), Lengths: T.Tensor((M,), "int32"), Out: T.Tensor((M,), "int64")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32))
        total = T.alloc_local((1,), "int64")
        for row in range(T.cuda.block_idx() * 32 + T.cuda.thread_idx(), M, T.cuda.grid_dim() * T.cuda.block_dim()):
            total[0] = 0
            for k in range(T.min(Lengths[row], N)):
                total[0] += A[row, k]
            for k in T.serial(N - 1, -1, -2):
                total[0] += A[row, k] * 1000
            Out[row] = total[0]

    a = rng.integers(-9, 10, (300, 21)).astype(np.int32)
    lengths = rng.integers(-3, 30, 300).astype(np.int32)
    want = np.array([a[i, : max(0, min(n, 21))].sum() + 1000 * a[i, 20::-2].sum() for i, n in enumerate(lengths)])
    return Case(kernel, [a, lengths, np.zeros(300, np.int64)], {2: want.astype(np.int64)})


@item
def nested_guards(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((M,), "int32"), B: T.Tensor((M,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 63) // 64, block=64))
        i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()
        if i < M:
            if A[i] >= 0:
                if A[i] < M:
                    B[i] = A[A[i]]
                elif i > 0:
                    B[i] = A[i - 1]
                else:
                    B[i] = -7
            else:
                B[i] = -A[i] if A[i] > -(2**31) + 1 and i % 2 == 0 else 5

    a = rng.integers(-50, 150, 100).astype(np.int32)
    want = np.array([(a[v] if v < 100 else a[i - 1] if i else -7) if v >= 0 else (-v if i % 2 == 0 else 5)
                     for i, v in enumerate(a)], np.int32)
    return Case(kernel, [a, np.zeros(100, np.int32)], {1: want})


@item
def static_shared_memory(rng: np.random.Generator) -> Case:
    """A block's sum by halves: a tree in shared memory."""
    @T.function
    def kernel(A: T.Tensor((M, 256), "float32"), Out: T.Tensor((M,), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=M, block=128))
        tid, row = T.cuda.thread_idx(), T.cuda.block_idx()
        partial = T.alloc_shared((128,), "float32")
        partial[tid] = A[row, tid] + A[row, tid + 128]
        T.cuda.cta_sync()
        for half in [64, 32, 16, 8, 4, 2, 1]:
            if tid < half:
                partial[tid] += partial[tid + half]
            T.cuda.cta_sync()
        if tid == 0:
            Out[row] = partial[0]

    a = rng.integers(-100, 100, (9, 256)).astype(np.float32)
    return Case(kernel, [a, np.zeros(9, np.float32)], {1: a.sum(axis=1)})


@item
def two_large_shared_tensors(rng: np.random.Generator) -> Case:
    """96 KiB of shared memory in two tensors, one of them with an alignment of its own."""
    @T.function
    def kernel(A: T.Tensor((12288, 2), "float32"), B: T.Tensor((12288, 2), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=256))
        tid = T.cuda.thread_idx()
        first = T.alloc_shared((48, 256), "float32", align=128)
        second = T.alloc_shared((48, 256), "float32")
        for k in range(48):
            first[k, tid] = A[k * 256 + tid, 0]
            second[k, tid] = A[k * 256 + tid, 1]
        T.cuda.cta_sync()
        for k in range(48):
            B[k * 256 + tid, 0] = second[47 - k, 255 - tid]
            B[k * 256 + tid, 1] = first[47 - k, 255 - tid]

    a = f32(rng, 12288, 2)
    return Case(kernel, [a, np.zeros_like(a)], {1: a[::-1, ::-1].copy()})


@item
def policies_of_the_cache(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((128, 4), "float32"), B: T.Tensor((128, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=64))
        i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()
        keep, drop = T.alloc_local((1,), "uint64"), T.alloc_local((1,), "uint64")
        T.cuda.tile.apply(T.ptx["createpolicy.fractional.L2::evict_last.b64"], keep, 0.5)
        T.cuda.tile.apply(T.ptx["createpolicy.fractional.L2::evict_first.b64"], drop, T.float32(1.0))
        r = T.alloc_local((4,), "float32")
        T.cuda.tile.apply(T.ptx["ld.global.nc.L2::cache_hint.v4.b32"], r, A.sub[i], cache_policy=keep[0])
        T.cuda.tile.apply(T.ptx["st.global.L2::cache_hint.v4.b32"], B.sub[i], r, cache_policy=drop[0], pred=i % 3 != 0)

    a, b = f32(rng, 128, 4), f32(rng, 128, 4)
    want = np.where(np.arange(128)[:, None] % 3 != 0, a, b)
    return Case(kernel, [a, b], {1: want})


@item
def selects_and_extremes(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "float32"), C: T.Tensor((64,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        i = T.cuda.thread_idx()
        x = A[i]
        C[i] = T.Select(x > 10, x - 10, T.Select(x < -10, x + 10, 0)) + T.max(x, 3, i) + T.abs(T.min(x, 0))
        B[i] = T.if_then_else(B[i] < 0.0, -B[i], T.max(B[i], 0.25))

    a, b = rng.integers(-40, 40, 64).astype(np.int32), f32(rng, 64)
    i = np.arange(64)
    c = np.where(a > 10, a - 10, np.where(a < -10, a + 10, 0))
    c += np.maximum(np.maximum(a, 3), i) + np.abs(np.minimum(a, 0))
    return Case(kernel, [a, b, np.zeros(64, np.int32)],
                {1: np.where(b < 0, -b, np.maximum(b, np.float32(0.25))), 2: c.astype(np.int32)})


@item
def predicated_loads_that_preserve(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((M, 4), "float32"), B: T.Tensor((128, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=64))
        i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()
        r = T.alloc_local((4,), "float32")
        for k in range(4):
            r[k] = -1.0
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i, :], pred=i < M, preserve_dst=True)
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i, :], r)

    a = f32(rng, 100, 4)
    want = np.full((128, 4), -1, np.float32)
    want[:100] = a
    return Case(kernel, [a, np.zeros((128, 4), np.float32)], {1: want})


@item
def launched_cooperatively(rng: np.random.Generator) -> Case:
    """All blocks at once; sizes may be NumPy's integers."""
    two, extra = np.int64(2), np.int32(1024)

    @T.function
    def kernel(A: T.Tensor((256,), "int32"), B: T.Tensor((256,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(two, 2), block=(32, two), cooperative=True,
                                                  dynamic_smem_bytes=extra))
        i = (T.cuda.block_idx("y") * T.cuda.grid_dim("x") + T.cuda.block_idx("x")) * 64 \
            + T.cuda.thread_idx("y") * T.cuda.block_dim("x") + T.cuda.thread_idx("x")
        B[i] = A[255 - i]

    a = rng.integers(-9, 9, 256).astype(np.int32)
    return Case(kernel, [a, np.zeros(256, np.int32)], {1: a[::-1].copy()})


@item
def helpers_and_closures(rng: np.random.Generator) -> Case:
    """Plain Python around the kernel: constants, a helper that is read inline, a table, a comprehension."""
    width, weights = 4, (1, 2, 3, 4)

    def move(opcode: str, *operands: object) -> None:
        T.cuda.tile.apply(T.ptx[f"{opcode}.v{width}.b32"], *operands)

    def clamp(x, low=0, *, high):
        return T.min(T.max(x, low), high)

    @T.function
    def kernel(A: T.Tensor((32, width), "int32"), B: T.Tensor((32, width), "int32"), C: T.Tensor((32,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        r = T.alloc_local((width,), "int32")
        move("ld.global", r, A.sub[i])
        C[i] = sum(r[k] * w for k, w in enumerate(weights))
        for k in range(width):
            r[k] = clamp(r[k], high=50)
        move("st.global", B.sub[i], r)

    a = rng.integers(-100, 100, (32, 4)).astype(np.int32)
    return Case(kernel, [a, np.zeros_like(a), np.zeros(32, np.int32)],
                {1: np.clip(a, 0, 50), 2: (a @ np.array(weights)).astype(np.int32)})
