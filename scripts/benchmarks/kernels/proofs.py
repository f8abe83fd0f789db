# ruff: noqa: N803
"""Kernels whose size is a parameter, for showing what proof time does and does not depend on."""

import importlib.util
from pathlib import Path

from ptxspec import T


def exchange(blocks: int, threads: int):
    """The shared-memory exchange over any launch."""
    rows = blocks * threads

    @T.function
    def exchange_rows(
        A: T.Tensor((rows, 4), "float32", align=16),
        B: T.Tensor((rows, 4), "float32", align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        tid = T.cuda.thread_idx("x")
        row = T.int64(T.cuda.block_idx("x")) * threads + tid
        registers = T.alloc_local((4,), "float32", layout="default")
        shared = T.alloc_shared((threads, 4), "float32", align=16)
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[row, :])
        T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
        T.cuda.cta_sync()
        T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], registers, shared.sub[(tid + 1) % threads, :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[row, :], registers)

    return exchange_rows


def looped(trips: int):
    """A thread copies ``trips`` rows in a loop that stays a loop."""
    @T.function
    def loop_copy(
        A: T.Tensor((trips, 64, 4), "float32", align=16),
        B: T.Tensor((trips, 64, 4), "float32", align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        tid = T.cuda.thread_idx("x")
        registers = T.alloc_local((4,), "float32", layout="default")
        for k in T.serial(0, trips):
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[k, tid, :])
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[k, tid, :], registers)

    return loop_copy


def double_buffered(trips: int):
    """Rows pass through one half of a shared buffer while the other half is read."""
    @T.function
    def buffered_copy(
        A: T.Tensor((trips, 64, 4), "float32", align=16),
        B: T.Tensor((trips, 64, 4), "float32", align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        tid = T.cuda.thread_idx("x")
        registers = T.alloc_local((4,), "float32", layout="default")
        shared = T.alloc_shared((2, 64, 4), "float32", align=16)
        for k in T.serial(0, trips):
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[k, tid, :])
            T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[k % 2, tid, :], registers)
            T.cuda.cta_sync()
            T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], registers, shared.sub[k % 2, 63 - tid, :])
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[k, tid, :], registers)

    return buffered_copy


_HEAD = """
from ptxspec import T

@T.function
def many(
    A: T.Tensor(({count}, 64, 4), "float32", align=16),
    B: T.Tensor(({count}, 64, 4), "float32", align=16),
    n: T.int32,
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    shared = T.alloc_shared((64, 4), "float32", align=16)
    shared[tid, 0] = 0.0
    T.cuda.cta_sync()
"""

_ROWS = """
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[{k}, tid, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[{k}, tid, :], registers)
"""

_EXCHANGES = """
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[{k}, tid, :])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
    T.cuda.cta_sync()
    T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], registers, shared.sub[63 - tid, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[{k}, tid, :], registers)
    T.cuda.cta_sync()
"""

_SCALARS = """
    if tid < n - {k}:
        B[{k}, (tid * 5 + {k}) % 64, 1] = A[{k}, tid ^ 1, 0]
"""

_FAMILIES = {"rows": _ROWS, "exchanges": _EXCHANGES, "scalars": _SCALARS}


def applies(count: int, folder: Path, family: str = "rows"):
    """``count`` times the statements of a family, each written out (so the kernel comes from a file in ``folder``)."""
    path = folder / f"{family}_{count}.py"
    if not path.exists():
        path.write_text(_HEAD.format(count=count) + "".join(_FAMILIES[family].format(k=k) for k in range(count)))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.many


def repeated(repeats: int):
    """One load and one store of ``repeats`` vectors each: the instruction is repeated, the apply is not."""
    @T.function
    def repeat_copy(
        A: T.Tensor((64, repeats, 4), "float32", align=16),
        B: T.Tensor((64, repeats, 4), "float32", align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        tid = T.cuda.thread_idx("x")
        registers = T.alloc_local((repeats, 4), "float32", layout="default")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :, :])
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :, :], registers)

    return repeat_copy


def partial_tiles(elements: int):
    """Tiles with arithmetic on rows of odd pitch, at the edges as well: ``elements`` of each for each of 64 threads."""
    @T.function
    def tile_scale(A: T.Tensor((1023, 1021), "float32", align=16), B: T.Tensor((1023, 1021), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(16, -(-1023 // elements)), block=64))
        at = (T.cuda.block_idx("y") * elements, T.cuda.block_idx("x") * 64)
        T.tile_store(B, T.tile_load(A, shape=(elements, 64), offset=at) * 2 - 1, offset=at)

    return tile_scale
