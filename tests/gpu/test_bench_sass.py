"""Machine code by the real assembler: intended widths, immediate offsets, no local memory, few registers."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from benchmarks.emission import KERNELS, code_of, equivalents
from ptxspec.backend.assemble import Cubin, assemble, default_toolchain, disassembler
from ptxspec.backend.executable import Executable

import ptxspec
from ptxspec.diagnostics import AssembleError

pytestmark = pytest.mark.skipif(not disassembler(), reason="no disassembler on this machine")

#: Memory instructions by width, and those of them that add a constant to their register.
EXPECTED: dict[str, tuple[dict[str, int], int]] = {
    "dense": ({"LDG.128": 1, "STG.128": 1}, 0),
    "dense_four": ({"LDG.128": 4, "STG.128": 4}, 6),
    "elements": ({"LDG.U8": 1, "STG.U8": 1}, 0),
    "widened": ({"LDG.128": 1, "STG.128": 1}, 0),
    "scaled": ({"LDG.128": 1, "STG.128": 1}, 0),
    "bytewise": ({"LDG.128": 1, "STG.128": 1}, 0),
    "rows": ({"LDG.128": 1, "STG.128": 1}, 0),
    "exchange": ({"LDG.128": 1, "STS.128": 1, "LDS.128": 1, "STG.128": 1}, 0),
    "transpose": ({"LDG.128": 4, "STS": 16, "LDS.128": 4, "STG.128": 4}, 18),
    "strided": ({"LDG.128": 105, "STG.128": 105}, 200),
}


@cache
def ours(name: str) -> Executable:
    make, = (make for _, other, make in KERNELS if other == name)
    return ptxspec.compile(make(), "sm_90")  # type: ignore[arg-type]


@cache
def theirs() -> Cubin | None:
    """The CUDA kernels for the same work, None without an nvcc whose PTX the assembler here reads."""
    text = equivalents()
    try:
        return None if text is None else assemble(text, "sm_90", using=default_toolchain())
    except AssembleError:
        return None


def test_every_kernel_is_listed() -> None:
    assert set(EXPECTED) == {name for _, name, _ in KERNELS}


@pytest.mark.parametrize("name", EXPECTED)
def test_memory_instructions(name: str) -> None:
    executable = ours(name)
    resources = executable.assembled.resources[0]
    code = code_of(executable.cubin, resources.entry)
    kinds, offsets = EXPECTED[name]
    assert code.kinds == Counter(kinds)
    assert code.offsets >= offsets
    assert resources.spill_stores == resources.spill_loads == resources.stack == 0


@pytest.mark.parametrize("name", EXPECTED)
def test_no_more_registers_than_nvcc(name: str) -> None:
    cuda = theirs()
    if cuda is None:
        pytest.skip("no nvcc of the assembler's release")
    other, = (r for r in cuda.resources if r.entry == name)
    assert ours(name).assembled.resources[0].registers <= other.registers


def test_text_does_not_depend_on_what_was_traced_before() -> None:
    make, = (make for _, name, make in KERNELS if name == "transpose")
    texts = set()
    for number in range(4):
        texts.add(ptxspec.compile(make(), "sm_90").ptx)  # type: ignore[arg-type]
        for _ in range(5 * number):
            next(make for _, name, make in KERNELS if name == "exchange")().kernel()  # type: ignore[attr-defined]
    assert len(texts) == 1
