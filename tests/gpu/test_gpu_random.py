"""Random proved kernels: the GPU and the simulator give the same bytes, also where nothing is written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from gpu_arrays import load
from gpu_random import RandomKernel, make

import ptxspec

COUNT = int(os.environ.get("PTXSPEC_RANDOM_KERNELS", "300"))


def compiled(kernel: RandomKernel, place: Path, target: str) -> object | None:
    """The executable, or ``None`` when the kernel is not proved."""
    place.write_text(kernel.source)
    try:
        return ptxspec.compile(load(place).kernel, target=target)
    except ptxspec.ProofError:
        return None


def arrays(kernel: RandomKernel) -> tuple[np.ndarray, np.ndarray]:
    """Random input, and output in a pattern that shows what is not written."""
    random = np.random.default_rng()
    size = np.dtype(kernel.bits).itemsize
    raw = random.integers(0, 256, (2, max(kernel.rows_in, kernel.rows_out) * kernel.lanes * size), dtype=np.uint8)
    a = raw[0, : kernel.rows_in * kernel.lanes * size].copy().view(kernel.bits).reshape(kernel.rows_in, kernel.lanes)
    b = raw[1, : kernel.rows_out * kernel.lanes * size].copy().view(kernel.bits).reshape(kernel.rows_out, kernel.lanes)
    return a, b


def typed(array: np.ndarray, executable: object) -> np.ndarray:
    """The raw array under the element type that the kernel wants, where NumPy has it."""
    dtype = executable.kernel.params[0].dtype  # type: ignore[attr-defined]
    return array.view(dtype) if dtype != "bfloat16" else array.view(pytest.importorskip("ml_dtypes").bfloat16)


def test_the_generator_makes_provable_kernels(tmp_path):
    refused = [seed for seed in range(40) if compiled(make(seed), tmp_path / f"k{seed}.py", "sim") is None]
    assert len(refused) <= 2, refused


@pytest.mark.gpu
def test_gpu_and_simulator_agree(tmp_path):
    torch = pytest.importorskip("torch")
    run, differing = 0, []
    for seed in range(COUNT):
        kernel = make(seed)
        executable = compiled(kernel, tmp_path / f"k{seed}.py", "cuda")
        if executable is None or executable.kernel.params[0].dtype == "bfloat16":
            continue
        a, b = arrays(kernel)
        expected = b.copy()
        executable(typed(a, executable), typed(expected, executable))
        # Bits travel as signed integers of the size, which torch has for every size, and are viewed as the type there.
        there = [torch.from_numpy(x.view(f"int{8 * x.itemsize}")).cuda() for x in (a, b)]
        wanted = getattr(torch, str(executable.kernel.params[0].dtype))
        executable(*(x.view(wanted) for x in there))
        torch.cuda.synchronize()
        if not np.array_equal(there[1].cpu().numpy().view(kernel.bits), expected):
            differing.append(seed)
        run += 1
    assert differing == []
    assert run >= COUNT * 0.8
