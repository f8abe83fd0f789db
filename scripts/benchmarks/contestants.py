"""Makes contestants: our kernels, plain copies of the driver and torch, and the peers that are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType

import torch
from cuda.bindings import driver

import ptxspec
from benchmarks.race import Contestant, Median
from benchmarks.record import Result

Remark = Callable[[str], None]


def ours(name: str, make: Callable[[], object], arrays: tuple[object, ...], remark: Remark) -> list[Contestant]:
    """A kernel of ours, proved and compiled here; empty with a remark when it is refused."""
    try:
        executable = ptxspec.compile(make(), target="cuda")
    except Exception as error:
        remark(f"{name} not compiled: {type(error).__name__}: {str(error)[:400]}")
        return []
    return [Contestant(name, lambda: executable(*arrays), ours=True)]


def memcpy(destination: torch.Tensor, source: torch.Tensor) -> Contestant:
    """Device-to-device copy by the driver (what cudaMemcpy calls)."""
    to, start, size = destination.data_ptr(), source.data_ptr(), source.numel() * source.element_size()

    def launch() -> None:
        (status,) = driver.cuMemcpyDtoDAsync(to, start, size, 0)
        assert int(status) == 0, status

    return Contestant("cudaMemcpy", launch)


def memcpy_2d(destination: torch.Tensor, source: torch.Tensor, width: int, pitch: int, rows: int) -> Contestant:
    """Copy of ``rows`` rows of ``width`` bytes, ``pitch`` bytes apart in the source, to a dense destination."""
    copy = driver.CUDA_MEMCPY2D()
    copy.srcMemoryType = copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    copy.srcDevice, copy.dstDevice = source.data_ptr(), destination.data_ptr()
    copy.srcPitch, copy.dstPitch = pitch, width
    copy.WidthInBytes, copy.Height = width, rows

    def launch() -> None:
        (status,) = driver.cuMemcpy2DAsync(copy, 0)
        assert int(status) == 0, status

    return Contestant("cudaMemcpy2D", launch)


def torch_copy(destination: torch.Tensor, source: torch.Tensor, name: str = "torch copy_") -> Contestant:
    """``destination.copy_(source)``."""
    return Contestant(name, lambda: destination.copy_(source))


def tirx(name: str, make: Callable[..., object], arrays: tuple[torch.Tensor, ...], remark: Remark) -> list[Contestant]:
    """The same kernel source compiled by TIRx; ``make`` takes its language namespace. Empty where it is absent."""
    try:
        import tvm_tirx
        from tvm_tirx.script import tirx as language
    except ImportError:
        return []
    try:
        major, minor = torch.cuda.get_device_capability()
        target = {"kind": "cuda", "arch": f"sm_{major}{minor}"}
        main = tvm_tirx.tirx.compile(make(language), target=target).jit().main
    except Exception as error:
        remark(f"{name} not compiled: {type(error).__name__}: {str(error)[-300:]}")
        return []
    return [Contestant(name, lambda: main(*arrays))]


def warp_kernels(remark: Remark) -> ModuleType | None:
    """The module of Warp kernels, or ``None`` with a remark where Warp is not installed or sees no GPU."""
    try:
        import warp

        warp.config.quiet = True
        warp.init()
        if not warp.is_cuda_available():
            raise RuntimeError("Warp sees no CUDA device")
        from benchmarks.peers import warp_kernels as module
    except Exception as error:
        remark(f"Warp absent: {type(error).__name__}: {str(error)[:200]}")
        return None
    return module


def peer_kernels(name: str, remark: Remark) -> ModuleType | None:
    """The module of kernels ``triton_kernels`` or ``by_hand``; ``None`` with a remark where what it needs is absent."""
    try:
        return import_module(f"benchmarks.peers.{name}")
    except ImportError as error:
        remark(f"{name} absent: {error}")
        return None


def gigabytes(ms: float, moved: int) -> float:
    """GB/s for ``moved`` bytes, read and written together, in ``ms`` milliseconds."""
    return moved / ms / 1e6


def versus(result: Result, words: str, times: Mapping[str, Median], best: str, other: str, moved: int) -> None:
    """A row: our ``best`` against ``other``, both among ``times``, with the spread of either; none where one lacks."""
    if best and other:
        own, theirs = times[best], times[other]
        result.add(f"{words} ({best})", gigabytes(own, moved), "GB/s", against=other, other=gigabytes(theirs, moved),
                   lower=False, note=f"spread {own.spread:.2%}, {theirs.spread:.2%}")
