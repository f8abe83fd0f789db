"""What the prover refuses really goes wrong: refuted kernels, emitted past the prover, on the hardware.

A fault spoils its process, so those kernels run in one of their own. Accesses just outside an array fault nowhere:
there the array lies between bytes that nobody owns, and the bytes that the counterexample names are looked at. What
neither shows, compute-sanitizer does, on machines that let it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from math import prod
from pathlib import Path

import numpy as np
import pytest
import refuted_kernels

import ptxspec

KERNELS = Path(refuted_kernels.__file__)

CHILD = '''
import importlib.util, sys
from math import prod
import numpy as np
from ptxspec.backend.assemble import assemble
from ptxspec.backend.device import DeviceBuffer, LaunchShape, PreparedLaunch, load_module, synchronize
from ptxspec.backend.emit import emit

spec = importlib.util.spec_from_file_location("kernels", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
kernel = getattr(module, sys.argv[2]).kernel()
emitted = emit(kernel, "sm_90")
sizes = [prod(e.const for e in p.shape) * (8 if p.dtype == "float64" else 4) for p in kernel.params]
# B first: what lies behind A must not be an allocation, or the checker has nothing to complain of.
b, a = DeviceBuffer(sizes[1]), DeviceBuffer(sizes[0])
a.copy_in(np.random.default_rng(1).integers(0, 100, sizes[0] // 4).astype(np.float32))
launch = PreparedLaunch(load_module(assemble(emitted.ptx, "sm_90").data).kernel(emitted.entry),
                        LaunchShape.of(1, kernel.launch.block), ["pointer", "pointer"])
launch([a.pointer, b.pointer])
synchronize()
print("no fault")
'''

#: Kernel, the code it is refused with, words of which the driver's complaint has one.
FAULTS = {
    "misaligned_load": ("P101", ("misaligned",)), "misaligned_store": ("P101", ("misaligned",)),
    "misaligned_shared": ("P101", ("misaligned",)), "misaligned_view": ("P101", ("misaligned",)),
    "far_past_the_end": ("P103", ("illegal", "launch")), "past_shared_memory": ("P103", ("illegal", "launch")),
}
#: Kernel, its code, and the bytes of B outside of B that it writes.
OUTSIDE = {
    "write_past_the_end": ("P103", range(256, 260)), "write_before_the_start": ("P103", range(-8, 0)),
    "row_of_a_view": ("P103", range(1024, 1040)),
    "larger_than_its_storage": ("P103", [b for k in (65, 70, 75) for b in range(4 * k, 4 * k + 4)]),
    "guarded_by_the_wrong_bound": ("P103", range(400, 404)),
}
OTHERS = {"past_the_end": "P103", "lost_updates": "P107", "no_barrier": "P107"}
CODES = {name: code for name, (code, _) in (FAULTS | OUTSIDE).items()} | OTHERS
BAND = 4096


def refuted(name: str) -> ptxspec.proof.ProofReport:
    """The report, which refuses the kernel with its code and nothing else."""
    report = ptxspec.prove(getattr(refuted_kernels, name), sm="sm_90")
    assert report.verdict == "refuted"
    assert {o.explain for o in report.obligations if o.verdict == "refuted"} == {CODES[name]}
    return report


@pytest.mark.parametrize("name", CODES)
def test_they_are_refused(name):
    refuted(name)


@pytest.mark.parametrize("name", OUTSIDE)
def test_the_counterexample_names_a_byte_outside(name):
    examples = [o.counterexample for o in refuted(name).obligations if o.verdict == "refuted"]
    assert {e.array for e in examples} == {"B"}
    assert {e.byte for e in examples} <= set(OUTSIDE[name][1])


def child(name: str, *before: str) -> subprocess.CompletedProcess[str]:
    """Run one past the prover, in a process of its own."""
    command = [*before, sys.executable, "-P", "-c", CHILD, str(KERNELS), name]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.gpu
@pytest.mark.parametrize("name", FAULTS)
def test_the_hardware_faults(name):
    done = child(name)
    assert done.returncode != 0, done.stdout
    assert any(word in done.stderr.lower() for word in FAULTS[name][1]), done.stderr[-2000:]


def launched(name: str, given: np.ndarray, surrounded: np.ndarray) -> np.ndarray:
    """``surrounded`` after a launch with ``B`` in its middle: a band of bytes on either side is nobody's."""
    from ptxspec.backend.assemble import assemble
    from ptxspec.backend.device import DeviceBuffer, LaunchShape, PreparedLaunch, load_module, synchronize
    from ptxspec.backend.emit import emit
    kernel = getattr(refuted_kernels, name).kernel()
    emitted = emit(kernel, "sm_90")
    grid = tuple(int(e.value) for e in kernel.launch.grid)
    after = surrounded.copy()
    with DeviceBuffer(given.nbytes) as a, DeviceBuffer(surrounded.nbytes) as b:
        a.copy_in(given)
        b.copy_in(surrounded)
        function = load_module(assemble(emitted.ptx, "sm_90").data).kernel(emitted.entry)
        launch = PreparedLaunch(function, LaunchShape.of(grid, kernel.launch.block), ["pointer", "pointer"])
        launch([a.pointer, b.pointer + BAND])
        synchronize()
        b.copy_out(after)
    return after


@pytest.mark.gpu
@pytest.mark.parametrize("name", OUTSIDE)
def test_bytes_outside_are_written_where_the_counterexample_says(name):
    kernel = getattr(refuted_kernels, name).kernel()
    sizes = [4 * prod(e.const for e in p.shape) for p in kernel.params]
    given = np.random.default_rng(1).integers(1, 100, sizes[0] // 4).astype(np.float32)
    before = np.full(2 * BAND + sizes[1], 0xA5, np.uint8)
    after = launched(name, given, before)
    # By words: a byte of a new word may be what it was before.
    changed = set((np.flatnonzero(after != before) - BAND) // 4 * 4)
    outside = {b for b in changed if not 0 <= b < sizes[1]}
    assert outside == {b // 4 * 4 for b in OUTSIDE[name][1]}


@pytest.mark.gpu
def test_updates_are_lost():
    before = np.zeros(2 * BAND + 4, np.uint8)
    after = launched("lost_updates", np.ones(1, np.int32), before)
    assert 0 < int(after[BAND : BAND + 4].view(np.int32)[0]) < 64 * 256


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "tool", "words"),
    [("past_the_end", "memcheck", "Invalid __global__ read of size 16 bytes"),
     ("write_past_the_end", "memcheck", "Invalid __global__ write of size 4 bytes"),
     ("no_barrier", "racecheck", "hazard")],
)
def test_the_sanitizer_sees_the_rest(name, tool, words):
    sanitizer = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
    if sanitizer is None:
        pytest.skip("compute-sanitizer is not installed")
    done = child(name, sanitizer, "--tool", tool, "--error-exitcode", "9")
    if "Device not supported" in done.stdout + done.stderr:
        pytest.skip("compute-sanitizer does not support this machine")
    assert done.returncode == 9, done.stdout[-2000:] + done.stderr[-2000:]
    assert words in done.stdout
