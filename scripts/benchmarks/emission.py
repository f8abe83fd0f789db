"""Quality of what is emitted, from the real assembler's output: registers, access widths, spills; beside CUDA's."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ptxspec.backend.assemble import Cubin, assemble, default_toolchain, disassemble
from ptxspec.backend.assemble.toolchain import toolkit_files, wheel_files

import ptxspec
from benchmarks.kernels import moves
from benchmarks.record import Result
from ptxspec import T
from ptxspec.layout import S, TileLayout

TITLE = "Emission quality"
METHOD = (
    "Hardware registers a thread by the real assembler, ours against a CUDA kernel for the same work "
    "(`scripts/benchmarks/kernels/equivalents.cu`) put through nvcc and then the same assembler at the same level. The "
    "note lists the memory instructions of our machine code with their widths (no width: 32 bits), how many of them "
    "add a constant to a register's address by themselves, the number of all instructions before the final branch, "
    "and spilled bytes."
)

KERNELS: tuple[tuple[str, str, Callable[[], object]], ...] = (
    ("dense copy, one v4 a thread", "dense", lambda: moves.dense(T, 2**27, 256)),
    ("dense copy, four v4 a thread", "dense_four", lambda: moves.dense(T, 2**27, 256, 4)),
    ("one byte a thread", "elements", lambda: moves.elements(T, 2**30, 256, "uint8", 8)),
    ("bytes, 16 a thread", "widened", lambda: moves.widened(T, 2**30, 256, "uint8", 8)),
    ("four floats scaled one by one", "scaled", lambda: moves.scaled(T, 2**20, 4, "float32", 2.0)),
    ("16 bytes copied one by one", "bytewise", lambda: moves.scaled(T, 2**20, 16, "uint8")),
    ("strided rows", "rows", lambda: moves.rows_of(T, 2**20, 256, 320, 256)),
    ("exchange through shared memory", "exchange", lambda: moves.exchange(T, 2**21)),
    ("transpose through swizzled shared memory", "transpose", lambda: moves.transpose(T, 16384, 32768)),
    ("strided_load of the document", "strided", lambda: moves.strided(T, S, TileLayout, 15)),
)

_OFFSET = re.compile(r"\b(?:LD|ST)[GSL]?\.?[\w.]* [^;]*\[U?R\d+[\w.]*(?:\+U?R\d+[\w.]*)?\+0x[0-9a-f]+\]")
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


@dataclass(frozen=True)
class Code:
    """Machine code of one entry: memory instructions by name and width, those of them with a constant offset, and all
    instructions up to the last EXIT."""

    kinds: Counter[str]
    offsets: int
    instructions: int

    def __str__(self) -> str:
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(self.kinds.items()))
        return f"{kinds}; {self.offsets} constant offsets, {self.instructions} instructions"


def code_of(cubin: Cubin | bytes, entry: str) -> Code:
    """The machine code of ``entry``."""
    text = disassemble(cubin)
    start = text.find(f".text.{entry}:")
    end = text.find(".section", start + 1)
    text = text[max(start, 0) : end if end > 0 else None]
    names = _INSTRUCTION.findall(text)
    while names and names[-1] in ("NOP", "BRA"):
        names.pop()
    kinds: Counter[str] = Counter()
    for name in names:
        parts = name.split(".")
        if parts[0] in ("LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST"):
            width = next((part for part in parts[1:] if part in ("U8", "S8", "U16", "S16", "64", "128")), "")
            kinds[f"{parts[0]}.{width}" if width else parts[0]] += 1
    return Code(kinds, len(_OFFSET.findall(text)), len(names))


def equivalents() -> str | None:
    """PTX of the CUDA kernels, or ``None`` without nvcc."""
    nvcc = next((str(path) for path in (*wheel_files("nvcc"), *toolkit_files("nvcc"))), None)
    if nvcc is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "equivalents.ptx"
        source = Path(__file__).parent / "kernels" / "equivalents.cu"
        command = [nvcc, "-arch=sm_90", "-ptx", "-o", str(out), str(source)]
        done = subprocess.run(command, capture_output=True, check=False)
        return out.read_text() if done.returncode == 0 else None


def run(result: Result, quick: bool) -> None:
    """Fill ``result``."""
    tool = default_toolchain()   # as new as the PTX that nvcc writes, where both come from wheels of one release
    text = equivalents()
    theirs = {}
    if text is None:
        result.remark("nvcc absent: nothing to compare with")
    else:
        cuda = assemble(text, "sm_90", using=tool)
        theirs = {found.entry: found for found in cuda.resources}
    for words, name, make in KERNELS:
        executable = ptxspec.compile(make(), target="sm_90")
        cubin = assemble(executable.ptx, "sm_90", using=tool)
        own = cubin.resources[0]
        note = str(code_of(cubin, own.entry))
        if own.spill_stores:
            note += f"; spills {own.spill_stores} bytes"
        other = theirs.get(name)
        if other is not None and text is not None:
            note += f"; nvcc: {code_of(cuda, name)}"
            if other.spill_stores:
                note += f", spills {other.spill_stores} bytes"
        limit = float(other.registers) if other else None
        result.add(words, float(own.registers), "registers", against="nvcc", note=note,
                   other=float(other.registers) if other else None, budget=limit)
    result.remark(f"assembler of both sides: {cubin.tool.kind} {cubin.version}")
