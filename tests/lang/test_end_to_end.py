"""The language in full, through proofs and emission to results: each kernel against NumPy in the simulator."""

from __future__ import annotations

import numpy as np

import ptxspec
from ptxspec import T
from ptxspec.layout import ComposeLayout, S, TileLayout, laneid, tx

M = T.dim("M")
rng = np.random.default_rng(7)


def run(kernel: T.KernelFunction, *args: object) -> None:
    ptxspec.compile(kernel, target="sim")(*args)


def floats(*shape: int) -> np.ndarray:
    return rng.random(shape, dtype=np.float32)


def test_cache_policy_made_by_an_instruction() -> None:
    @T.function
    def kernel(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        tid = T.cuda.thread_idx()
        policy = T.alloc_local((1,), "uint64")
        T.cuda.tile.apply(T.ptx["createpolicy.fractional.L2::evict_last.b64"], policy, 1.0)
        r = T.alloc_local((4,))
        T.cuda.tile.apply(T.ptx["ld.global.L2::cache_hint.v4.b32"], r, A.sub[tid], cache_policy=policy[0])
        T.cuda.tile.apply(T.ptx["st.global.L2::cache_hint.v4.b32"], B.sub[tid], r, cache_policy=policy[0])

    a, b = floats(64, 4), np.zeros((64, 4), np.float32)
    run(kernel, a, b)
    np.testing.assert_array_equal(a, b)


def test_sixteen_byte_elements_and_dtype_views() -> None:
    @T.function
    def kernel(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32"), C: T.Tensor((64, 2), "float64")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        tid = T.cuda.thread_idx()
        r = T.alloc_local((1,), "bits128")
        T.cuda.tile.apply(T.ptx["ld.global.b128"], r, A.view("bits128").sub[tid])
        T.cuda.tile.apply(T.ptx["st.global.b128"], B.view("bits128").sub[tid], r)
        words = T.alloc_local((4,))
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], words, A.sub[tid])
        T.cuda.tile.apply(T.ptx["st.global.v2.b64"], C.sub[tid], words.view("float64"))

    a, b, c = floats(64, 4), np.zeros((64, 4), np.float32), np.zeros((64, 2))
    run(kernel, a, b, c)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c.view(np.float32))


def test_transpose_through_swizzled_shared_memory() -> None:
    swizzled = ComposeLayout(3, 3, 3, TileLayout(S[64, 64]))

    @T.function
    def kernel(A: T.Tensor((64, 64), "float16"), B: T.Tensor((64, 64), "float16")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        tid = T.cuda.thread_idx()
        s = T.alloc_shared((64, 64), "float16", layout=swizzled)
        r = T.alloc_local((8, 4), "float32")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.view("float32").sub[tid].view(8, 4))
        T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], s.view("float32").sub[tid].view(8, 4), r)
        T.cuda.cta_sync()
        for j in range(64):
            B[tid, j] = s[j, tid]

    a = np.arange(4096).astype(np.float16).reshape(64, 64)
    b = np.zeros_like(a)
    run(kernel, a, b)
    np.testing.assert_array_equal(a.T, b)


