"""Quality of what is emitted, from the real assembler's output: registers, access widths, spills; beside CUDA's."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ptxspec.backend.assemble import Cubin, assemble, disassemble, find

import ptxspec
from benchmarks.kernels import moves
from benchmarks.record import Result
from ptxspec import T
from ptxspec.layout import S, TileLayout

TITLE = "Emission quality"
METHOD = (
    "Hardware registers a thread by the real assembler, ours against a CUDA kernel for the same work "
    "(`scripts/benchmarks/kernels/equivalents.cu`) put through nvcc and then the same assembler at the same level. The "
    "note lists the memory instructions of our machine code with their widths (no width: 32 bits), the number of all "
    "instructions before the final branch, and spilled bytes."
)

KERNELS: tuple[tuple[str, str, Callable[[], object]], ...] = (
    ("dense copy, one v4 a thread", "dense", lambda: moves.dense(T, 2**27, 256)),
    ("dense copy, four v4 a thread", "dense_four", lambda: moves.dense(T, 2**27, 256, 4)),
    ("one byte a thread", "elements", lambda: moves.elements(T, 2**30, 256, "uint8", 8)),
    ("bytes, 16 a thread", "widened", lambda: moves.widened(T, 2**30, 256, "uint8", 8)),
    ("strided rows", "rows", lambda: moves.rows_of(T, 2**20, 256, 320, 256)),
    ("exchange through shared memory", "exchange", lambda: moves.exchange(T, 2**21)),
    ("transpose through swizzled shared memory", "transpose", lambda: moves.transpose(T, 16384, 32768)),
    ("strided_load of the document", "strided", lambda: moves.strided(T, S, TileLayout, 15)),
)

_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")


def sass_counts(cubin: Cubin | bytes, entry: str) -> tuple[Counter[str], int]:
    """Memory instructions by name and width, and all instructions up to the last EXIT, of one entry."""
    text = disassemble(cubin)
    start = text.find(f".text.{entry}:")
    end = text.find(".section", start + 1)
    names = _INSTRUCTION.findall(text[max(start, 0) : end if end > 0 else None])
    while names and names[-1] in ("NOP", "BRA"):
        names.pop()
    kinds: Counter[str] = Counter()
    for name in names:
        parts = name.split(".")
        if parts[0] in ("LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST"):
            width = next((part for part in parts[1:] if part in ("U8", "S8", "U16", "S16", "64", "128")), "")
            kinds[f"{parts[0]}.{width}" if width else parts[0]] += 1
    return kinds, len(names)


def equivalents() -> str | None:
    """PTX of the CUDA kernels, or ``None`` without nvcc."""
    nvcc = shutil.which("nvcc")
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
    tool = find("13.0")
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
        kinds, count = sass_counts(cubin, own.entry)
        note = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())) + f"; {count} instructions"
        if own.spill_stores:
            note += f"; spills {own.spill_stores} bytes"
        other = theirs.get(name)
        if other is not None and text is not None:
            nvcc_kinds, nvcc_count = sass_counts(cuda, name)
            note += "; nvcc: " + ", ".join(f"{number} {kind}" for kind, number in sorted(nvcc_kinds.items()))
            note += f", {nvcc_count} instructions"
            if other.spill_stores:
                note += f", spills {other.spill_stores} bytes"
        result.add(words, float(own.registers), "registers", against="nvcc", note=note,
                   other=float(other.registers) if other else None, budget=float(other.registers) if other else None)
    result.remark(f"assembler of both sides: {cubin.tool.kind} {cubin.version}")
