"""What the prover refuses really goes wrong: refuted kernels, emitted past the prover, fault on the hardware.

Each runs in a process of its own, since a fault spoils the process's context. compute-sanitizer, where it is installed,
sees the accesses that the hardware alone would let pass.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from gpu_arrays import load

import ptxspec

KERNELS = '''
from ptxspec import T


@T.function
def misaligned(A: T.Tensor((257,), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid * 4 + 1 : tid * 4 + 5])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)


@T.function
def past_the_end(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((64, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid + 1, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)


@T.function
def no_barrier(A: T.Tensor((256, 4), "float32", align=16), B: T.Tensor((256, 4), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=256))
    tid = T.cuda.thread_idx("x")
    registers = T.alloc_local((4,), "float32", layout="default")
    shared = T.alloc_shared((256, 4), "float32", align=16)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :])
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
    T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], registers, shared.sub[(tid + 1) % 256, :])
    T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[tid, :], registers)
'''

CHILD = '''
import importlib.util, sys
import numpy as np
from ptxspec.backend.assemble import assemble
from ptxspec.backend.device import DeviceBuffer, LaunchShape, PreparedLaunch, load_module, synchronize
from ptxspec.backend.emit import emit

spec = importlib.util.spec_from_file_location("kernels", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
kernel = getattr(module, sys.argv[2]).kernel()
emitted = emit(kernel, "sm_90")
threads = kernel.launch.block[0]
given = np.random.rand(257 if sys.argv[2] == "misaligned" else 4 * threads).astype(np.float32)
# B first: what lies behind A must not be an allocation, or the checker has nothing to complain of.
b, a = DeviceBuffer(16 * threads), DeviceBuffer(given.nbytes)
a.copy_in(given)
launch = PreparedLaunch(load_module(assemble(emitted.ptx, "sm_90").data).kernel(emitted.entry),
                        LaunchShape.of(1, kernel.launch.block), ["pointer", "pointer"])
launch([a.pointer, b.pointer])
synchronize()
print("no fault")
'''

VERDICTS = {"misaligned": "P101", "past_the_end": "P103", "no_barrier": "P107"}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that holds them."""
    path = tmp_path_factory.mktemp("faults") / "refuted_kernels.py"
    path.write_text(KERNELS)
    return path


@pytest.mark.parametrize("name", VERDICTS)
def test_they_are_refused(kernels, name):
    report = ptxspec.prove(getattr(load(kernels), name), sm="sm_90")
    assert report.verdict == "refuted"
    assert VERDICTS[name] in {o.explain for o in report.obligations if o.verdict == "refuted"}


def child(kernels: Path, name: str, *before: str) -> subprocess.CompletedProcess[str]:
    """Run one past the prover."""
    command = [*before, sys.executable, "-P", "-c", CHILD, str(kernels), name]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.gpu
def test_a_misaligned_vector_faults(kernels):
    done = child(kernels, "misaligned")
    assert done.returncode != 0
    assert "misaligned" in done.stderr.lower()


@pytest.mark.gpu
@pytest.mark.parametrize(
    "name,tool,words",
    [("past_the_end", "memcheck", "Invalid __global__ read of size 16 bytes"), ("no_barrier", "racecheck", "hazard")],
)
def test_the_sanitizer_sees_the_rest(kernels, name, tool, words):
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        pytest.skip("compute-sanitizer is not installed")
    done = child(kernels, name, sanitizer, "--tool", tool, "--error-exitcode", "9")
    if "Device not supported" in done.stdout + done.stderr:
        pytest.skip("compute-sanitizer does not support this machine")
    assert done.returncode == 9, done.stdout[-2000:] + done.stderr[-2000:]
    assert words in done.stdout
