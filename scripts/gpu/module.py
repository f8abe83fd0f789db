"""One PTX module out of many cases, and the two ways to run it: the GPU and the simulator."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpu.cases import PTX, SLOT, SM, Case

ENTRY = "conformance"
GRID, BLOCK = (2, 1, 1), (4, 4, 2)
THREADS = 64
BLOB = 128
STRIDE = SLOT * THREADS                # bytes of output a case
INPUT = THREADS * 256 + 4096 + 64

Bytes = NDArray[np.uint8]

_HEAD = """.version {version}
.target {sm}
.address_size 64
.const .align 32 .b8 co_var[128] = {{{constants}}};
.visible .entry {entry}(
    .param .u64 input,
    .param .u64 output,
    .param .align 32 .b8 blob[{blob}]
)
{{
    .reg .pred %odd, %p, %q;
    .reg .b32 %sh, %lin, %w, %laneid_value, %t<4>;
    .reg .b64 %in, %out, %gsh, %glo, %lo_at, %co, %pol, %lo, %hi, %off;
    .shared .align 32 .b8 sh_var[2048];
    .local .align 32 .b8 lo_var[64];
    mov.u32 %t0, %tid.x;
    mov.u32 %t1, %tid.y;
    mad.lo.u32 %t0, %t1, 4, %t0;
    mov.u32 %t1, %tid.z;
    mad.lo.u32 %t0, %t1, 16, %t0;
    mov.u32 %laneid_value, %t0;
    mov.u32 %t1, %ctaid.x;
    mad.lo.u32 %lin, %t1, 32, %t0;
    and.b32 %t2, %lin, 1;
    setp.eq.u32 %odd, %t2, 1;
    ld.param.u64 %in, [input];
    ld.param.u64 %out, [output];
    mul.wide.u32 %off, %lin, 256;
    add.u64 %in, %in, %off;
    mul.wide.u32 %off, %lin, {slot};
    add.u64 %out, %out, %off;
    mov.u32 %sh, sh_var;
    mad.lo.u32 %sh, %t0, 64, %sh;
    cvt.u64.u32 %off, %sh;
    cvta.shared.u64 %gsh, %off;
    mov.u64 %lo_at, lo_var;
    cvta.local.u64 %glo, %lo_at;
    mov.u64 %co, co_var;
    add.u64 %co, %co, 64;
"""


def text(cases: Sequence[Case], constants: bytes) -> str:
    """The module. Case ``k`` owns output bytes ``[k * STRIDE, (k + 1) * STRIDE)``."""
    out = [_HEAD.format(version=PTX, sm=SM, entry=ENTRY, slot=SLOT, blob=BLOB,
                        constants=", ".join(str(b) for b in constants))]
    # Areas that a first case may read must hold something.
    for k in range(0, 64, 8):
        out.append(f"    ld.global.b64 %lo, [%in+{k}];\n")
        out.append(f"    st.shared.b64 [%sh+{k}], %lo;\n    st.local.b64 [%lo_at+{k}], %lo;\n")
    for number, case in enumerate(cases):
        out.append("    {\n")
        for line in case.lines:
            line = line.replace("$O", str(number * STRIDE)).replace("$I", str(number * 32 % 2048))
            out.append(f"        {line}\n")
        out.append("    }\n")
    out.append("    ret;\n}\n")
    return "".join(out)


def simulated(ptx: str, count: int, given: Bytes, blob: bytes, poison: Bytes) -> Bytes:
    """The output bytes by the simulator; raises its fault."""
    from ptxspec.backend.simulate import PointerArgument, ScalarArgument, simulate

    out = poison[: count * STRIDE].copy()
    arguments = [PointerArgument(given, "input", residue=0), PointerArgument(out, "output", residue=0),
                 ScalarArgument(blob, "b8", "blob")]
    simulate(ptx, ENTRY, GRID, BLOCK, arguments)
    return out


def on_gpu(cubin: bytes, count: int, given: Bytes, blob: bytes, poison: Bytes) -> Bytes:
    """The output bytes by the GPU; a fault of the kernel raises and spoils this process's context."""
    from cuda.bindings import driver
    from ptxspec.backend.device import DeviceBuffer, load_module

    kernel = load_module(cubin).kernel(ENTRY)
    out = poison[: count * STRIDE].copy()
    with DeviceBuffer(given.nbytes) as there, DeviceBuffer(out.nbytes) as back:
        there.copy_in(given)
        back.copy_in(out)
        pointers = [ctypes.c_uint64(there.pointer), ctypes.c_uint64(back.pointer)]
        values = [*pointers, ctypes.create_string_buffer(blob, BLOB)]
        places = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))
        handle = driver.CUfunction(kernel.handle)
        (status,) = driver.cuLaunchKernel(handle, *GRID, *BLOCK, 0, 0, ctypes.addressof(places), 0)
        if int(status):
            raise RuntimeError(f"cuLaunchKernel: {status}")
        back.copy_out(out)
    return out
