"""On a real device: load, launch, copy, streams, faults. Skipped, and counted, where there is none."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from ptxspec.backend.device import (
    DeviceBuffer,
    LaunchShape,
    PreparedLaunch,
    device_info,
    load_module,
    occupancy,
    synchronize,
)

from ptxspec.diagnostics import LaunchError

pytestmark = pytest.mark.gpu

PTX = """\
.version 7.8
.target sm_75
.address_size 64
.visible .entry add(.param .u64 out, .param .u64 in, .param .u32 n, .param .f32 value)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [value];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd2, %rd3;
    add.s64 %rd5, %rd1, %rd3;
    ld.global.f32 %f2, [%rd4];
    add.f32 %f3, %f2, %f1;
    st.global.f32 [%rd5], %f3;
DONE:
    ret;
}
"""
TYPES = ("pointer", "pointer", "uint32", "float32")


def run(code: bytes | str, n: int = 1000, stream: object = None) -> np.ndarray:
    data = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    out = np.zeros_like(data)
    with DeviceBuffer(data.nbytes) as source, DeviceBuffer(data.nbytes) as target:
        source.copy_in(data)
        launch = PreparedLaunch(load_module(code).kernel("add"), LaunchShape.of((n + 127) // 128, 128), TYPES)
        launch((target.pointer, source.pointer, n, 2.5), stream)
        target.copy_out(out, stream)
    assert np.array_equal(out, data + np.float32(2.5))
    return out


def test_ptx_and_cubin_give_the_same() -> None:
    from ptxspec.backend.assemble import assemble

    info = device_info()
    assert info.target.startswith("sm_")
    assert info.max_threads >= 1024
    assert np.array_equal(run(PTX), run(assemble(PTX, info.target).bytes))


def test_from_another_thread() -> None:
    seen: list[np.ndarray] = []
    worker = threading.Thread(target=lambda: seen.append(run(PTX)))
    worker.start()
    worker.join()
    assert len(seen) == 1


def test_occupancy_is_asked() -> None:
    assert occupancy(load_module(PTX).kernel("add"), 128) >= 1


def test_missing_kernel_and_foreign_cubin() -> None:
    with pytest.raises(LaunchError) as caught:
        load_module(PTX).kernel("subtract")
    assert caught.value.code == "R105"
    with pytest.raises(LaunchError) as caught:
        load_module(b"\x7fELF" + b"\0" * 200).kernel("add")
    assert caught.value.code in ("R104", "R105")


def test_a_fault_is_told_with_its_code() -> None:
    # In a process of its own: after a fault the context is lost.
    code = f"""
from ptxspec.backend.device import *
from ptxspec.diagnostics import LaunchError
launch = PreparedLaunch(load_module({PTX!r}).kernel("add"), LaunchShape.of(1, 32), {TYPES!r})
launch((8, 8, 32, 1.0))
try:
    synchronize()
except LaunchError as error:
    print(error.code)
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "R102", done.stderr


def test_torch_stream_and_tensors() -> None:
    torch = pytest.importorskip("torch")
    from ptxspec.backend.arrays import describe

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        data = torch.randn(1000, device="cuda")
        out = torch.empty_like(data)
        launch = PreparedLaunch(load_module(PTX).kernel("add"), LaunchShape.of(8, 128), TYPES)
        launch((describe(out).pointer, describe(data).pointer, 1000, 2.5), stream)
        synchronize(stream)
    assert torch.equal(out, data + 2.5)
    assert describe(data).device == "cuda:0"


def test_cupy_arrays() -> None:
    cupy = pytest.importorskip("cupy")
    from ptxspec.backend.arrays import describe

    data = cupy.arange(1000, dtype=cupy.float32)[::2]
    view = describe(data)
    assert (view.pointer, view.strides, view.dtype) == (data.data.ptr, (8,), "float32")
    out = cupy.zeros(500, cupy.float32)
    source = cupy.ascontiguousarray(data)
    launch = PreparedLaunch(load_module(PTX).kernel("add"), LaunchShape.of(4, 128), TYPES)
    launch((describe(out).pointer, describe(source).pointer, 500, 1.0))
    synchronize()
    assert bool((out == data + 1).all())
