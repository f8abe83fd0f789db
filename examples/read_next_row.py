"""Threads of a block exchange rows through shared memory; the loaded words are also saved in a second register tensor.

Row ``i`` of ``B`` becomes row ``i + 1`` of ``A``, the last row becomes the first; ``Saved`` keeps the thread's own row.
"""

from ptxspec import T


@T.function
def read_next_row(
    A: T.Tensor((64, 4), "float32", align=16),
    B: T.Tensor((64, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    shared = T.alloc_shared((64, 4), "float32", align=16)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
    T.cuda.cta_sync()
    T.cuda.tile.apply(
        T.ptx["ld.shared.v4.b32"], registers, shared.sub[(tid + 1) % 64, :]
    )
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)


@T.function
def read_next_row_saved(
    A: T.Tensor((64, 4), "float32", align=16),
    B: T.Tensor((64, 4), "float32", align=16),
    Saved: T.Tensor((64, 4), "float32", align=16),
    Zero: T.Tensor((64, 4), "float32", align=16),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    shared = T.alloc_shared((64, 4), "float32", align=16)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :])
    # Keep the loaded words: four moves of one register each.
    saved = T.alloc_local((4, 1), "float32", layout="default")
    T.cuda.tile.apply(T.ptx["mov.b32"], saved, registers.view(4, 1))
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
    T.cuda.cta_sync()
    T.cuda.tile.apply(
        T.ptx["ld.shared.v4.b32"], registers, shared.sub[(tid + 1) % 64, :]
    )
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], Saved.sub[tid, :], saved.view(4))
    # One scalar source serves all four moves.
    T.cuda.tile.apply(T.ptx["mov.b32"], saved, T.float32(0))
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], Zero.sub[tid, :], saved.view(4))
