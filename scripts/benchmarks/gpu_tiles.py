"""Cooperative tile copies on the GPU against Warp's, torch and the driver's copy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import torch

from benchmarks.contestants import (
    gigabytes,
    memcpy,
    memcpy_2d,
    ours,
    peer_kernels,
    torch_copy,
    versus,
    warp_kernels,
)
from benchmarks.race import Contestant, Median, compete, fastest, final, random_bits, require_gpu
from benchmarks.record import Result
from ptxspec.layout import S, TileLayout

TITLE = "Cooperative tile copies"
METHOD = (
    "`tile_load` then `tile_store` over a whole array, ours and Warp 1.19's (register and shared storage, checked "
    "and unchecked, with and without its grid-stride loop), the same tile shape; 128 to 1,024 threads a block on both "
    "sides; on both sides also with two neighbouring tiles a block (and four partial ones), loaded before they are "
    "stored, and ours one after the other; in one dimension also with arrays declared `align=8`, which makes ours move "
    "8 bytes an access; ours also with `dynamic_smem_bytes` that let fewer blocks be resident, which Warp's launches "
    "have no word for. \"Seen flat\": dense matrices as one row, in runs of as many elements as a tile has, on both "
    "sides. Triton: the same tiles as blocks of pointers, masked where partial, 4 to 32 warps; a vec3 tile as three of "
    "scalars. Otherwise as in the dense copy. \"By hand\": the same tiles in CUDA C++, 64 to 1,024 threads, 1 "
    "to 4 vectors of a thread in flight, one or two tiles a block, rows of odd pitch from their first 16-byte boundary "
    "on; it bounds what tiles can reach. The driver's copy and torch's go along memory and know of no "
    "tiles. The three best of each storage on both sides run a final of 31 rounds, from which the rows are: first the "
    "best of all, then each storage. The note says how wide the middle half of the rounds was, ours and theirs. Below "
    "the table, every variant in the first race."
)

#: Threads a block, and blocks resident on a multiprocessor.
RESIDENT = ((384, 2), (384, 3), (512, 2), (512, 3), (768, 2))

#: Elements of an array of which copies are done in microseconds.
SMALL = 1 << 22

#: How the names of contestants that meet in the final begin.
GROUPS = ["cudaMemcpy", "torch", "register", "shared", "Warp register", "Warp shared", "Triton", "by hand"]

TORCH = {"float32": torch.float32, "float16": torch.float16, "uint8": torch.uint8, "float64": torch.float64}


@dataclass(frozen=True)
class Work:
    """One comparison: arrays ``(n, m)`` (or ``(n,)`` with ``m`` 0) of ``dtype`` in tiles; ``pitch`` pads the rows,
    ``inner`` scalars make one element (3 for vec3). Tiles of one axis see a matrix as one row."""

    words: str
    n: int
    m: int
    dtype: str
    tile: tuple[int, ...]
    partial: bool = False
    pitch: int | None = None
    inner: int = 1

    @property
    def flat(self) -> bool:
        """A matrix is seen as one row."""
        return self.m > 0 and len(self.tile) == 1

    @property
    def blocks(self) -> tuple[int, ...]:
        """Threads a block that are tried, on both sides; small ones only where the whole is done in microseconds."""
        return (*((64,) if self.n * max(self.m, 1) <= SMALL else ()), 128, 256, 384, 512, 768, 1024)

    @property
    def counts(self) -> tuple[int, ...]:
        """Neighbouring tiles that a block loads before it stores them, on both sides."""
        return (1,) if self.flat else (1, 2, 4) if self.partial else (1, 2)

    @property
    def warp_dtype(self) -> str:
        """Warp's name of the element type."""
        return f"vec{self.inner}" if self.inner > 1 else self.dtype


def works(quick: bool) -> list[Work]:
    """Large arrays of all element types, padded, with partial edges, in one dimension."""
    if quick:
        return [Work("64x64 f32, 2047x2045, partial edges", 2047, 2045, "float32", (64, 64), True),
                Work("2047x2045 f32 seen flat, 4096 at a time", 2047, 2045, "float32", (4096,), True),
                Work("511x509 vec3 seen flat, 2048 at a time", 511, 509, "float32", (2048,), True, inner=3),
                Work("16x32 vec3, 512x512", 512, 512, "float32", (16, 32), inner=3)]
    return [
        Work("64x64 f32, 2 GiB each way", 16384, 32768, "float32", (64, 64)),
        Work("64x64 f16, 1 GiB each way", 16384, 32768, "float16", (64, 64)),
        Work("64x64 u8, 1 GiB each way", 32768, 32768, "uint8", (64, 64)),
        Work("32x64 f64, 1 GiB each way", 8192, 16384, "float64", (32, 64)),
        Work("64x64 f32, rows of 16320 padded to 16384", 16384, 16320, "float32", (64, 64), False, 16384),
        Work("64x64 f32, 16383x16381, partial edges", 16383, 16381, "float32", (64, 64), True),
        Work("64x64 f32, 16350x16348 in 16-byte rows, partial edges", 16350, 16348, "float32", (64, 64), True),
        Work("32x64 vec3, 1.5 GiB each way", 8192, 16384, "float32", (32, 64), inner=3),
        Work("32x64 vec3, 8190x16348 in 16-byte rows, partial edges", 8190, 16348, "float32", (32, 64), True, inner=3),
        Work("16383x16381 f32 seen flat, 4096 at a time", 16383, 16381, "float32", (4096,), True),
        Work("16350x16348 f32 seen flat, 4096 at a time", 16350, 16348, "float32", (4096,), True),
        Work("8190x16348 vec3 seen flat, 2048 at a time", 8190, 16348, "float32", (2048,), True, inner=3),
        Work("4096 f32 in one dimension, 1 GiB each way", 1 << 28, 0, "float32", (4096,)),
    ]


