"""Adjoint kernels of tile operations on the GPU against Warp's backward pass of the same kernel, and torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import torch

from benchmarks.contestants import gigabytes, ours, peer_kernels, versus, warp_kernels
from benchmarks.kernels import tiles
from benchmarks.race import Contestant, Median, fastest, final, race, require_gpu
from benchmarks.record import Result

TITLE = "Gradients of cooperative tiles"
METHOD = (
    "The adjoint of a tile copy (`B = A`: read B's gradient, add it atomically to A's, clear B's) and of an atomic "
    "accumulation (`B += A`: B's gradient stays), ours (which is the same for either storage) and Warp 1.19's backward "
    "launch of the same kernel (register and shared, with and without its grid-stride loop; checked on both sides), "
    "128 to 512 threads a block (64 to 1,024 for partial tiles, and on both sides also two tiles a block). \"Plain\": "
    "`adjoint(atomics=False)`, which adds without atomics because the proof shows that no two threads meet; compared "
    "with the same tiles in CUDA C++ (\"by hand\": 64 to 1,024 threads, 1 to 4 vectors of a thread in flight), which "
    "bound what one kernel of tiles can reach, and with torch's `add_` and `zero_`, two kernels that go along memory. "
    "Ours also with `dynamic_smem_bytes` that let fewer blocks be resident. GB/s count each gradient's "
    "bytes as often as they must move: read, added to (read and written), cleared. Every contestant "
    "first runs once on random gradients of small whole numbers, and all bytes are compared. \"Persistent\": tiles "
    "dealt out to a few blocks a multiprocessor, as Warp's grid-stride loop does. \"Seen flat\": a dense matrix as one "
    "row, in runs of as many elements as a tile has, on both sides. The three best of each kind run a "
    "final of 31 rounds, from which the rows are; the note says how wide the middle half of the rounds was."
)

#: Threads a block, and blocks resident on a multiprocessor.
RESIDENT = ((64, 16), (64, 20), (384, 2), (384, 3), (512, 2), (512, 3), (768, 1), (768, 2))


@dataclass(frozen=True)
class Work:
    """One comparison: the adjoint of a copy or (``adds``) an accumulation of ``(n, m)`` in tiles; those of one axis see
    the matrix as one row. ``inner`` scalars make one element (3 for vec3)."""

    words: str
    n: int
    m: int
    dtype: str
    adds: bool = False
    tile: tuple[int, ...] = (64, 64)
    inner: int = 1

    @property
    def flat(self) -> bool:
        """The matrix is seen as one row."""
        return len(self.tile) == 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the arrays, in scalars."""
        return (self.n, self.m) if self.inner == 1 else (self.n, self.m, self.inner)

    @property
    def warp_dtype(self) -> str:
        """Warp's name of the element type."""
        return f"vec{self.inner}" if self.inner > 1 else self.dtype

    @property
    def blocks(self) -> tuple[int, ...]:
        """Threads a block that are tried, on both sides."""
        return (64, 128, 256, 384, 512, 768, 1024) if self.m % 64 else (128, 256, 384, 512)

    @property
    def counts(self) -> tuple[int, ...]:
        """Neighbouring tiles that a block takes, on both sides: all loaded, then all stored."""
        return (1, 2) if self.m % 64 and not self.flat else (1,)

    @property
    def moved(self) -> int:
        """Bytes that must travel: the seed read, the sum read and written, and the seed cleared by a copy."""
        size = torch.empty((), dtype=getattr(torch, self.dtype)).element_size()
        return prod(self.shape) * size * (3 if self.adds else 4)


