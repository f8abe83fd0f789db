"""Transpose on the GPU through a swizzled tile in shared memory."""

from __future__ import annotations

import torch

from benchmarks.contestants import gigabytes, memcpy, ours, tirx, torch_copy, warp_kernels
from benchmarks.kernels import moves
from benchmarks.race import Contestant, compete, random_bits, require_gpu
from benchmarks.record import Result
from ptxspec import T

TITLE = "Transpose through swizzled shared memory"
METHOD = (
    "f32 matrices. Ours and TIRx compile the same source text: 64x64 tiles, 256 threads, 16-byte global accesses, an "
    "XOR swizzle in shared memory that keeps both sides free of bank conflicts. torch copies the transposed view; Warp "
    "loads a shared tile and stores its transpose. Ours and TIRx run with plain loads and with loads that pass L1 by; "
    "the better one of ours is the row. The copy by the driver moves as many bytes and is the ceiling. Otherwise as in "
    "the dense copy."
)

#: What a load says about the caches; the stores are plain.
LOADS = {"plain loads": "ld.global.v4.b32", ".nc.L1::no_allocate loads": "ld.global.nc.L1::no_allocate.v4.b32"}


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    require_gpu()
    warp = warp_kernels(result.remark)
    for n, m in ((1024, 2048),) if quick else ((16384, 32768), (2048, 2048), (1024, 1024)):
        a = random_bits((n, m))
        b = torch.empty((m, n), device="cuda")
        expected = a.t().contiguous()
        vectors = (a.view(n, m // 4, 4), b.view(m, n // 4, 4))
        entries: list[Contestant] = []
        for words, load in LOADS.items():
            entries += ours(words, lambda n=n, m=m, load=load: moves.transpose(T, n, m, load), vectors, result.remark)
            entries += tirx(f"TIRx, same kernel, {words}", lambda lang, n=n, m=m, load=load: moves.transpose(
                lang, n, m, load), vectors, result.remark)
        entries.append(torch_copy(b, a.t(), "torch copy_ of the transposed view"))
        if warp is not None:
            entries.append(Contestant("Warp, shared 64x64 tile", warp.transpose(a, b)))
        times = compete(entries, b, expected, result.remark, 3 if quick else 9)
        times |= compete([memcpy(b, a)], b.view(n, m), a, result.remark, 3 if quick else 9)
        rates = {key: gigabytes(ms, 2 * a.numel() * 4) for key, ms in times.items()}
        mine = {entry.name: rates[entry.name] for entry in entries if entry.ours and entry.name in rates}
        if mine:
            best = max(mine, key=lambda name: mine[name])
            for key, rate in rates.items():
                if key != best:
                    peer = f"ptxspec, {key}" if key in mine else key
                    result.add(f"{n} x {m}, {best}", rates[best], "GB/s", against=peer, other=rate, lower=False)
        del a, b, expected, vectors, entries
        torch.cuda.empty_cache()
