"""Dense copies on the GPU: 2 GiB and L2-resident, and by element size."""

from __future__ import annotations

import torch

from benchmarks.contestants import gigabytes, memcpy, ours, tirx, torch_copy, warp_kernels
from benchmarks.kernels import moves
from benchmarks.race import Contestant, compete, random_bits, require_gpu
from benchmarks.record import Result
from ptxspec import T

TITLE = "Dense copy"
METHOD = (
    "GB/s count bytes read and written. Medians of nine event-timed runs, contestants taken in turns, fresh random "
    "data, every result compared byte for byte in a poisoned output before timing. Kernels of ours are written in "
    "the kernel language (`scripts/benchmarks/kernels/moves.py`), proved, emitted and launched by `executable(a, b)`; "
    "TIRx compiles the same source text. Sizes up to some 20 MiB each way stay in the 60 MB L2; launches there are "
    "queued behind a waiting GPU, so that host time does not count."
)

# Cache qualifiers that could matter where the data stay in the L2.
HINTED = (
    (".nc loads", "ld.global.nc.v4.b32", "st.global.v4.b32"),
    (".nc.L1::no_allocate loads", "ld.global.nc.L1::no_allocate.v4.b32", "st.global.v4.b32"),
    (".cg loads and stores", "ld.global.cg.v4.b32", "st.global.cg.v4.b32"),
)


def _sizes(result: Result, mib: int, rounds: int, warp: object) -> None:
    rows = (mib << 20) // 16
    a = random_bits((rows, 4))
    b = torch.empty_like(a)
    arrays = (a, b)
    remark = result.remark
    entries = [memcpy(b, a), torch_copy(b, a)]
    for threads in (128, 256, 512):
        entries += ours(f"one v4 a thread, {threads} threads",
                        lambda threads=threads: moves.dense(T, rows, threads), arrays, remark)
    fours = (a.view(-1, 4, 256, 4), b.view(-1, 4, 256, 4))
    twos = (a.view(-1, 2, 256, 4), b.view(-1, 2, 256, 4))
    entries += ours("two v4 a thread, 256 threads", lambda: moves.dense(T, rows, 256, 2), twos, remark)
    entries += ours("four v4 a thread, 256 threads", lambda: moves.dense(T, rows, 256, 4), fours, remark)
    if mib < 1024:
        for words, load, store in HINTED:
            entries += ours(f"one v4 a thread, 256 threads, {words}",
                            lambda load=load, store=store: moves.dense(T, rows, 256, 1, load, store), arrays, remark)
        entries += ours("one v4 a thread, 1024 threads", lambda: moves.dense(T, rows, 1024), arrays, remark)
    entries += tirx("TIRx, one v4 a thread, 256 threads", lambda lang: moves.dense(lang, rows, 256), arrays, remark)
    entries += tirx("TIRx, four v4 a thread, 256 threads", lambda lang: moves.dense(lang, rows, 256, 4), fours, remark)
    if warp is not None:
        entries.append(Contestant("Warp, one vec4 a thread, 256 threads", warp.rows(a, b)))  # type: ignore[attr-defined]
    times = compete(entries, b, a, remark, rounds)
    moved = 2 * a.numel() * a.element_size()
    rates = {name: gigabytes(ms, moved) for name, ms in times.items()}
    mine = {entry.name: rates[entry.name] for entry in entries if entry.ours and entry.name in rates}
    if not mine:
        return
    size = f"{mib >> 10} GiB" if mib >= 1024 else f"{mib} MiB"
    best = max(mine, key=lambda name: mine[name])
    for name, rate in rates.items():
        if name not in mine:
            limit = rate if name == "cudaMemcpy" and mib >= 1024 else None
            result.add(f"{size}, f32, best of ours ({best})", mine[best], "GB/s", against=name, other=rate,
                       budget=limit, lower=False)
    ceiling = rates.get("cudaMemcpy")
    for name, rate in mine.items():
        result.add(f"{size}, f32, {name}", rate, "GB/s", against="cudaMemcpy", other=ceiling, lower=False)


def _elements(result: Result, mib: int, rounds: int) -> None:
    """One element a thread, then 16 bytes a thread, for elements of 1 to 16 bytes."""
    for dtype, kind, bits in (("uint8", torch.uint8, 8), ("float16", torch.float16, 16), ("float32", torch.float32, 32),
                              ("float64", torch.float64, 64)):
        count = (mib << 20) * 8 // bits
        a = random_bits((count,), kind)
        b = torch.empty_like(a)
        lanes = 128 // bits
        vectors = (a.view(-1, lanes), b.view(-1, lanes))
        single = (a.view(-1, 1), b.view(-1, 1))
        remark = result.remark
        rows = count // lanes
        wide_name, thin_name = f"{dtype}, 16 bytes a thread", f"{dtype}, one element a thread"
        if bits < 32:
            wide = ours(wide_name, lambda: moves.widened(T, count, 256, dtype, bits), vectors, remark)  # noqa: B023
            other = tirx(f"TIRx, {wide_name}", lambda lang: moves.widened(lang, count, 256, dtype, bits), vectors,  # noqa: B023
                         remark)
        else:
            forms = (f"ld.global.v{lanes}.b{bits}", f"st.global.v{lanes}.b{bits}")

            def dense(language: object, rows: int = rows, forms: tuple[str, str] = forms, dtype: str = dtype,
                      lanes: int = lanes) -> object:
                return moves.dense(language, rows, 256, 1, *forms, dtype, lanes)

            wide = ours(wide_name, lambda: dense(T), vectors, remark)
            other = tirx(f"TIRx, {wide_name}", dense, vectors, remark)
        thin = ours(thin_name, lambda: moves.elements(T, count, 256, dtype, bits), single, remark)  # noqa: B023
        thin_other = tirx(f"TIRx, {thin_name}", lambda lang: moves.elements(lang, count, 256, dtype, bits), single,  # noqa: B023
                          remark)
        loop_name = f"{dtype}, 16 bytes a thread, element by element"
        loop = ours(loop_name, lambda: moves.scaled(T, rows, lanes, dtype), vectors, remark)  # noqa: B023
        loop_other = tirx(f"TIRx, {loop_name}", lambda lang: moves.scaled(lang, rows, lanes, dtype), vectors,  # noqa: B023
                          remark)
        entries = [memcpy(b, a), torch_copy(b, a), *wide, *other, *loop, *loop_other, *thin, *thin_other]
        times = compete(entries, b, a, remark, rounds)
        moved = 2 * a.numel() * a.element_size()
        rates = {name: gigabytes(ms, moved) for name, ms in times.items()}
        for mine, peers in ((wide_name, ("cudaMemcpy", "torch copy_", f"TIRx, {wide_name}")),
                            (loop_name, ("cudaMemcpy", f"TIRx, {loop_name}")),
                            (thin_name, (f"TIRx, {thin_name}",))):
            if mine not in rates:
                continue
            for peer in peers:
                result.add(f"{mib} MiB, {mine}", rates[mine], "GB/s", against=peer, other=rates.get(peer), lower=False)


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    require_gpu()
    rounds = 3 if quick else 9
    warp = warp_kernels(result.remark)
    for mib in (16, 64) if quick else (2048, 4, 8, 16, 64):
        _sizes(result, mib, rounds, warp)
        torch.cuda.empty_cache()
    _elements(result, 64 if quick else 1024, rounds)
    torch.cuda.empty_cache()