def _arrays(work: Work) -> tuple[torch.Tensor, torch.Tensor]:
    dtype = TORCH[work.dtype]
    if work.m == 0:
        a = random_bits((work.n,), dtype)
        return a, torch.empty_like(a)
    if work.inner > 1:
        a = random_bits((work.n, work.m, work.inner), dtype)
        return a, torch.empty_like(a)
    pitch = work.pitch or work.m
    a, b = random_bits((work.n, pitch), dtype), torch.empty((work.n, pitch), dtype=dtype, device="cuda")
    return a[:, : work.m], b[:, : work.m]


def _ours(work: Work, arrays: tuple[torch.Tensor, torch.Tensor], remark: Callable[[str], None]) -> list[Contestant]:
    from benchmarks.kernels import tiles

    def single(storage: str, threads: int, checked: bool, align: int = 16) -> object:
        if len(work.tile) == 1:
            return tiles.copy_flat(shape, work.dtype, work.tile[0], threads, storage, checked, align)
        if work.inner > 1:
            return tiles.copy_vectors(work.n, work.m, work.inner, work.dtype, work.tile, threads, storage, checked)
        return tiles.copy_2d(work.n, work.m, work.dtype, work.tile, threads, storage, checked, work.pitch)

    shape = tuple(n for n in (work.n, work.m, work.inner if work.inner > 1 else 0) if n)
    layout = "default" if work.pitch is None else TileLayout(S[shape : (work.pitch, 1)])
    tile = work.tile if work.inner == 1 else (*work.tile, work.inner)

    def several(storage: str, threads: int, count: int, together: bool = True, extra: int = 0) -> object:
        if work.flat:
            return tiles.copy_flat(shape, work.dtype, tile[0], threads, storage, extra=extra)
        return tiles.copy_several(shape, work.dtype, tile, count, threads, storage, together=together, layout=layout,
                                  extra=extra)

    found = []
    for storage, threads in itertools.product(("register", "shared"), work.blocks):
        for checked in (True,) if work.partial else (False, True):
            name = f"{storage}, {'checked' if checked else 'unchecked, proved'}, {threads} threads"
            found += ours(name, lambda s=storage, t=threads, c=checked: single(s, t, c), arrays, remark)
        if len(work.tile) == 1:     # in one dimension half the width can be faster; declaring align=8 chooses it
            found += ours(f"{storage}, checked, {threads} threads, align=8",
                          lambda s=storage, t=threads: single(s, t, True, 8), arrays, remark)
        for count, together in () if work.flat else (*((n, True) for n in work.counts[1:]), (2, False)):
            way = "together" if together else "in turn"
            found += ours(f"{storage}, checked, {threads} threads, {count} tiles {way}",
                          lambda s=storage, t=threads, n=count, g=together: several(s, t, n, g), arrays, remark)
    for storage, (threads, resident), count in itertools.product(("register", "shared"), RESIDENT, work.counts[:2]):
        own = prod(tile) * arrays[0].element_size() * count if storage == "shared" else 0
        extra = tiles.spare(resident, own)
        if extra is not None:
            name = (f"{storage}, checked, {threads} threads, {resident} blocks a multiprocessor"
                    f"{'' if count == 1 else f', {count} tiles together'}")
            found += ours(name, lambda s=storage, t=threads, n=count, e=extra: several(s, t, n, extra=e), arrays,
                          remark)
    return found


