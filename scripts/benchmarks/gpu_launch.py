"""Host time of a launch: one call, two arrays, a kernel of a single block."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

import ptxspec
from benchmarks.contestants import tirx, warp_kernels
from benchmarks.kernels import moves
from benchmarks.race import random_bits, require_gpu, same_bits
from benchmarks.record import Result
from ptxspec import T

TITLE = "Host time of a launch"
METHOD = (
    "Microseconds of host time for one call that enqueues a one-block copy of 64 rows of 16 bytes: medians of nine "
    "rounds of 300 calls, the queue drained between rounds and outside the timing, garbage collection as the user has "
    "it. `exe(a, b)` includes every check that the proofs rest on (count, rank, dtype, shape, strides, device, "
    "alignment, aliasing, assumptions); the raw launches check nothing."
)

RAW = r"""
extern "C" __global__ void copy_rows(const float4* a, float4* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = a[i];
}
"""


def host_us(call: Callable[[], object], rounds: int, calls: int = 300) -> float:
    """Median microseconds of one call."""
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - begun) / calls * 1e6)
        torch.cuda.synchronize()
    return statistics.median(times)


def raw_launches(cubin: bytes, name: str, a: torch.Tensor, b: torch.Tensor) -> dict[str, Callable[[], object]]:
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


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    require_gpu()
    rounds = 3 if quick else 9
    a = random_bits((64, 4))
    b = torch.zeros_like(a)
    executable = ptxspec.compile(moves.dense(T, 64, 64), target="cuda")
    executable(a, b)
    torch.cuda.synchronize()
    if not same_bits(a, b):
        raise RuntimeError("wrong result")
    others: dict[str, float] = {}

    def time_peer(name: str, make: Callable[[], Callable[[], object]]) -> None:
        try:
            others[name] = host_us(make(), rounds)
        except Exception as error:
            result.remark(f"{name} absent: {type(error).__name__}: {str(error)[:160]}")

    try:
        for name, call in raw_launches(executable.cubin, executable.module.entry, a, b).items():
            time_peer(name, lambda call=call: call)
    except Exception as error:
        result.remark(f"raw launches absent: {type(error).__name__}: {str(error)[:160]}")

    def with_cupy() -> Callable[[], object]:
        import cupy

        kernel = cupy.RawKernel(RAW, "copy_rows")
        x, y = cupy.from_dlpack(a), cupy.from_dlpack(b)
        return lambda: kernel((1,), (64,), (x, y))

    def with_triton() -> Callable[[], object]:
        from benchmarks.peers.triton_kernels import launch_copy

        return launch_copy(a, b)

    def with_numba() -> Callable[[], object]:
        from numba import cuda

        @cuda.jit
        def copy_rows(x, y):  # type: ignore[no-untyped-def]
            i = cuda.grid(1)
            for w in range(4):
                y[i, w] = x[i, w]

        x, y = cuda.as_cuda_array(a), cuda.as_cuda_array(b)
        configured = copy_rows[1, 64]
        return lambda: configured(x, y)

    time_peer("cupy RawKernel", with_cupy)
    time_peer("triton", with_triton)
    time_peer("numba-cuda", with_numba)
    for contestant in tirx("TIRx", lambda lang: moves.dense(lang, 64, 64), (a, b), result.remark):
        time_peer("TIRx", lambda: contestant.launch)  # noqa: B023
    time_peer("torch copy_", lambda: lambda: b.copy_(a))
    warp = warp_kernels(result.remark)
    if warp is not None:
        time_peer("Warp wp.launch", lambda: warp.plain_launch(a, b))
        time_peer("Warp recorded command", lambda: warp.rows(a, b, 64))
    mine = host_us(lambda: executable(a, b), rounds)
    for name, us in sorted(others.items(), key=lambda item: item[1]):
        result.add("exe(a, b), torch tensors", mine, "us", against=name, other=us)
    try:
        import cupy

        x, y = cupy.from_dlpack(a), cupy.from_dlpack(b)
        result.add("exe(a, b), cupy arrays", host_us(lambda: executable(x, y), rounds), "us", against="cupy RawKernel",
                   other=others.get("cupy RawKernel"))
    except ImportError:
        result.remark("cupy absent")
