"""Layouts with copies in memory: every copy is written, by scalar stores, instructions and through views."""

from __future__ import annotations

import numpy as np
import pytest

import ptxspec
from ptxspec import T
from ptxspec.layout import ComposeLayout, Layout, R, S, TileLayout, laneid

LAYOUTS = {
    "behind each other": TileLayout(S[16, 4] + R[2:64]),
    "interleaved": TileLayout(S[(16, 4) : (8, 2)] + R[2:1]),
    "three, with an offset": TileLayout(S[(16, 4) : (4, 1)] + R[3:64] + 5),
    "two and two": TileLayout(S[16, 4] + R[(2, 2) : (64, 128)]),
    "backwards": TileLayout(S[(16, 4) : (-4, -1)] + R[2:-64]),
    "swizzled": ComposeLayout(2, 2, 2, TileLayout(S[16, 4] + R[2:64])),
}


def places(layout: Layout) -> list[list[int]]:
    """For each copy, where the elements of a 16 x 4 tensor lie, from the first byte of its storage on."""
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    assert isinstance(tile, TileLayout)
    low = layout.memory_range()[0].const
    shifts = [0]
    for r in tile.replica:
        shifts = [s + k * r.stride.const for s in shifts for k in range(r.extent.const)]
    plain = TileLayout.from_iters(tile.shard, (), dict(tile.offset))
    found = []
    for shift in shifts:
        at = [plain.apply(i, j)["m"].const + shift for i in range(16) for j in range(4)]
        if isinstance(layout, ComposeLayout):
            from ptxspec.scalar import index as ix
            at = [layout.swizzle(ix.constant(p)).const for p in at]
        found.append([p - low for p in at])
    return found


