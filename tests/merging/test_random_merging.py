"""Random kernels of element accesses: merged, not merged and plain Python leave the same bytes; merged ones prove."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest
from ptxspec.backend.emit import emit
from ptxspec.backend.executable import Executable
from ptxspec.backend.merging import expand, merged

import ptxspec
from ptxspec.lang import ir

THREADS, BLOCKS, WIDTH = 16, 2, 24
KINDS = {
    "float32": np.float32, "int32": np.int32, "uint8": np.uint8, "int16": np.int16, "float64": np.float64,
    "int8": np.int8, "uint16": np.uint16, "int64": np.int64,
}


class Writer:
    """One kernel: each thread owns ``WIDTH`` elements of A, B and C, and works on them in a random order.

    The same text runs in Python on numpy arrays, thread by thread.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.kind = self.rng.choice(list(KINDS))
        self.pitch = WIDTH + self.rng.choice([0, 0, 0, 4, 2, 1])
        self.offset = self.rng.choice([0, 0, 0, 0, 1, 2, 4])
        self.names = 0
        self.lines: list[str] = []

    def source(self) -> str:
        self.lines = [
            "from ptxspec import T", "", "", "@T.function",
            f'def k(A: T.Tensor((512, {self.pitch}), "{self.kind}"), B: T.Tensor((4096 * 4,), "{self.kind}"),',
            f'      C: T.Tensor((512, {self.pitch}), "{self.kind}"), n: T.int32):',
            f"    T.device_entry(launch=T.cuda.LaunchConfig(grid={BLOCKS}, block={THREADS}))",
            f'    i = T.cuda.block_idx("x") * {THREADS} + T.cuda.thread_idx("x")',
            f'    S = T.alloc_shared(({THREADS}, {self.pitch}), "{self.kind}")',
            '    s = T.cuda.thread_idx("x")',
            "    for j in T.unroll(24):",
            f"        S[s, j] = T.{self.kind}(3)",
        ]
        self.block(1, [], [])
        for name, at in (("C", "C[i, {}]"), ("B", self.element("B"))):
            del name
            for j in range(4):
                place = at.format(j)
                self.lines.append(f"    {place} = {place} + S[s, {j + 8}]")
        return "\n".join(self.lines) + "\n"

    def element(self, name: str) -> str:
        """Text of an element with its number left open."""
        if name == "S":
            return "S[s, {}]"
        return f"B[i * {self.pitch} + {self.offset} + {{}}]" if name == "B" else f"{name}[i, {{}}]"

    def block(self, depth: int, values: list[str], loops: list[str]) -> None:
        values = list(values)
        for _ in range(self.rng.randrange(2, 6)):
            self.statement(depth, values, loops)

    def statement(self, depth: int, values: list[str], loops: list[str]) -> None:
        rng, pad = self.rng, "    " * depth
        what = rng.randrange(8)
        a, b = rng.choice("ABCS"), rng.choice("ABCS")
        if what == 0 and depth < 3:
            self.lines.append(f"{pad}if n > {rng.randrange(4)}:")
            self.block(depth + 1, values, loops)
        elif what == 1 and depth < 3:
            name = f"r{self.names}"
            self.names += 1
            self.lines.append(f"{pad}for {name} in range(n % 3):")
            self.block(depth + 1, values, loops)
        elif what in (2, 3):   # a run of reads into names, then some of them written
            start, count = rng.randrange(0, 12), rng.choice([2, 3, 4, 4, 8])
            order, plain = list(range(count)), rng.random() < 0.5
            if rng.random() < 0.5:
                rng.shuffle(order)
            mine = {}
            for j in order:
                self.names += 1
                mine[j] = f"x{self.names}"
                self.lines.append(f"{pad}{mine[j]} = {self.element(a).format(start + j)}")
                if rng.random() < 0.2:
                    self.lines.append(f"{pad}{self.element(b).format(rng.randrange(WIDTH))} = {mine[j]}")
            shift = rng.randrange(0, 12)
            for j in order:
                beside = "" if plain else f" + {mine[order[0]]}"
                self.lines.append(f"{pad}{self.element(b).format(shift + j)} = {mine[j]}{beside}")
            if not plain:
                values += mine.values()
        elif what == 4 and values:
            self.lines.append(f"{pad}{self.element(a).format(rng.randrange(WIDTH))} = {rng.choice(values)}")
        else:                  # an unrolled loop, in place, shifted or between arrays
            name = f"j{self.names}"
            self.names += 1
            count, step = rng.choice([(4, 1), (8, 1), (4, 2), (12, 1), (3, 1)])
            to, start = (rng.randrange(0, 24 - count * step + 1) for _ in range(2))
            spelled = rng.choice(["T.unroll", "range"])
            self.lines.append(f"{pad}for {name} in {spelled}({count}):")
            left = self.element(b).format(f"{step} * {name} + {to}")
            right = self.element(a).format(f"{name} + {start if start + count <= WIDTH else 0}")
            inside = ""
            if rng.random() < 0.3:   # a guard that all iterations share, or one that parts them
                self.lines.append(f"{pad}    if " + rng.choice([f"n > {rng.randrange(4)}:", f"{name} < n:"]))
                inside = "    "
            self.lines.append(f"{pad}    {inside}{left} = {right}" + rng.choice(["", f" + {left}"]))


def loaded(text: str, folder: Path) -> ir.Kernel:
    path = folder / "merging_kernel.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("merging_kernel", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = module.k.kernel()
    assert isinstance(kernel, ir.Kernel)
    return kernel


def in_python(text: str, arrays: list[np.ndarray], n: int) -> None:
    """The kernel's own text, run for one thread after the other."""
    kind = arrays[0].dtype.type
    lines = text.split("\n")
    body = lines[lines.index('    s = T.cuda.thread_idx("x")') + 1:]
    source = "\n".join(["def run(A, B, C, S, i, s, n):", *body]).replace("T.unroll", "range")
    scope: dict[str, object] = {"T": type("T", (), {name: staticmethod(kind) for name in KINDS})}
    exec(source, scope)
    for block in range(BLOCKS):
        shared = np.zeros((THREADS, arrays[0].shape[1]), kind)
        for thread in range(THREADS):
            scope["run"](*arrays, shared, block * THREADS + thread, thread, n)  # type: ignore[operator]


@pytest.mark.parametrize("seed", range(60))
def test_random_accesses(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 2:   # short loops then take several iterations at a time, as long ones do
        monkeypatch.setattr(expand, "MOST_COPIES", 6)
    writer = Writer(seed)
    text = writer.source()
    kernel = loaded(text, tmp_path)
    merging = merged(kernel)
    if seed < 12:
        assert ptxspec.prove(kernel).verdict == "proved", text
        assert ptxspec.prove(merging.kernel).verdict == "proved", text
    rng = np.random.default_rng(seed)
    kind = KINDS[writer.kind]
    shapes = [(512, writer.pitch), (4096 * 4,), (512, writer.pitch)]
    first = [rng.integers(0, 5, shape).astype(kind) for shape in shapes]
    for n in (0, 4):
        copies = [[a.copy() for a in first] for _ in range(3)]
        Executable(emit(kernel), None)(*copies[0], n)
        Executable(emit(merging.kernel), None)(*copies[1], n)
        with np.errstate(all="ignore"):
            in_python(text, copies[2], n)
        for plain, wide, python in zip(*copies):
            np.testing.assert_array_equal(plain, python, err_msg=text)
            np.testing.assert_array_equal(wide, python, err_msg=text + "\n".join(merging.notes))
