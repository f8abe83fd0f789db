"""More kernels for items of the language: scopes, regions, strides, views at runtime offsets, types, large memory."""

from __future__ import annotations

import numpy as np
from lang_cases import Case, f32, item

from ptxspec import T
from ptxspec.layout import S, TileLayout, laneid, wgid, wid_in_wg

M, N = T.dim("M"), T.dim("N")


@item
def warpgroups_exchange(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((2, 4, 32, 2, 4), "float32"), B: T.Tensor((2, 4, 32, 2, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=256))
        g = T.cuda.warpgroup_id()
        r = T.alloc_local((4, 32, 2, 4), "float32",
                          layout=TileLayout(S[(4, 32, 2, 4) : (1 @ wid_in_wg, 1 @ laneid, 4, 1)]))
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[g], scope="warpgroup")
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[1 - g], r, scope="warpgroup")

    a = f32(rng, 2, 4, 32, 2, 4)
    return Case(kernel, [a, np.zeros_like(a)], {1: a[::-1]})


@item
def registers_on_warpgroups(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((2, 4, 32, 4), "float32"), B: T.Tensor((2, 4, 32, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=256))
        r = T.alloc_local((2, 4, 32, 4), "float32",
                          layout=TileLayout(S[(2, 4, 32, 4) : (1 @ wgid, 1 @ wid_in_wg, 1 @ laneid, 1)]))
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r.view(8, 32, 4), A.view(8, 32, 4), scope="cta")
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.view(8, 32, 4), r.view(8, 32, 4), scope="cta")

    a = f32(rng, 2, 4, 32, 4)
    return Case(kernel, [a, np.zeros_like(a)], {1: a})


@item
def regions_and_queries(rng: np.random.Generator) -> Case:
    """Regions as operands; what a tensor says of itself is known while the kernel is read."""
    @T.function
    def kernel(A: T.Tensor((8, 4), "float32"), B: T.Tensor((8, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=2))
        t = T.cuda.thread_idx()
        s = T.alloc_tensor(ty_args=[T.Tensor((8, 4), "float32", scope="shared", align=16)])
        r = T.alloc_tensor(ty_args=[T.Tensor((4, 4), "float32", scope="local")])
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r[0:4], A[t * 4 : t * 4 + 4])
        T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], s.sub[t * 4 : t * 4 + 4, :], r)
        T.cuda.cta_sync()
        T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], r[1:3, 0:4], s.sub[(1 - t) * 4 : (1 - t) * 4 + 4 : 2, :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B[t * 4 : t * 4 + 4, 0:4], r)
        assert (r.shape, r.dtype, s.scope(), s.data_alignment) == ((4, 4), "float32", "shared", 16)
        assert A.layout.is_contiguous()
        assert A.ptr_to((2, 1)).byte_offset == 36
        assert A.ptr_to([t, 1]).scope() == "global"

    a = f32(rng, 8, 4)
    b = a.copy()
    for t in range(2):
        b[t * 4 + 1], b[t * 4 + 2] = a[(1 - t) * 4], a[(1 - t) * 4 + 2]
    return Case(kernel, [a, np.zeros_like(a)], {1: b})


@item
def broadcast_and_reversed_arguments(rng: np.random.Generator) -> Case:
    """A stride of zero, and one that is negative: arrays of NumPy that do not own their order."""
    @T.function
    def kernel(A: T.Tensor((4, 8), "float32", layout=TileLayout(S[(4, 8) : (0, 1)])),
               B: T.Tensor((4, 8), "float32", layout=TileLayout(S[(4, 8) : (-8, 1)]))):
        T.device_entry(launch=T.cuda.LaunchConfig(block=8))
        t = T.cuda.thread_idx()
        for i in range(4):
            B[i, t] = A[i, t]

    whole = np.broadcast_to(f32(rng, 8), (4, 8))
    return Case(kernel, [whole, np.zeros((4, 8), np.float32)[::-1]], {1: np.array(whole)})


@item
def wide_elements_at_runtime_offsets(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((65, 2), "float32"), B: T.Tensor((64,), "float64")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        t = T.cuda.thread_idx()
        B[t] = A.sub[t + 1, :].view("float64")[0]

    a = f32(rng, 65, 2)
    return Case(kernel, [a, np.zeros(64)], {1: a[1:].view(np.float64).reshape(-1)})


@item
def facts_from_guards_predicates_and_assumptions(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16), n: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        T.assume(n % 4 == 0)
        T.assume(n >= 0 and n <= 252)
        t = T.cuda.thread_idx()
        r = T.alloc_local((4,))
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[t ^ 1])
        if t < 32:
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[t], r)
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.view(256).sub[n : n + 4])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[t], r, pred=t >= 32)

    a = f32(rng, 64, 4)
    b = a[np.arange(64) ^ 1].copy()
    b[32:] = a[5]
    return Case(kernel, [a, np.zeros_like(a), 20], {1: b})


@item
def clusters_in_three_directions(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((3, 2, 2), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2, 3), block=32, cluster=(1, 2, 3)))
        z, y, x = (T.cuda.block_idx(axis) for axis in "zyx")
        if T.cuda.thread_idx() == 0:
            A[z, y, x] = T.cuda.cluster_cta_id("z") * 10 + T.cuda.cluster_cta_id("y")

    z, y, _ = np.meshgrid(np.arange(3), np.arange(2), np.arange(2), indexing="ij")
    return Case(kernel, [np.zeros((3, 2, 2), np.int32)], {0: (10 * z + y).astype(np.int32)}, ("sm_90", "sm_100"))