def works(quick: bool) -> list[Work]:
    """Sizes from L2 to 1 GiB, half precision, partial edges."""
    if quick:
        return [Work("copy 64x64 f32, 2047x2044", 2047, 2044, "float32"),
                Work("copy 2047x2045 f32 seen flat, 4096 at a time", 2047, 2045, "float32", tile=(4096,)),
                Work("copy 32x64 vec3, 512x512", 512, 512, "float32", tile=(32, 64), inner=3),
                Work("accumulate 64x64 f32, 1 MiB", 512, 512, "float32", True)]
    return [
        Work("copy 64x64 f32, 1 GiB an array", 16384, 16384, "float32"),
        Work("copy 64x64 f32, 8 MiB an array", 2048, 1024, "float32"),
        Work("copy 64x64 f16, 512 MiB an array", 16384, 16384, "float16"),
        Work("copy 64x64 f32, 16350x16348, partial edges", 16350, 16348, "float32"),
        Work("copy 64x64 f32, 16383x16381, partial edges", 16383, 16381, "float32"),
        Work("copy 16383x16381 f32 seen flat, 4096 at a time", 16383, 16381, "float32", tile=(4096,)),
        Work("copy 32x64 vec3, 768 MiB an array", 8192, 8192, "float32", tile=(32, 64), inner=3),
        Work("accumulate 64x64 f32, 1 GiB an array", 16384, 16384, "float32", True),
    ]


@dataclass(frozen=True)
class Arrays:
    """``a`` and ``b`` with their gradients, and the seed."""

    a: torch.Tensor
    b: torch.Tensor
    ga: torch.Tensor
    gb: torch.Tensor
    seed: torch.Tensor

    @classmethod
    def of(cls, work: Work) -> Arrays:
        """Fresh arrays; the seed holds small whole numbers, so that sums are exact."""
        dtype = getattr(torch, work.dtype)
        seed = torch.randint(-8, 9, work.shape, device="cuda").to(dtype)
        return cls(*(torch.zeros_like(seed) for _ in range(4)), seed)

    def wrong(self, work: Work, launch: Callable[[], object]) -> str:
        """One run from known gradients; empty when every byte is right."""
        self.ga.fill_(3)
        self.gb.copy_(self.seed)
        try:
            launch()
            torch.cuda.synchronize()
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        kept = self.seed if work.adds else torch.zeros_like(self.seed)
        right = torch.equal(self.ga, self.seed + 3) and torch.equal(self.gb, kept)
        return "" if right else "wrong gradient"


def _ours(work: Work, arrays: Arrays, remark: Callable[[str], None]) -> list[Contestant]:
    found = []
    given = (arrays.a, arrays.b, arrays.ga, arrays.gb)
    for atomics, threads, count in itertools.product((True, False), work.blocks, work.counts):
        name = f"{'register' if atomics else 'plain'}, {threads} threads{_several(count)}"
        if work.adds:
            kernel = tiles.accumulate(work.n, work.m, work.dtype, work.tile, threads)
        else:
            kernel = _copy(work, threads, count)
        found += ours(name, lambda k=kernel, a=atomics: k.adjoint(atomics=a), given, remark)
    for atomics, (threads, resident) in itertools.product((True, False), () if work.adds else RESIDENT):
        name = f"{'register' if atomics else 'plain'}, {threads} threads, {resident} blocks a multiprocessor"
        kernel = _copy(work, threads, 1, tiles.spare(resident, 0))
        found += ours(name, lambda k=kernel, a=atomics: k.adjoint(atomics=a), given, remark)
    return found


def _copy(work: Work, threads: int, count: int, extra: int = 0) -> object:
    """The copy whose adjoint is measured."""
    if work.flat:
        return tiles.copy_flat(work.shape, work.dtype, work.tile[0], threads, "register", extra=extra)
    tile = work.tile if work.inner == 1 else (*work.tile, work.inner)
    return tiles.copy_several(work.shape, work.dtype, tile, count, threads, "register", extra=extra)


def _by_hand(work: Work, arrays: Arrays, remark: Callable[[str], None]) -> list[Contestant]:
    """The plain adjoint of float32 copies in CUDA C++, as a bound; empty with a remark where cupy is absent."""
    if work.adds or work.dtype != "float32":
        return []
    by_hand = peer_kernels("by_hand", remark)
    if by_hand is None:
        return []
    rows, (height, width) = (1, (1, *work.tile)) if work.flat else (work.n, work.tile)
    ga, gb = (x.view(rows, -1) for x in (arrays.ga, arrays.gb))
    return [Contestant(f"by hand, {threads} threads, {ahead} in flight{_several(count)}",
                       by_hand.adjoint(ga, gb, (height, width * work.inner * count), threads, ahead))
            for (threads, ahead), count in itertools.product(by_hand.VARIANTS, work.counts)]


