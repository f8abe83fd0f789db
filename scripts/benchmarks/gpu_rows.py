"""Copies of strided rows on the GPU: a few bytes or many of each row of a pitched array, to a dense one."""

from __future__ import annotations

import torch

from benchmarks.contestants import gigabytes, memcpy_2d, ours, tirx, torch_copy, warp_kernels
from benchmarks.kernels import moves
from benchmarks.race import Contestant, compete, random_bits, require_gpu
from benchmarks.record import Result
from ptxspec import T

TITLE = "Copies of strided rows"
METHOD = (
    "The first WIDTH bytes of every row of a pitched f32 array go to a dense array. GB/s count the bytes asked for, "
    "read and written; a narrow row costs whole 32-byte sectors, for everybody. Otherwise as in the dense copy."
)


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    require_gpu()
    warp = warp_kernels(result.remark)
    shift = 5 if quick else 0
    for rows, width, pitch in ((2**24, 4, 16), (2**21, 64, 128), (2**20, 256, 320), (2**17, 2048, 2112)):
        rows >>= shift
        a = random_bits((rows, pitch))
        b = torch.empty((rows, width), device="cuda")
        expected = a[:, :width].contiguous()
        arrays = (a.view(rows, pitch // 4, 4), b.view(rows, width // 4, 4))
        entries = [memcpy_2d(b, a, 4 * width, 4 * pitch, rows), torch_copy(b, a[:, :width])]
        for threads in (128, 256):
            entries += ours(
                f"one v4 a thread, {threads} threads",
                lambda t=threads, r=rows, w=width, p=pitch: moves.rows_of(T, r, w, p, t), arrays, result.remark)
        entries += tirx("TIRx, same kernel, 256 threads",
                        lambda lang, r=rows, w=width, p=pitch: moves.rows_of(lang, r, w, p, 256), arrays, result.remark)
        if warp is not None:
            pitched = arrays[0][:, : width // 4]
            entries.append(Contestant("Warp, one vec4 a thread", warp.strided(pitched, arrays[1])))
        times = compete(entries, b, expected, result.remark, 3 if quick else 9)
        rates = {name: gigabytes(ms, 2 * b.numel() * 4) for name, ms in times.items()}
        mine = {entry.name: rates[entry.name] for entry in entries if entry.ours and entry.name in rates}
        if mine:
            best = max(mine, key=lambda name: mine[name])
            for name, rate in rates.items():
                if name not in mine:
                    result.add(f"{rows:,} rows of {4 * width} bytes, {4 * pitch} apart ({best})", mine[best], "GB/s",
                               against=name, other=rate, lower=False)
        del a, b, expected, arrays
        torch.cuda.empty_cache()