def _by_hand(work: Work, arrays: tuple[torch.Tensor, torch.Tensor], remark: Callable[[str], None]) -> list[Contestant]:
    """The same tiles moved by CUDA C++, as a bound; empty with a remark where cupy is absent."""
    by_hand = peer_kernels("by_hand", remark)
    if by_hand is None:
        return []
    tile = work.tile
    if work.flat:
        arrays, tile = tuple(x.view(-1) for x in arrays), (tile[0] * work.inner,)
    return [Contestant(f"by hand, {threads} threads, {ahead} in flight{'' if count == 1 else f', {count} tiles'}",
                       by_hand.copy(*arrays, (*tile[:-1], tile[-1] * count), threads, ahead))
            for (threads, ahead), count in itertools.product(by_hand.VARIANTS, work.counts[:2])]


def _warps(
    work: Work, arrays: tuple[torch.Tensor, torch.Tensor], warp: object, remark: Callable[[str], None]
) -> list[Contestant]:
    found = []
    if work.flat:
        arrays = tuple(x.view(-1, work.inner) if work.inner > 1 else x.view(-1) for x in arrays)
    checks = (True,) if work.partial else (False, True)
    for threads, storage, checked, grid_stride, count in itertools.product(
            work.blocks, ("register", "shared"), checks, (True, False), work.counts):
        name = (f"Warp {storage}, {'checked' if checked else 'unchecked'}, {threads} threads"
                f"{'' if grid_stride else ', no grid stride'}{'' if count == 1 else f', {count} tiles together'}")
        found += _running(name, lambda s=storage, t=threads, c=checked, g=grid_stride, n=count:
                          warp.tiles(*arrays, work.warp_dtype, work.tile, s, c,  # type: ignore[attr-defined]
                                     grid_stride=g, block=t, count=n), remark)
    return found


def _running(name: str, make: Callable[[], Callable[[], object]], remark: Callable[[str], None]) -> list[Contestant]:
    """A peer's launch that was built and has run once; empty with a remark where it does not."""
    try:
        launch = make()
        launch()
        torch.cuda.synchronize()
    except Exception as error:
        remark(f"{name}: {type(error).__name__}: {str(error)[:160]}")
        return []
    return [Contestant(name, launch)]


def _tritons(work: Work, arrays: tuple[torch.Tensor, torch.Tensor], remark: Callable[[str], None]) -> list[Contestant]:
    """The same tiles in Triton, where they are blocks of pointers; empty with a remark where it is absent."""
    triton = peer_kernels("triton_kernels", remark)
    if triton is None:
        return []
    flat = work.flat or work.m == 0
    tile = (1, work.tile[0]) if flat else work.tile
    views = [x.view(1, -1) if flat else x.flatten(1) if work.inner > 1 else x for x in arrays]
    found = []
    for checked, warps in itertools.product((True,) if work.partial else (False, True), (4, 8, 16, 32)):
        name = f"Triton, {'checked' if checked else 'unchecked'}, {32 * warps} threads"
        found += _running(name, lambda c=checked, w=warps: triton.tiles(*views, tile, c, w, work.inner), remark)
    return found


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    measure(result, works(quick), quick)


def measure(result: Result, works: list[Work], quick: bool) -> None:
    """Race everybody on each of ``works``."""
    require_gpu()
    warp = warp_kernels(result.remark)
    for work in works:
        a, b = _arrays(work)
        size = a.element_size()
        if a.is_contiguous():
            plain = memcpy(b, a)
        else:
            plain = memcpy_2d(b, a, work.m * size, a.stride(0) * size, work.n)
        mine = _ours(work, (a, b), result.remark)
        entries = [*([plain] if a.is_contiguous() else []), torch_copy(b, a), *mine,
                   *_by_hand(work, (a, b), result.remark), *_tritons(work, (a, b), result.remark)]
        if warp is not None:
            warp.build_tiles(work.warp_dtype, work.tile, (True,) if work.partial else (False, True), blocks=work.blocks,
                             counts=work.counts)
            entries += _warps(work, (a, b), warp, result.remark)
        times = compete(entries, b, a, result.remark, 3 if quick else 9)
        finals = final(entries, times, GROUPS, rounds=3 if quick else 31)
        moved = 2 * a.numel() * size
        _report(result, work, finals, moved)
        for name, ms in sorted(times.items(), key=lambda item: item[1]):
            result.remark(f"{work.words}: {name}: {gigabytes(ms, moved):,.0f} GB/s")
        del a, b, entries, mine, plain
        torch.cuda.empty_cache()


def _report(result: Result, work: Work, finals: dict[str, Median], moved: int) -> None:
    """Our best against everybody's best, and each storage against Warp's."""
    mine = [fastest(finals, storage) for storage in ("register", "shared")]
    best = min(filter(None, mine), key=lambda name: finals[name], default="")
    for peer in ("Warp", "Triton", "by hand", "cudaMemcpy", "torch"):
        versus(result, work.words, finals, best, fastest(finals, peer), moved)
    for storage, own in zip(("register", "shared"), mine, strict=True):
        versus(result, work.words, finals, own, fastest(finals, f"Warp {storage}"), moved)