def test_symbolic_rows_under_a_guard_and_after_an_early_return() -> None:
    @T.function
    def guarded(A: T.Tensor((M, 4), "float32"), B: T.Tensor((M, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 63) // 64, block=64))
        i = T.cuda.block_idx() * 64 + T.cuda.thread_idx()
        r = T.alloc_local((4,))
        if i < M:
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i])
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i], r)

    @T.function
    def early(A: T.Tensor((M,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 31) // 32, block=32))
        i = T.cuda.block_idx() * 32 + T.cuda.thread_idx()
        if i >= M:
            return
        A[i] = i * 2

    a, b, c = floats(100, 4), np.zeros((100, 4), np.float32), np.zeros(45, np.int32)
    run(guarded, a, b)
    run(early, c)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(c, np.arange(45) * 2)


def test_grid_stride_loop_with_a_conditional_read() -> None:
    @T.function
    def kernel(A: T.Tensor((M,), "float32"), B: T.Tensor((M,), "float32"), k: T.float32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block=32))
        for i in range(T.cuda.block_idx() * 32 + T.cuda.thread_idx(), M, 64):
            B[i] = A[i] * k if A[i] > 0.5 and i % 3 != 0 else -A[i]

    a, b = floats(1000), np.zeros(1000, np.float32)
    run(kernel, a, b, 2.0)
    np.testing.assert_array_equal(np.where((a > 0.5) & (np.arange(1000) % 3 != 0), a * np.float32(2), -a), b)


def test_element_types_and_conversions() -> None:
    @T.function
    def kernel(A: T.Tensor((32,), "int8"), B: T.Tensor((32,), "uint16"), C: T.Tensor((32,), "float16"),
               D: T.Tensor((32,), "float64")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        B[i] = T.uint16(T.int32(A[i]) + 200)
        C[i] = T.float16(T.float32(A[i]) * 0.5)
        D[i] = T.float64(A[i]) / 4

    a = np.arange(-16, 16, dtype=np.int8)
    b, c, d = np.zeros(32, np.uint16), np.zeros(32, np.float16), np.zeros(32)
    run(kernel, a, b, c, d)
    np.testing.assert_array_equal(b, a.astype(np.int32) + 200)
    np.testing.assert_array_equal(c, (a * np.float32(0.5)).astype(np.float16))
    np.testing.assert_array_equal(d, a / 4)


def test_packing_moves_and_arithmetic_instructions() -> None:
    @T.function
    def pack(A: T.Tensor((32, 2), "uint16"), B: T.Tensor((32, 1), "uint32"), C: T.Tensor((32, 2), "uint16")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        halves, word, back = T.alloc_local((2,), "uint16"), T.alloc_local((1,), "uint32"), T.alloc_local((2,), "uint16")
        T.cuda.tile.apply(T.ptx["ld.global.v2.b16"], halves, A.sub[i])
        T.cuda.tile.apply(T.ptx["mov.b32"], word, halves)
        T.cuda.tile.apply(T.ptx["st.global.b32"], B.sub[i], word)
        T.cuda.tile.apply(T.ptx["mov.b32"], back, word)
        T.cuda.tile.apply(T.ptx["st.global.v2.b16"], C.sub[i], back)

    @T.function
    def arithmetic(A: T.Tensor((32, 4), "float32"), B: T.Tensor((32, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        r, q = T.alloc_local((4, 1)), T.alloc_local((4, 1))
        T.cuda.tile.apply(T.ptx["ld.global.b32"], r, A.sub[i].view(4, 1))
        T.cuda.tile.apply(T.ptx["add.f32"], q, r, T.float32(1))
        T.cuda.tile.apply(T.ptx["mul.f32"], q, q, 2.0)
        T.cuda.tile.apply(T.ptx["st.global.b32"], B.sub[i].view(4, 1), q)

    a = rng.integers(0, 1 << 16, (32, 2)).astype(np.uint16)
    b, c = np.zeros((32, 1), np.uint32), np.zeros_like(a)
    run(pack, a, b, c)
    np.testing.assert_array_equal(b.view(np.uint16), a)
    np.testing.assert_array_equal(c, a)
    x, y = floats(32, 4), np.zeros((32, 4), np.float32)
    run(arithmetic, x, y)
    np.testing.assert_array_equal(y, (x + np.float32(1)) * np.float32(2))


def test_warp_and_cta_scopes() -> None:
    @T.function
    def warps(A: T.Tensor((2, 32, 2, 2), "float32"), B: T.Tensor((2, 32, 2, 2), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        r = T.alloc_local((32, 2, 2), layout=TileLayout(S[(32, 2, 2) : (1 @ laneid, 2, 1)]))
        w = T.cuda.warp_id()
        T.cuda.tile.apply(T.ptx["ld.global.v2.b32"], r, A.sub[w], scope="warp")
        T.cuda.tile.apply(T.ptx["st.global.v2.b32"], B.sub[w], r, scope="warp")

    @T.function
    def ctas(A: T.Tensor((128, 4), "float32"), B: T.Tensor((128, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=128))
        r = T.alloc_local((128, 4), layout=TileLayout(S[(128, 4) : (1 @ tx, 1)])).view(4, 32, 4)
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.view(4, 32, 4), scope="cta")
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.view(4, 32, 4), r, scope="warpgroup")

    a, b = floats(2, 32, 2, 2), np.zeros((2, 32, 2, 2), np.float32)
    run(warps, a, b)
    np.testing.assert_array_equal(a, b)
    c, d = floats(128, 4), np.zeros((128, 4), np.float32)
    run(ctas, c, d)
    np.testing.assert_array_equal(c, d)


def test_layouts_of_arguments_and_reversed_registers() -> None:
    @T.function
    def kernel(A: T.Tensor((8, 4), "int32", layout=TileLayout(S[(8, 4) : (1, 8)])), B: T.Tensor((8, 4), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=8))
        i = T.cuda.thread_idx()
        backwards = T.alloc_local((4,), "int32", layout=TileLayout(S[4 : -1]))
        for j in range(4):
            backwards[j] = A[i, j]
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i], backwards)

    a = np.asfortranarray(np.arange(32, dtype=np.int32).reshape(8, 4))
    b = np.zeros((8, 4), np.int32)
    run(kernel, a, b)
    np.testing.assert_array_equal(a, b)


def test_dynamic_shared_memory_beyond_48_kib() -> None:
    @T.function
    def kernel(A: T.Tensor((16384,), "float32"), B: T.Tensor((16384,), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=64))
        tid = T.cuda.thread_idx()
        s = T.alloc_shared((16384,), "float32", align=16)
        r = T.alloc_local((4,))
        for k in T.serial(64):
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.view(64, 64, 4).sub[k, tid])
            T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], s.view(64, 64, 4).sub[k, tid], r)
        T.cuda.cta_sync()
        for k in T.serial(64):
            T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], r, s.view(64, 64, 4).sub[k, 63 - tid])
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.view(64, 64, 4).sub[k, tid], r)

    a, b = floats(16384), np.zeros(16384, np.float32)
    run(kernel, a, b)
    np.testing.assert_array_equal(a.reshape(64, 64, 4)[:, ::-1], b.reshape(64, 64, 4))
