"""What the code of typical kernels looks like: few instructions, wide offsets, no spills, the same each time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ptxspec.backend.emit import emit
from ptxspec.backend.executable import Executable

from ptxspec import T
from ptxspec.layout import ComposeLayout, S, TileLayout

M, N = T.dim("M"), T.dim("N")
swizzled = ComposeLayout(0, 5, 5, TileLayout(S[(32, 32) : (32, 1)]))


@T.function
def transpose(A: T.Tensor((M, N), "float32"), B: T.Tensor((N, M), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + 31) // 32, (M + 31) // 32), block=(32, 8)))
    tile = T.alloc_shared((32, 32), "float32", layout=swizzled)
    x, y = T.cuda.thread_idx("x"), T.cuda.thread_idx("y")
    bx, by = T.cuda.block_idx("x") * 32, T.cuda.block_idx("y") * 32
    for k in range(4):
        if by + y + 8 * k < M and bx + x < N:
            tile[y + 8 * k, x] = A[by + y + 8 * k, bx + x]
    T.cuda.cta_sync()
    for k in range(4):
        if bx + y + 8 * k < N and by + x < M:
            B[bx + y + 8 * k, by + x] = tile[x, y + 8 * k]


@T.function
def copy(A: T.Tensor((N, 4), "float32", align=16), B: T.Tensor((N, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(N + 255) // 256, block=256))
    i = T.cuda.block_idx("x") * 256 + T.cuda.thread_idx("x")
    r = T.alloc_local((4,), "float32")
    if i < N:
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i], r)


@T.function
def grid_stride(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), blocks: T.int32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=256))
    for i in range(T.cuda.block_idx("x") * 256 + T.cuda.thread_idx("x"), N, blocks * 256):
        B[i] = A[i] * 2.0


def body(text: str) -> list[str]:
    """The instructions of a module, labels and declarations left out."""
    inside = text[text.index("{"):]
    return [line.strip() for line in inside.splitlines() if re.match(r"\s+(@!?%p\d+ )?[a-z]", line)]


@pytest.mark.parametrize("shape", [(32, 32), (70, 45), (1, 100)])
def test_transpose_through_swizzled_shared_memory(shape: tuple[int, int]) -> None:
    exe = Executable(emit(transpose.kernel()), None)
    a = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    b = np.zeros(shape[::-1], np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a.T)


def test_transpose_shares_its_address_arithmetic() -> None:
    module = emit(transpose.kernel())
    code = body(module.ptx)
    # One product of row and row length for each matrix: the other rows add a multiple of the row length to it.
    assert sum(bool(re.match(r"mul\.(wide\.s32 %rd\d+, %r\d+, %r\d+|lo\.s64)", line)) for line in code) == 2
    assert not [line for line in code if line.startswith("cvt.")]
    assert len(code) <= 118
    used = Executable(module, None).assembled.resources[0]
    assert used.registers <= 32
    assert used.spill_stores == used.spill_loads == 0


def test_copy_is_one_product_two_sums_and_two_vectors() -> None:
    code = body(emit(copy.kernel()).ptx)
    names = [line.split()[0] if not line.startswith("@") else line.split()[1] for line in code]
    moved = [n for n in names if n.startswith(("ld.global", "st.global", "mul.wide", "add.s64"))]
    assert sorted(moved) == ["add.s64", "add.s64", "ld.global.v4.b32", "mul.wide.s32", "st.global.v4.b32"]
    assert len(code) <= 18


def test_grid_stride_loop_computes_only_what_changes() -> None:
    exe = Executable(emit(grid_stride.kernel()), None)
    inside = exe.ptx[exe.ptx.index("L1_loop:"):exe.ptx.index("L1_done:")]
    assert len(body("{\n" + inside)) <= 11
    a = np.arange(1000, dtype=np.float32)
    b = np.zeros_like(a)
    exe(a, b, 2)
    np.testing.assert_array_equal(b, a * 2)


def test_same_text_in_every_process(root: Path) -> None:
    """Nothing in the text depends on hash seeds or object addresses."""
    script = "import test_quality as q; from ptxspec.backend.emit import emit; " \
             "print(emit(q.transpose.kernel()).ptx, emit(q.grid_stride.kernel()).ptx)"
    texts = set()
    for seed in ("1", "2"):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                              cwd=root / "tests" / "emit", env=os.environ | {"PYTHONHASHSEED": seed})
        texts.add(done.stdout)
    assert len(texts) == 1