@item
def every_state_space(rng: np.random.Generator) -> Case:
    """Generic, cluster-wide and local addresses, the last one chosen at run time."""
    @T.function
    def kernel(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32"), which: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32, cluster=2))
        t, first = T.cuda.thread_idx(), T.cuda.block_idx() * 32
        s = T.alloc_shared((32, 4), "float32", align=16)
        spilled = T.alloc_local((2, 4), "float32", align=16)
        r = T.alloc_local((4,))
        T.cuda.tile.apply(T.ptx["ld.v4.b32"], r, A.sub[first + t])
        for k in range(2):
            T.cuda.tile.apply(T.ptx["st.local.v4.b32"], spilled.sub[k], r)
        T.cuda.tile.apply(T.ptx["ld.local.v4.b32"], r, spilled.sub[1])
        T.cuda.tile.apply(T.ptx["st.shared::cluster.v4.b32"], s.sub[t], r)
        T.cuda.cta_sync()
        T.cuda.tile.apply(T.ptx["ld.shared::cta.v4.b32"], r, s.sub[31 - t])
        T.cuda.tile.apply(T.ptx["st.v4.b32"], B.sub[first + t], r)

    a = f32(rng, 64, 4)
    return Case(kernel, [a, np.zeros_like(a), 1], {1: np.concatenate([a[:32][::-1], a[32:][::-1]])},
                ("sm_90", "sm_100"))


@item
def sums_of_bfloat16(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((M, 8), "bfloat16"), B: T.Tensor((M,), "float32"), C: T.Tensor((M, 8), "float16")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 63) // 64, block=64))
        i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()
        if i < M:
            total, r = T.alloc_local((1,), "float32"), T.alloc_local((8,), "bfloat16")
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r.view("float32"), A.view("float32").sub[i])
            total[0] = 0.0
            for k in range(8):
                total[0] += r[k]
                C[i, k] = T.float16(T.float32(r[k]) * 0.5)
            B[i] = total[0]

    bits = (f32(rng, 100, 8).view(np.uint32) >> 16).astype(np.uint16)
    wide = (bits.astype(np.uint32) << 16).view(np.float32)
    total = np.zeros(100, np.float32)
    for k in range(8):
        total = total + wide[:, k]
    return Case(kernel, [bits, np.zeros(100, np.float32), np.zeros((100, 8), np.float16)],
                {1: total, 2: (wide * np.float32(0.5)).astype(np.float16)})


@item
def nearly_all_shared_memory(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(A: T.Tensor((56832,), "float32"), B: T.Tensor((56832,), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=512))
        t = T.cuda.thread_idx()
        s = T.alloc_shared((56832,), "float32")
        for k in range(111):
            s[k * 512 + t] = A[k * 512 + t]
        T.cuda.cta_sync()
        for k in range(111):
            B[k * 512 + t] = s[56831 - k * 512 - t]

    a = f32(rng, 56832)
    return Case(kernel, [a, np.zeros_like(a)], {1: a[::-1].copy()}, ("sm_90", "sm_100"))


@item
def steps_until_one(rng: np.random.Generator) -> Case:
    """State that changes from iteration to iteration, kept in registers."""
    @T.function
    def kernel(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        t = T.cuda.thread_idx()
        state = T.alloc_local((2,), "int32")
        state[0], state[1] = A[t], 0
        for _ in range(100):
            if state[0] > 1:
                state[0] = T.Select(state[0] % 2 == 0, state[0] // 2, state[0] * 3 + 1)
                state[1] += 1
        B[t] = state[1]

    def steps(n: int) -> int:
        count = 0
        while n > 1 and count < 100:
            n, count = (n // 2 if n % 2 == 0 else n * 3 + 1), count + 1
        return count

    a = rng.integers(1, 60, 64).astype(np.int32)
    return Case(kernel, [a, np.zeros(64, np.int32)], {1: np.array([steps(int(n)) for n in a], np.int32)})


@item
def a_pitch_of_the_launch(rng: np.random.Generator) -> Case:
    """A layout whose stride is made of a dimension: rows of a wider array."""
    @T.function
    def kernel(A: T.Tensor((M, N), "float32", layout=TileLayout(S[(M, N) : (N + 3, 1)])),
               B: T.Tensor((N, M), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(N, M), block=1))
        x, y = T.cuda.block_idx("x"), T.cuda.block_idx("y")
        B[x, y] = A[y, x]

    wide = f32(rng, 5, 10)
    return Case(kernel, [wide[:, :7], np.zeros((7, 5), np.float32)], {1: wide[:, :7].T.copy()})


@item
def scalars_of_every_type(rng: np.random.Generator) -> Case:
    @T.function
    def kernel(Out: T.Tensor((10,), "float64"), a: T.int8, b: T.uint16, c: T.int64, d: T.uint64, e: T.float16,
               f: T.bfloat16, g: T.float32, h: T.float64, i: T.bool, j: T.uint8):
        T.device_entry(launch=T.cuda.LaunchConfig(block=1))
        for k, value in enumerate([a, b, c, d, e, f, g, h, i, j]):
            Out[k] = T.float64(value)

    values = [-5, 65535, -(2**40), 2**63, 1.5, 2.5, 0.1, 0.1, True, 255]
    return Case(kernel, [np.zeros(10), *values], {0: np.array([*values[:6], np.float32(0.1), *values[7:]], np.float64)})
