"""The exchange of rows through shared memory on the GPU."""

from __future__ import annotations

import torch

from benchmarks.contestants import gigabytes, memcpy, ours, tirx, warp_kernels
from benchmarks.kernels import moves
from benchmarks.race import Contestant, compete, random_bits, require_gpu
from benchmarks.record import Result
from ptxspec import T

TITLE = "Exchange of rows through shared memory"
METHOD = (
    "Each block passes its 64 (or 256) rows of 16 bytes on by one, through shared memory and one barrier. Ours and "
    "TIRx compile the same source text; torch rolls; Warp has no shared scalars, so its threads read the next row "
    "directly. The copy by the driver moves as many bytes and is the ceiling. Otherwise as in the dense copy."
)


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    require_gpu()
    warp = warp_kernels(result.remark)
    for mib, threads in ((16, 64),) if quick else ((2048, 64), (2048, 256), (16, 64), (16, 256)):
        blocks = (mib << 20) // (16 * threads)
        a = random_bits((blocks * threads, 4))
        b = torch.empty_like(a)
        cube = a.view(blocks, threads, 4)
        expected = torch.roll(cube, -1, 1).reshape(-1, 4)
        name = f"ptxspec, {threads} threads"
        entries = ours(name, lambda n=blocks, t=threads: moves.exchange(T, n, t), (a, b), result.remark)
        entries += tirx("TIRx, same kernel", lambda lang, n=blocks, t=threads: moves.exchange(lang, n, t), (a, b),
                        result.remark)
        entries.append(Contestant("torch.roll", lambda o=b, c=cube: o.view(c.shape).copy_(torch.roll(c, -1, 1))))
        if warp is not None and threads == 64:
            entries.append(Contestant("Warp, without shared memory", warp.exchange(a, b)))
        times = compete(entries, b, expected, result.remark, 3 if quick else 9)
        times |= compete([memcpy(b, a)], b, a, result.remark, 3 if quick else 9)
        rates = {key: gigabytes(ms, 2 * a.numel() * 4) for key, ms in times.items()}
        if name in rates:
            for key, rate in rates.items():
                if key != name:
                    result.add(f"{mib} MiB each way, {threads} threads a block", rates[name], "GB/s", against=key,
                               other=rate, lower=False)
        del a, b, cube, expected
        torch.cuda.empty_cache()
