"""Random proved kernels: the GPU and the simulator give the same bytes, also where nothing is written."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import numpy as np
import pytest
from gpu_families import FAMILIES
from gpu_random import RandomKernel, make
from lang_cases import items
from loading import written

import ptxspec

ITEMS = items()

COUNT = int(os.environ.get("PTXSPEC_RANDOM_KERNELS", "300"))


def compiled(kernel: RandomKernel, place: Path, target: str) -> ptxspec.backend.executable.Executable | None:
    """The executable, or ``None`` when the kernel is not proved."""
    try:
        return ptxspec.compile(written(place, kernel.source).kernel, target=target)
    except ptxspec.ProofError:
        return None


def arrays(kernel: RandomKernel) -> list[object]:
    """Random input, and output in a pattern that shows what is not written."""
    random = np.random.default_rng()
    size = np.dtype(kernel.bits).itemsize
    return [random.integers(0, 256, rows * kernel.lanes * size, dtype=np.uint8).view(kernel.bits)
            .reshape(rows, kernel.lanes) for rows in (kernel.rows_in, kernel.rows_out)]


def typed(array: object, dtype: str) -> object:
    """Raw bits under the element type that the kernel wants, where NumPy has it."""
    assert isinstance(array, np.ndarray)
    if dtype == "bool":
        return (array & 1).view(bool)
    return array if dtype.startswith(("bfloat", "float8", "bits")) else array.view(dtype)


def copied(arguments: list[object]) -> list[object]:
    """The same arguments in memory of their own, the bytes between their elements included."""
    return [twin(a) if isinstance(a, np.ndarray) else a for a in arguments]


def twin(array: np.ndarray) -> np.ndarray:
    """The array elsewhere, with its strides and its alignment."""
    low, high = np.lib.array_utils.byte_bounds(array) if array.size else (array.ctypes.data, array.ctypes.data)
    raw = np.zeros(high - low + 256, np.uint8)
    start = (low - raw.ctypes.data) % 256
    raw[start : start + high - low] = np.ctypeslib.as_array((ctypes.c_uint8 * (high - low)).from_address(low))
    return np.ndarray(array.shape, array.dtype, raw, start + array.ctypes.data - low, array.strides)


def differing(executable: ptxspec.backend.executable.Executable, arguments: list[object]) -> list[str]:
    """The arguments that are not the same, bit for bit, after a run here and one there."""
    here, there = copied(arguments), copied(arguments)
    executable(*here, device="sim")
    executable(*there, device="cuda")
    return [p.name for p, a, b in zip(executable.kernel.params, here, there, strict=True)
            if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.tobytes() != b.tobytes()]


def test_the_generator_makes_provable_kernels(tmp_path):
    refused = [seed for seed in range(40) if compiled(make(seed), tmp_path / f"k{seed}.py", "sim") is None]
    assert len(refused) <= 2, refused


@pytest.mark.parametrize("family", FAMILIES)
def test_every_kernel_of_a_family_is_proved_and_assembles(family):
    make_case, _ = FAMILIES[family]
    for seed in range(5):
        case = make_case(seed)
        executable = ptxspec.compile(case.kernel, target="sm_90")
        assert executable.cubin
        executable(*case.arguments, device="sim")


@pytest.mark.parametrize("name", ITEMS)
def test_copies_of_arguments_lie_as_they_do(name):
    case = ITEMS[name](np.random.default_rng(11))
    for old, new in zip(case.arguments, copied(case.arguments), strict=True):
        if isinstance(old, np.ndarray):
            assert (new.strides, new.tobytes()) == (old.strides, old.tobytes())
            assert not np.shares_memory(old, new)


@pytest.mark.gpu
def test_moves_agree(tmp_path):
    run, wrong = 0, []
    for seed in range(COUNT):
        kernel = make(seed)
        executable = compiled(kernel, tmp_path / f"k{seed}.py", "cuda")
        if executable is None:
            continue
        dtype = executable.kernel.params[0].dtype
        found = differing(executable, [typed(a, dtype) for a in arrays(kernel)])
        wrong += [(seed, dtype, found)] if found else []
        run += 1
    assert wrong == []
    assert run >= COUNT * 0.8


@pytest.mark.gpu
@pytest.mark.parametrize("family", FAMILIES)
def test_families_agree(family):
    make_case, count = FAMILIES[family]
    wrong = []
    for seed in range(count):
        case = make_case(seed)
        found = differing(ptxspec.compile(case.kernel, target="cuda"), case.arguments)
        wrong += [(seed, found)] if found else []
    assert wrong == []


@pytest.mark.gpu
@pytest.mark.parametrize("name", ITEMS)
def test_every_item_of_the_language_agrees(name):
    case = ITEMS[name](np.random.default_rng(11))
    arguments = copied(case.arguments)
    assert differing(ptxspec.compile(case.kernel, target="cuda"), case.arguments) == []
    ptxspec.compile(case.kernel, target="cuda")(*arguments, device="cuda")
    for k, expected in case.expected.items():
        np.testing.assert_array_equal(arguments[k], expected)
