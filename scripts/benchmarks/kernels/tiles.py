# ruff: noqa: N803
"""Cooperative tile copies in the kernel language, for the comparison with Warp's."""

from math import prod

from ptxspec import T


def copy_2d(n, m, dtype, tile, threads, storage, checked, pitch=None):
    """Copy ``(n, m)`` in tiles; ``checked`` keeps the bounds check, so that partial tiles are allowed.

    ``pitch``: elements from row to row of both arrays, where they are padded.
    """
    from ptxspec.layout import S, TileLayout

    th, tw = tile
    grid = (-(-m // tw), -(-n // th))
    layout = "default" if pitch is None else TileLayout(S[(n, m) : (pitch, 1)])

    @T.function
    def tile_copy(
        A: T.Tensor((n, m), dtype, layout=layout, align=16),
        B: T.Tensor((n, m), dtype, layout=layout, align=16),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=threads))
        i = T.cuda.block_idx("y") * th
        j = T.cuda.block_idx("x") * tw
        t = T.tile_load(A, shape=(th, tw), offset=(i, j), storage=storage, bounds_check=checked)
        T.tile_store(B, t, offset=(i, j), bounds_check=checked)

    return tile_copy


def copy_vectors(n, m, inner, dtype, tile, threads, storage, checked):
    """Copy ``(n, m)`` elements of ``inner`` scalars each (3: vec3) in tiles of whole elements."""
    th, tw = tile
    grid = (-(-m // tw), -(-n // th))

    @T.function
    def tile_copy_vectors(A: T.Tensor((n, m, inner), dtype, align=16), B: T.Tensor((n, m, inner), dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=threads))
        i = T.cuda.block_idx("y") * th
        j = T.cuda.block_idx("x") * tw
        t = T.tile_load(A, shape=(th, tw, inner), offset=(i, j, 0), storage=storage, bounds_check=checked)
        T.tile_store(B, t, offset=(i, j, 0), bounds_check=checked)

    return tile_copy_vectors


def accumulate(n, m, dtype, tile, threads):
    """``B += A`` in tiles, atomically: the kernel whose adjoint keeps the gradient of B."""
    th, tw = tile
    grid = (-(-m // tw), -(-n // th))

    @T.function
    def tile_accumulate(A: T.Tensor((n, m), dtype, align=16), B: T.Tensor((n, m), dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=threads))
        i = T.cuda.block_idx("y") * th
        j = T.cuda.block_idx("x") * tw
        T.tile_atomic_add(B, T.tile_load(A, shape=(th, tw), offset=(i, j)), offset=(i, j))

    return tile_accumulate


#: Shared memory of a multiprocessor of sm_90 in bytes, and what the driver keeps of it for each block.
SHARED, RESERVED = 233_472, 1024


def spare(resident, own):
    """Bytes of dynamic shared memory with which ``resident`` blocks, and no more, fit on a multiprocessor, for blocks
    that have ``own`` bytes of their own; None where they do not fit anyway."""
    bytes_each = (SHARED // resident - RESERVED) // 128 * 128
    return bytes_each - own if own <= bytes_each else None


def copy_several(shape, dtype, tile, count, threads, storage, *, together=True, layout="default", align=16, extra=0):
    """A checked copy of ``shape`` (one, two, or two and the scalars of an element) in which a block takes ``count``
    neighbouring tiles: all loaded and then all stored (``together``), or one after the other. ``extra``: bytes of
    dynamic shared memory, so that fewer blocks are resident."""
    axis = 0 if len(tile) == 1 else 1
    inner = (0,) * (len(tile) - axis - 1)
    grid = (-(-shape[axis] // (tile[axis] * count)), *(-(-shape[k] // tile[k]) for k in range(axis)))
    places = list(range(count))

    @T.function
    def tile_copy_several(A: T.Tensor(shape, dtype, layout=layout, align=align),
                          B: T.Tensor(shape, dtype, layout=layout, align=align)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=threads, dynamic_smem_bytes=extra))
        outer = (T.cuda.block_idx("y") * tile[0],) if axis else ()
        j = T.cuda.block_idx("x") * (tile[axis] * count)
        if together:
            held = [T.tile_load(A, shape=tile, offset=(*outer, j + k * tile[axis], *inner), storage=storage)
                    for k in places]
            for k, t in zip(places, held):
                T.tile_store(B, t, offset=(*outer, j + k * tile[axis], *inner))
        else:
            for k in T.unroll(count):
                t = T.tile_load(A, shape=tile, offset=(*outer, j + k * tile[axis], *inner), storage=storage)
                T.tile_store(B, t, offset=(*outer, j + k * tile[axis], *inner))

    return tile_copy_several


def copy_flat(shape, dtype, tile, threads, storage, checked=True, align=16, extra=0):
    """A copy of dense arrays along memory, in runs of ``tile`` elements: of one axis, or rows seen as one; the third
    axis of ``shape``, if there is one, has the scalars of an element. ``align`` is declared of the arrays, and bounds
    the width of the accesses; ``extra`` as in :func:`copy_several`."""
    inner = shape[2:]
    zero = (0,) * len(inner)
    grid = -(-prod(shape[:2]) // tile)

    @T.function
    def tile_copy_flat(A: T.Tensor(shape, dtype, align=align), B: T.Tensor(shape, dtype, align=align)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=threads, dynamic_smem_bytes=extra))
        a, b = A.view(-1, *inner), B.view(-1, *inner)
        i = T.cuda.block_idx("x") * tile
        t = T.tile_load(a, shape=(tile, *inner), offset=(i, *zero), storage=storage, bounds_check=checked)
        T.tile_store(b, t, offset=(i, *zero), bounds_check=checked)

    return tile_copy_flat


def copy_striding(n, m, dtype, tile, threads, blocks):
    """The copy of ``(n, m)`` in tiles that are dealt out to ``blocks`` blocks."""
    th, tw = tile
    columns = -(-m // tw)
    count = columns * -(-n // th)

    @T.function
    def tile_copy_striding(A: T.Tensor((n, m), dtype, align=16), B: T.Tensor((n, m), dtype, align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=blocks, block=threads))
        for t in T.serial(T.cuda.block_idx("x"), count, blocks):
            i, j = t // columns * th, t % columns * tw
            T.tile_store(B, T.tile_load(A, shape=(th, tw), offset=(i, j)), offset=(i, j))

    return tile_copy_striding


def copy_any(storage, threads):
    """The copy for every size: 64x64 float32 tiles, extents known at launch."""
    rows, columns = T.dim("rows"), T.dim("columns")

    @T.function
    def tile_copy_any(A: T.Tensor((rows, columns), "float32", align=16),
                      B: T.Tensor((rows, columns), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=((columns + 63) // 64, (rows + 63) // 64), block=threads))
        T.assume(columns % 4 == 0)
        i, j = T.cuda.block_idx("y") * 64, T.cuda.block_idx("x") * 64
        t = T.tile_load(A, shape=(64, 64), offset=(i, j), storage=storage)
        T.tile_store(B, t, offset=(i, j))

    return tile_copy_any
