# ruff: noqa: N803
"""Kernels whose size is a parameter, for showing what proof time does and does not depend on."""

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


def applies(count: int):
    """``count`` loads and as many stores, each its own apply."""
    @T.function
    def many_applies(
        A: T.Tensor((count, 64, 4), "float32", align=16),
        B: T.Tensor((count, 64, 4), "float32", align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        tid = T.cuda.thread_idx("x")
        registers = T.alloc_local((4,), "float32", layout="default")
        for k in T.unroll(count):
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[k, tid, :])
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[k, tid, :], registers)

    return many_applies
