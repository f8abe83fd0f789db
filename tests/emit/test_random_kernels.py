"""Random integer kernels: the emitted module, simulated, leaves the same bytes as the IR run in plain Python."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from interpret import Interpreter
from loading import written
from ptxspec.backend.emit import emit
from ptxspec.backend.executable import Executable

from ptxspec.lang import ir

N = 64


class Writer:
    """Writes the source of one kernel."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []

    def source(self) -> str:
        rng = self.rng
        kind = rng.choice(["int32", "int32", "int64", "int16", "uint8"])
        self.lines = [
            "from ptxspec import T", "", "", "@T.function",
            f'def k(A: T.Tensor(({N},), "int32"), O: T.Tensor(({N}, 2), "int32"), n: T.int32):',
            f"    T.device_entry(launch=T.cuda.LaunchConfig(grid=2, block={N // 2}))",
            f'    i = T.cuda.block_idx("x") * {N // 2} + T.cuda.thread_idx("x")',
            f'    R = T.alloc_local((4,), "{kind}")', '    S = T.alloc_local((2, 2), "int32")',
        ]
        self.kind = kind
        for k in range(4):
            self.line(1, f"R[{k}] = T.{kind}({k})")
        for k in range(4):
            self.line(1, f"S[{k // 2}, {k % 2}] = i + {k}")
        self.line(1, "O[i, 0] = 0")
        self.line(1, "O[i, 1] = i")
        self.statements(1, ["i", "n"], [], 7)
        self.line(1, "O[i, 0] = O[i, 0] + T.int32(R[0]) + T.int32(R[1]) * 3 + T.int32(R[2]) * 5 + T.int32(R[3]) * 7")
        self.line(1, "O[i, 1] = O[i, 1] + S[0, 0] + S[0, 1] * 3 + S[1, 0] * 5 + S[1, 1] * 7")
        return "\n".join(self.lines) + "\n"

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def expr(self, names: list[str], depth: int = 2) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            return rng.choice([*names, str(rng.randrange(0, 9)), f"T.int32(R[{rng.randrange(4)}])",
                               f"S[{rng.randrange(2)}, {rng.randrange(2)}]", f"A[{self.index(names)}]"])
        a, b = self.expr(names, depth - 1), self.expr(names, depth - 1)
        return rng.choice([
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} // {rng.choice([2, 3, 4, 7])})",
            f"({a} % {rng.choice([2, 5, 8])})", f"({a} // ({b} % 3 + 1))", f"T.min({a}, {b})", f"T.max({a}, {b})",
            f"({a} & {b})", f"({a} ^ {b})", f"T.Select({self.condition(names, 0)}, {a}, {b})",
            f"T.int32(T.{rng.choice(['int8', 'uint16', 'int64'])}({a}))", f"({a} << {rng.randrange(4)})",
        ])

    def index(self, names: list[str]) -> str:
        # Values from data may wrap, which an index must not: only small numbers lead to one.
        small = [name for name in names if not name.startswith("x")]
        return f"({self.rng.choice(small)} * {self.rng.randrange(1, 4)} + {self.rng.randrange(N)}) % {N}"

    def condition(self, names: list[str], depth: int = 1) -> str:
        rng = self.rng
        text = f"{self.expr(names, depth)} {rng.choice(['<', '<=', '==', '!=', '>', '>='])} {self.expr(names, depth)}"
        if depth and rng.random() < 0.3:
            text = f"({text}) {rng.choice(['and', 'or'])} {self.condition(names, 0)}"
        return f"not ({text})" if rng.random() < 0.2 else text

    def statements(self, depth: int, names: list[str], loops: list[str], count: int) -> None:
        names = list(names)
        for _ in range(self.rng.randrange(1, count + 1)):
            self.statement(depth, names, loops)

    def statement(self, depth: int, names: list[str], loops: list[str]) -> None:
        rng = self.rng
        kind = rng.randrange(9)
        if kind == 0:
            self.count += 1
            name = f"x{self.count}"
            self.line(depth, f"{name} = i + {self.expr(names)}")
            names.append(name)
        elif kind in (1, 2):
            slot = rng.choice([str(rng.randrange(4)), *loops])
            self.line(depth, f"R[{slot}] = T.{self.kind}({self.expr(names)})")
        elif kind == 3:
            self.line(depth, f"S[{rng.randrange(2)}, {rng.randrange(2)}] = i - {self.expr(names)}")
        elif kind == 4:
            self.line(depth, f"O[i, {rng.randrange(2)}] = O[i, {rng.randrange(2)}] + {self.expr(names)}")
        elif kind == 5 and depth < 4:
            self.line(depth, f"if {self.condition(names)}:")
            self.statements(depth + 1, names, loops, 3)
            if rng.random() < 0.5:
                self.line(depth, "else:")
                self.statements(depth + 1, names, loops, 3)
        elif kind == 6 and depth < 3:
            self.count += 1
            name = f"j{self.count}"
            self.line(depth, f"for {name} in range(4):")
            self.statements(depth + 1, [*names, name], [name], 3)
        elif kind == 7 and depth < 3:
            self.count += 1
            name = f"j{self.count}"
            bounds = rng.choice(["n % 5", "1, n % 7, 2", "i % 3, 4", f"{rng.randrange(3)}, {rng.randrange(12)}"])
            self.line(depth, f"for {name} in range({bounds}):")
            self.statements(depth + 1, [*names, name], [], 3)
        else:
            a, b = rng.randrange(4), rng.randrange(4)
            self.count += 1
            self.line(depth, f"y{self.count} = R[{a}]")
            self.line(depth, f"R[{a}] = R[{b}]")
            self.line(depth, f"R[{b}] = y{self.count}")


def traced(text: str, folder: Path) -> ir.Kernel:
    kernel = written(folder / "random_kernel.py", text).k.kernel()
    assert isinstance(kernel, ir.Kernel)
    return kernel


@pytest.mark.parametrize("seed", range(24))
def test_random_kernel(seed: int, tmp_path: Path) -> None:
    text = Writer(seed).source()
    kernel = traced(text, tmp_path)
    rng = np.random.default_rng(seed)
    a = rng.integers(-(1 << 31), 1 << 31, N, dtype=np.int64).astype(np.int32)
    a[::3] %= 17
    out = np.zeros((N, 2), np.int32)
    n = int(rng.integers(-20, 20))
    want = Interpreter(kernel, {"A": a, "O": out}, {"n": n}).run()["O"]
    exe = Executable(emit(kernel), None)
    exe(a, out, n)
    np.testing.assert_array_equal(out, np.frombuffer(want, np.int32).reshape(N, 2), err_msg=text + exe.ptx)
