"""Host time of a launch: one call, two arrays, a kernel of a single block."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from ptxspec.backend.executable import Executable
from ptxspec.backend.native import available

import ptxspec
from benchmarks.contestants import tirx, warp_kernels
from benchmarks.kernels import moves
from benchmarks.race import random_bits, require_gpu, same_bits
from benchmarks.record import Result
from ptxspec import T

TITLE = "Host time of a launch"
METHOD = (
    "Microseconds of host time for one call that enqueues a one-block copy of 64 rows of 16 bytes: medians of nine "
    "rounds of 300 calls, the contestants taken in turns, the queue drained between rounds and outside the timing, "
    "garbage collection as the user has it. `exe(a, b)` includes every check that the proofs rest on (count, rank, "
    "dtype, shape, strides, device, alignment, aliasing, assumptions), and finds the stream that the library works on; "
    "`prepared` is what `exe.bind(a, b)` returns and compares the arrays as well. The raw launches check nothing; TIRx "
    "checks types, shapes and devices."
)

RAW = r"""
extern "C" __global__ void copy_rows(const float4* a, float4* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = a[i];
}
"""

#: What a contestant leaves undone that ours does.
NOTES = {
    "cuda.core launch": "takes addresses and a stream; checks nothing",
    "cuLaunchKernel, arguments prepared": "the bare call; checks nothing",
    "Warp recorded command": "recorded for these arrays; checks nothing",
}

Call = Callable[[], object]


def host_us(contestants: dict[str, Call], rounds: int, calls: int = 300) -> dict[str, float]:
    """Median microseconds of one call of each, the order rotating from round to round."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    order = list(contestants)
    for turn in range(rounds):
        at = turn % len(order)
        for name in order[at:] + order[:at]:
            call = contestants[name]
            for _ in range(20):
                call()
            torch.cuda.synchronize()
            begun = time.perf_counter()
            for _ in range(calls):
                call()
            times[name].append((time.perf_counter() - begun) / calls * 1e6)
            torch.cuda.synchronize()
    return {name: statistics.median(values) for name, values in times.items()}


def raw_launches(cubin: bytes, name: str, a: torch.Tensor, b: torch.Tensor) -> dict[str, Call]:
    """Our own cubin through the driver's binding with everything prepared, and through ``cuda.core``."""
    from cuda.bindings import driver
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    code = ObjectCode.from_cubin(cubin)
    kernel = code.get_kernel(name)
    stream = Device(0).default_stream
    config = LaunchConfig(grid=1, block=64)
    to, start = b.data_ptr(), a.data_ptr()

    def core() -> None:
        launch(stream, config, kernel, start, to)

    import ctypes

    values = (ctypes.c_uint64 * 2)(start, to)
    places = (ctypes.c_void_p * 2)(ctypes.addressof(values), ctypes.addressof(values) + 8)
    address = ctypes.addressof(places)
    handle = driver.CUfunction(int(getattr(kernel, "handle", None) or kernel._handle))

    def binding(kept: object = (values, places)) -> None:   # the argument block must outlive this function
        driver.cuLaunchKernel(handle, 1, 1, 1, 64, 1, 1, 0, 0, address, 0)

    return {"cuda.core launch": core, "cuLaunchKernel, arguments prepared": binding}


def in_python(executable: Executable) -> Executable:
    """The same kernel as it is launched where the C extension was not built."""
    plain = Executable(executable.module, executable.report)
    plain._fast.native.add = lambda *_: False  # type: ignore[method-assign]
    return plain


def peers(a: torch.Tensor, b: torch.Tensor, result: Result) -> dict[str, Call]:
    """Every peer that is here and does the work; what is not is remarked."""
    found: dict[str, Call] = {}

    def take(name: str, make: Callable[[], Call]) -> None:
        try:
            call = make()
            b.zero_()
            call()
            torch.cuda.synchronize()
            if not same_bits(a, b):
                raise RuntimeError("wrong result")
        except Exception as error:
            result.remark(f"{name} absent: {type(error).__name__}: {str(error)[:160]}")
        else:
            found[name] = call

    def with_cupy() -> Call:
        import cupy

        kernel = cupy.RawKernel(RAW, "copy_rows")
        x, y = cupy.from_dlpack(a), cupy.from_dlpack(b)
        return lambda: kernel((1,), (64,), (x, y))

    def with_triton() -> Call:
        from benchmarks.peers.triton_kernels import launch_copy

        return launch_copy(a, b)

    def with_numba() -> Call:
        from numba import cuda

        @cuda.jit
        def copy_rows(x, y):  # type: ignore[no-untyped-def]
            i = cuda.grid(1)
            for w in range(4):
                y[i, w] = x[i, w]

        x, y = cuda.as_cuda_array(a), cuda.as_cuda_array(b)
        configured = copy_rows[1, 64]
        return lambda: configured(x, y)

    take("cupy RawKernel", with_cupy)
    take("triton", with_triton)
    take("numba-cuda", with_numba)
    for contestant in tirx("TIRx", lambda lang: moves.dense(lang, 64, 64), (a, b), result.remark):
        take("TIRx", lambda: contestant.launch)  # noqa: B023
    take("torch copy_", lambda: lambda: b.copy_(a))
    warp = warp_kernels(result.remark)
    if warp is not None:
        take("Warp wp.launch", lambda: warp.plain_launch(a, b))
        take("Warp recorded command", lambda: warp.rows(a, b, 64))
    return found


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    require_gpu()
    rounds = 3 if quick else 9
    a = random_bits((64, 4))
    b = torch.zeros_like(a)
    executable = ptxspec.compile(moves.dense(T, 64, 64), target="cuda")
    python = in_python(executable)
    ours: dict[str, Call] = {}
    if available() is None:
        result.remark("the C extension was not built: all figures are those of the Python path")
    ours["exe(a, b), torch tensors"] = lambda: executable(a, b)
    ours["prepared(), torch tensors"] = executable.bind(a, b)
    ours["exe(a, b), torch tensors, without the C extension"] = lambda: python(a, b)
    try:
        import cupy

        x, y = cupy.from_dlpack(a), cupy.from_dlpack(b)
        ours["exe(a, b), cupy arrays"] = lambda: executable(x, y)
        ours["prepared(), cupy arrays"] = executable.bind(x, y)
    except ImportError:
        result.remark("cupy absent")
    for name, call in ours.items():
        b.zero_()
        call()
        torch.cuda.synchronize()
        if not same_bits(a, b):
            raise RuntimeError(f"wrong result: {name}")
    others = peers(a, b, result)
    try:
        others |= raw_launches(executable.cubin, executable.module.entry, a, b)
    except Exception as error:
        result.remark(f"raw launches absent: {type(error).__name__}: {str(error)[:160]}")
    times = host_us(ours | others, rounds)
    against = sorted((name for name in others), key=times.__getitem__)
    for mine in ours:
        for name in against:
            if mine in ("exe(a, b), torch tensors", "prepared(), torch tensors") or name in ("cupy RawKernel", "TIRx"):
                result.add(mine, times[mine], "us", against=name, other=times[name], note=NOTES.get(name, ""))
