"""Kernels in Triton's language for the comparisons."""

import triton
import triton.language as tl


@triton.jit
def copy_kernel(a, b, BLOCK: tl.constexpr):  # noqa: N803
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(b + at, tl.load(a + at))


def launch_copy(a, b):
    """One program that copies 256 floats."""
    return lambda: copy_kernel[(1,)](a, b, BLOCK=256)


@triton.jit
def tile_kernel(a, b, rows, columns, pitch, HEIGHT: tl.constexpr, WIDTH: tl.constexpr, PARTS: tl.constexpr,  # noqa: N803
                CHECKED: tl.constexpr):  # noqa: N803
    i = (tl.program_id(1) * HEIGHT + tl.arange(0, HEIGHT))[:, None]
    j = (tl.program_id(0) * PARTS * WIDTH + tl.arange(0, WIDTH))[None, :]
    for part in tl.static_range(PARTS):
        at = i * pitch + j + part * WIDTH
        inside = (i < rows) & (j + part * WIDTH < columns) if CHECKED else None
        tl.store(b + at, tl.load(a + at, mask=inside), mask=inside)


def tiles(a, b, tile, checked, warps, parts=1):
    """A copy of torch matrices in tiles, partial ones where ``checked``; ``parts`` neighbouring tiles a program (three
    for vec3, since extents are powers of two)."""
    height, width = tile
    grid = (triton.cdiv(a.shape[1], width * parts), triton.cdiv(a.shape[0], height))
    return lambda: tile_kernel[grid](a, b, a.shape[0], a.shape[1], a.stride(0), HEIGHT=height, WIDTH=width, PARTS=parts,
                                     CHECKED=checked, num_warps=warps)
