"""Grids whose addresses pass what 32 bits hold: the right rows are moved, and nothing at the low end is touched."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec import T

pytestmark = pytest.mark.gpu

GIB = 1 << 30


def rows_copy(rows: int, first: int, threads: int):
    """Copy rows ``[first, rows)`` of 16 bytes."""
    blocks = (rows - first) // threads

    @T.function
    def far_copy(
        A: T.Tensor((rows, 4), "float32", align=16),
        B: T.Tensor((rows, 4), "float32", align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        row = T.cuda.block_idx("x") * threads + T.cuda.thread_idx("x") + first
        registers = T.alloc_local((4,), "float32", layout="default")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[row, :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[row, :], registers)

    return far_copy


def bytes_copy(count: int, threads: int):
    """Copy single bytes; the element index itself passes 2**31, so it is made of 64-bit integers."""
    blocks = count // threads

    @T.function
    def far_bytes(A: T.Tensor((count, 1), "uint8"), B: T.Tensor((count, 1), "uint8")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        i = T.int64(T.cuda.block_idx("x")) * threads + T.cuda.thread_idx("x")
        registers = T.alloc_local((1,), "uint8", layout="default")
        T.cuda.tile.apply(T.ptx["ld.global.b8"], registers, A.sub[i, :])
        T.cuda.tile.apply(T.ptx["st.global.b8"], B.sub[i, :], registers)

    return far_bytes


def test_rows_beyond_two_gib():
    torch = pytest.importorskip("torch")
    rows = 5 * GIB // 16
    a = torch.randint(-(2**31), 2**31 - 1, (rows, 4), dtype=torch.int32, device="cuda")
    b = torch.full((rows, 4), 77, dtype=torch.int32, device="cuda")
    first = rows // 2
    ptxspec.compile(rows_copy(rows, first, 256), target="cuda")(a.view(torch.float32), b.view(torch.float32))
    torch.cuda.synchronize()
    assert torch.equal(a[first:], b[first:])
    assert bool((b[:first] == 77).all())


def test_bytes_beyond_two_to_the_31():
    torch = pytest.importorskip("torch")
    count = 9 * GIB // 4
    a = torch.randint(0, 256, (count, 1), dtype=torch.uint8, device="cuda")
    b = torch.empty_like(a).fill_(1)
    ptxspec.compile(bytes_copy(count, 512), target="cuda")(a, b)
    torch.cuda.synchronize()
    assert torch.equal(a, b)


def test_an_index_that_wraps_is_refused():
    """The same with 32-bit integers is wrong from byte 2**31 on, and is never launched."""
    count = 9 * GIB // 4
    blocks = count // 512

    @T.function
    def wraps(A: T.Tensor((count, 1), "uint8"), B: T.Tensor((count, 1), "uint8")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=512))
        i = T.cuda.block_idx("x") * 512 + T.cuda.thread_idx("x")
        registers = T.alloc_local((1,), "uint8", layout="default")
        T.cuda.tile.apply(T.ptx["ld.global.b8"], registers, A.sub[i, :])
        T.cuda.tile.apply(T.ptx["st.global.b8"], B.sub[i, :], registers)

    with pytest.raises(ptxspec.ProofError):
        ptxspec.compile(wraps, target="cuda")
