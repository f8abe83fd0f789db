"""Machine code of tile copies: 16-byte accesses for every aligned interior, whatever the type, storage or rank."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from ptxspec.backend.assemble import assemble, default_toolchain, disassemble

import ptxspec
from ptxspec import T


def widths(kernel) -> Counter[str]:
    """Global accesses of the machine code: ``LDG.128`` and so on (no width: 32 bits)."""
    cubin = assemble(ptxspec.compile(kernel, target="sm_90").ptx, "sm_90")
    try:
        text = disassemble(cubin)
    except ptxspec.PtxspecError as error:
        pytest.skip(f"no disassembler here: {error.code}")
    found: Counter[str] = Counter()
    for name in re.findall(r"\b(?:LDG|STG|RED)[\w.]*", text):
        bits = re.search(r"\.(128|64|U8|U16|S8|S16)\b", name)
        found[f"{name.split('.')[0]}.{bits.group(1) if bits else 32}"] += 1
    return found


def copy(dtype: str, tile: tuple[int, ...], storage: str, *, checked: bool, inner: int = 0):
    """A copy of 4 tiles along each of the first two axes."""
    shape = tuple(4 * n if k < 2 else n for k, n in enumerate(tile)) + ((inner,) if inner else ())
    extents = tile + ((inner,) if inner else ())

    @T.function
    def kernel(A: T.Tensor(shape, dtype, align=16), B: T.Tensor(shape, dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(4, 4) if len(tile) > 1 else 4, block=128))
        at = [T.cuda.block_idx("y") * tile[0], T.cuda.block_idx("x") * tile[1]] if len(tile) > 1 \
            else [T.cuda.block_idx("x") * tile[0]]
        offset = (*at, *[0 for _ in range(len(extents) - len(at))])
        t = T.tile_load(A, shape=extents, offset=offset, storage=storage, bounds_check=checked)
        T.tile_store(B, t, offset=offset, bounds_check=checked)

    return kernel


@pytest.mark.skipif(default_toolchain() is None, reason="no assembler")
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("storage", ["register", "shared"])
@pytest.mark.parametrize(("dtype", "tile", "inner"), [
    ("float32", (64, 64), 0), ("float16", (64, 64), 0), ("uint8", (64, 64), 0), ("float64", (32, 64), 0),
    ("float32", (32, 64), 3), ("float32", (4096,), 0), ("float32", (4, 16, 64), 0), ("bfloat16", (2, 4, 8, 64), 0)])
def test_aligned_interiors_move_16_bytes_an_access(dtype, tile, inner, storage, checked) -> None:
    found = widths(copy(dtype, tile, storage, checked=checked, inner=inner))
    assert set(found) == {"LDG.128", "STG.128"}
    assert found["LDG.128"] == found["STG.128"] == int(np.prod(tile)) * (inner or 1) * T_BYTES[dtype] // 16 // 128


T_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "uint8": 1, "float64": 8}


@pytest.mark.skipif(default_toolchain() is None, reason="no assembler")
def test_partial_tiles_keep_the_widest_access_that_is_aligned() -> None:
    """Rows of 16-byte pitch: the branch for whole tiles, and the one for tiles across an edge."""
    @T.function
    def kernel(A: T.Tensor((100, 72), "float32", align=16), B: T.Tensor((100, 72), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=128))
        i, j = T.cuda.block_idx("y") * 64, T.cuda.block_idx("x") * 64
        T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=(i, j)), offset=(i, j))

    assert set(widths(kernel)) == {"LDG.128", "STG.128"}      # 72 is a multiple of 4: no group is split

    @T.function
    def split(A: T.Tensor((100, 72), "float32", align=16), B: T.Tensor((100, 72), "float32", align=16), q: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=128))
        T.assume(q % 2 == 0)
        T.tile_store(B, T.tile_load(A, shape=(8, 70)), offset=(q, 0))

    assert set(widths(split)) == {"LDG.64", "STG.64"}
