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


_APPLIES = """
from ptxspec import T

@T.function
def many_applies(
    A: T.Tensor(({count}, 64, 4), "float32", align=16),
    B: T.Tensor(({count}, 64, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
"""


def applies(count: int, folder: Path):
    """``count`` loads and as many stores, each an apply written out (so the kernel comes from a file in ``folder``)."""
    path = folder / f"applies_{count}.py"
    if not path.exists():
        lines = [_APPLIES.format(count=count)]
        for k in range(count):
            lines.append(f'    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[{k}, tid, :])\n')
            lines.append(f'    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[{k}, tid, :], registers)\n')
        path.write_text("".join(lines))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.many_applies