@pytest.mark.parametrize("how", ["scalar", "instruction", "transposed", "laid out anew"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_all_copies_in_shared_memory(name: str, how: str) -> None:
    layout = LAYOUTS[name]
    span = layout.span().const

    @T.function
    def kernel(A: T.Tensor((16, 4), "int32"), Out: T.Tensor((span,), "int32"), Back: T.Tensor((16, 4), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=16))
        i = T.cuda.thread_idx()
        if how == "laid out anew":
            whole = T.alloc_shared((span,), "int32")
            s = whole.view(16, 4, layout=layout)
        else:
            s = T.alloc_shared((16, 4), "int32", layout=layout)
            whole = s.view(span, layout=TileLayout(S[span]) if "backwards" not in name
                           else TileLayout(S[span:1] + (1 - span)))
        for k in range((span + 15) // 16):
            if k * 16 + i < span:
                whole[k * 16 + i] = -1
        T.cuda.cta_sync()
        r = T.alloc_local((4,), "int32")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i])
        if how == "instruction":
            T.cuda.tile.apply(T.ptx["st.shared.b32"], s.sub[i].view(4, 1), r.view(4, 1))
        elif how == "transposed":
            turned = s.permute(1, 0)
            for j in range(4):
                turned.sub[j, :][i] = r[j]
        else:
            for j in range(4):
                s[i, j] = r[j]
        T.cuda.cta_sync()
        for k in range((span + 15) // 16):
            if k * 16 + i < span:
                Out[k * 16 + i] = whole[k * 16 + i]
        for j in range(4):
            Back[i, j] = s[i, j]

    if how == "laid out anew" and ("backwards" in name or "offset" in name):
        pytest.skip("such a layout does not begin at the first element")
    a = np.random.default_rng(1).integers(0, 1000, (16, 4)).astype(np.int32)
    out, back = np.zeros(span, np.int32), np.zeros((16, 4), np.int32)
    ptxspec.compile(kernel, target="sm_90")(a, out, back)
    expected = np.full(span, -1, np.int32)
    for at in places(layout):
        expected[at] = a.reshape(-1)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(back, a)


@pytest.mark.parametrize("bits", [16, 32, 64, 128])
def test_copies_of_registers(bits: int) -> None:
    """The load goes to the first copy, moves fill the other ones; also under a predicate that keeps the old values."""
    dtype = f"uint{bits}" if bits < 128 else "bits128"
    word = {16: "uint16", 32: "uint32", 64: "uint64", 128: "uint64"}[bits]
    many = 2 if bits == 128 else 1

    @T.function
    def kernel(A: T.Tensor((32, 2 * many), word), B: T.Tensor((32, 2, 2 * many), word)):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        twice = T.alloc_local((2, 1), dtype, layout=TileLayout(S[2, 1] + R[2:2]))
        both = twice.view(2, 2, 1, layout=TileLayout(S[2, 2, 1]))
        T.cuda.tile.apply(T.ptx[f"ld.global.b{bits}"], twice, A.view(dtype).sub[0].view(2, 1))
        T.cuda.tile.apply(T.ptx[f"ld.global.b{bits}"], twice, A.view(dtype).sub[i].view(2, 1), pred=i % 2 == 1,
                          preserve_dst=True)
        T.cuda.tile.apply(T.ptx[f"st.global.b{bits}"], B.view(dtype).sub[i].view(2, 2, 1), both)

    rng = np.random.default_rng(2)
    a = rng.integers(0, 1 << min(bits, 62), (32, 2 * many)).astype(word)
    b = np.zeros((32, 2, 2 * many), word)
    exe = ptxspec.compile(kernel, target="sm_90")
    exe(a, b)
    chosen = np.where(np.arange(32)[:, None] % 2 == 1, a, a[0])
    np.testing.assert_array_equal(b, np.stack([chosen, chosen], axis=1))
    assert exe.cubin


def test_copies_on_lanes_and_in_registers_at_once() -> None:
    """Four lanes hold each row, each of them twice; the load of a group keeps two copies in every lane."""
    @T.function
    def rows(A: T.Tensor((8, 4), "float32"), B: T.Tensor((32, 2, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        lane = T.cuda.lane_id()
        q = T.alloc_local((8, 4), "float32",
                          layout=TileLayout(S[(8, 4) : (1 @ laneid, 1)] + R[(4, 2) : (8 @ laneid, 4)]))
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q.sub[lane % 8], A.sub[lane % 8])
        both = q.view(32, 2, 4, layout=TileLayout(S[(32, 2, 4) : (1 @ laneid, 4, 1)]))
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[lane], both.sub[lane])

    @T.function
    def warp(A: T.Tensor((32, 2, 4), "float32"), B: T.Tensor((32, 4, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        q = T.alloc_local((32, 2, 4), "float32", layout=TileLayout(S[(32, 2, 4) : (1 @ laneid, 4, 1)] + R[2:8]))
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], q, A, scope="warp")
        both = q.view(32, 4, 4, layout=TileLayout(S[(32, 4, 4) : (1 @ laneid, 4, 1)]))
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B, both, scope="warp")

    rng = np.random.default_rng(4)
    a, b = rng.random((8, 4), dtype=np.float32), np.zeros((32, 2, 4), np.float32)
    ptxspec.compile(rows, target="sm_90")(a, b)
    np.testing.assert_array_equal(b, np.stack([a[np.arange(32) % 8]] * 2, axis=1))
    c, d = rng.random((32, 2, 4), dtype=np.float32), np.zeros((32, 4, 4), np.float32)
    ptxspec.compile(warp, target="sm_90")(c, d)
    np.testing.assert_array_equal(d, np.concatenate([c, c], axis=1))


def test_an_operand_that_is_read_and_written() -> None:
    @T.function
    def kernel(A: T.Tensor((32,), "float32"), B: T.Tensor((32, 2), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        q = T.alloc_local((1, 1), "float32", layout=TileLayout(S[(1, 1) : (1, 1)] + R[2:1]))
        q[0, 0] = A[i]
        T.cuda.tile.apply(T.ptx["fma.rn.f32"], q, q, 2.0, 1.0)
        both = q.view(2, layout=TileLayout(S[2:1]))
        for k in range(2):
            B[i, k] = both[k]

    a, b = np.random.default_rng(4).random(32, dtype=np.float32), np.zeros((32, 2), np.float32)
    ptxspec.compile(kernel, target="sm_90")(a, b)
    once = (a.astype(np.float64) * 2 + 1).astype(np.float32)
    np.testing.assert_array_equal(b, np.stack([once, once], axis=1))


def test_a_copy_in_an_argument_and_a_reduction_into_all_copies() -> None:
    @T.function
    def kernel(A: T.Tensor((32,), "int32"), B: T.Tensor((2, 32), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=32))
        i = T.cuda.thread_idx()
        b = B.view(32, 1, layout=TileLayout(S[32, 1] + R[2:32]))
        mine = A[i]
        T.cuda.tile.apply(T.ptx["red.global.add.s32"], b.sub[i], mine)

    a = np.arange(32, dtype=np.int32)
    b = np.zeros((2, 32), np.int32)
    ptxspec.compile(kernel, target="sm_90")(a, b)
    np.testing.assert_array_equal(b, np.stack([4 * a, 4 * a]))


def test_every_copy_is_judged() -> None:
    """A store of another thread onto the second copy is a race, and a second copy behind the storage is refused."""
    @T.function
    def own(Out: T.Tensor((64,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        Out.view(32, layout=TileLayout(S[32:1] + R[2:32]))[i] = i
        Out[i + 32] = 7

    @T.function
    def of_another(Out: T.Tensor((64,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        Out.view(32, layout=TileLayout(S[32:1] + R[2:32]))[i] = i
        Out[(i + 1) % 32 + 32] = 7

    @T.function
    def past_the_end(Out: T.Tensor((63,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=32))
        i = T.cuda.thread_idx()
        Out.view(32, layout=TileLayout(S[32:1] + R[2:32]))[i] = i

    assert ptxspec.prove(own).verdict == "proved"
    for kernel, code in ((of_another, "P107"), (past_the_end, "P103")):
        report = ptxspec.prove(kernel)
        assert report.verdict == "refuted"
        assert {d.code for d in report.diagnostics} == {code}