def _several(count: int) -> str:
    return f", {count} tiles together" if count > 1 else ""


def _persistent(work: Work, arrays: Arrays, remark: Callable[[str], None]) -> list[Contestant]:
    """Tiles dealt out to few blocks, so that additions stay near each other in memory."""
    if work.adds or work.flat or work.inner > 1:
        return []
    found = []
    units = torch.cuda.get_device_properties(0).multi_processor_count
    given = (arrays.a, arrays.b, arrays.ga, arrays.gb)
    for threads, blocks in ((128, 2), (128, 4), (256, 1), (256, 2), (512, 1), (512, 2)):
        name = f"register, {threads} threads, persistent, {blocks} a multiprocessor"
        kernel = tiles.copy_striding(work.n, work.m, work.dtype, work.tile, threads, units * blocks)
        found += ours(name, kernel.adjoint, given, remark)
    return found


def _warps(work: Work, arrays: Arrays, warp: object, remark: Callable[[str], None]) -> list[Contestant]:
    found = []
    out = "tile_atomic_add" if work.adds else "tile_store"
    views = [x.view(-1) if work.flat else x for x in (arrays.a, arrays.b, arrays.ga, arrays.gb)]
    warp.build_tiles(work.warp_dtype, work.tile, (True,), out, True,  # type: ignore[attr-defined]
                     blocks=work.blocks, counts=work.counts)
    for storage, threads, grid_stride, count in itertools.product(
            ("register", "shared"), work.blocks, (True, False), work.counts):
        name = f"Warp {storage}, {threads} threads{'' if grid_stride else ', no grid stride'}{_several(count)}"
        try:
            launch = warp.backward(  # type: ignore[attr-defined]
                views[:2], views[2:], work.warp_dtype, work.tile, storage, grid_stride, threads, out, count)
        except Exception as error:
            remark(f"{name}: {type(error).__name__}: {str(error)[:160]}")
            continue
        found.append(Contestant(name, launch))
    return found


def _torch(work: Work, arrays: Arrays) -> Contestant:
    def launch() -> None:
        arrays.ga.add_(arrays.gb)
        if not work.adds:
            arrays.gb.zero_()

    return Contestant("torch add_" if work.adds else "torch add_, zero_", launch)


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    require_gpu()
    warp = warp_kernels(result.remark)
    for work in works(quick):
        arrays = Arrays.of(work)
        entries = [*_ours(work, arrays, result.remark), *_persistent(work, arrays, result.remark),
                   _torch(work, arrays), *_by_hand(work, arrays, result.remark)]
        if warp is not None:
            entries += _warps(work, arrays, warp, result.remark)
        sound = []
        for entry in entries:
            wrong = arrays.wrong(work, entry.launch)
            if wrong:
                result.remark(f"{work.words}: {entry.name} left out: {wrong}")
            else:
                sound.append(entry)
        arrays.gb.copy_(arrays.seed)
        times = race(sound, 3 if quick else 9)
        _report(result, work, final(sound, times, ["register", "plain", "Warp", "by hand", "torch"],
                                    rounds=3 if quick else 31))
        for name, ms in sorted(times.items(), key=lambda item: item[1]):
            result.remark(f"{work.words}: {name}: {gigabytes(ms, work.moved):,.0f} GB/s")
        del arrays, entries, sound
        torch.cuda.empty_cache()


def _report(result: Result, work: Work, finals: dict[str, Median]) -> None:
    """Our best with atomics against Warp's best, our best without against tiles by hand, and torch."""
    for mine, peer in (("register", "Warp"), ("plain", "by hand"), ("plain", "torch")):
        versus(result, work.words, finals, fastest(finals, mine), fastest(finals, peer), work.moved)
