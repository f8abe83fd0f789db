"""Random scalar kernels: what the simulator computes from the emitted PTX is what Python computes from the same "
  "text."""

from __future__ import annotations

import linecache
import random
from types import SimpleNamespace

import numpy as np
import pytest

import ptxspec
from ptxspec import T

THREADS, SIZE = 32, 40
HEAD = '''from ptxspec import T


def twist(x, y):
    if y:
        return T.max(x, 3) - y
    return x


@T.function
def kernel(A: T.Tensor((40,), "int64"), B: T.Tensor((40,), "int64"), n: T.int64):
    T.device_entry(launch=T.cuda.LaunchConfig(block=32))
    tid = T.cuda.thread_idx()
    acc = T.alloc_local((4,), "int64")
    for k in range(4):
        acc[k] = k
'''
TAIL = "    B[tid] = acc[0] + acc[1] * 3 - acc[2] + acc[3]\n"


class Writer:
    """Writes one random kernel body; indices are built from thread and loop numbers only, so that bounds are "
      "provable."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.lines: list[str] = []
        self.small = ["tid"]   # names below 40
        self.steady: list[str] = []   # indices of loops with constant bounds: these may select a register
        self.names: list[str] = []   # int64 values in reach
        self.counter = 0

    def index(self) -> str:
        name = self.pick.choice(self.small)
        return self.pick.choice([name, f"({name} + {self.pick.randint(1, 9)}) % 40", f"({name} * 3 + 1) % 40",
                                 f"{name} ^ 1", f"min({name}, {self.pick.randint(0, 39)})", str(self.pick.randint(0,
                                                                                                                  39))])

    def number(self, depth: int) -> str:
        if depth == 0:
            return self.pick.choice([f"A[{self.index()}]", f"acc[{self.pick.randint(0, 3)}]", "n",
                                     str(self.pick.randint(0, 50)),
                                     "T.int64(tid)", *self.names])
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.pick.choice([
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} // {self.pick.randint(1, 7)})",
            f"({a} % {self.pick.randint(1, 9)})", f"({a} & {b})", f"({a} ^ {b})", f"T.min({a}, {b})", f"max({a}, {b})",
            f"({a} if {self.condition(0)} else {b})", f"T.Select({self.condition(0)}, {a}, {b})", f"-{a}", f"abs({a})",
            f"twist({a}, {self.pick.randint(0, 2)})", f"({a} >> {self.pick.randint(0, 3)})",
            f"T.int64({self.condition(0)})"])

    def condition(self, depth: int) -> str:
        compare = self.pick.choice(["<", "<=", ">", ">=", "==", "!="])
        if depth == 0:
            if self.pick.random() < 0.2:
                return f"0 < {self.number(0)} {compare} {self.number(0)}"
            return f"{self.number(0)} {compare} {self.number(0)}"
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        return self.pick.choice([f"({a} and {b})", f"({a} or {b})", f"not ({a})", f"({a} and tid > 3 and {b})", a])

    def emit(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def block(self, depth: int, count: int) -> None:
        names = list(self.names)
        for _ in range(count):
            kind = self.pick.choice(["set", "add", "name", "if", "for", "unrolled"] if depth < 3 else ["set", "add"])
            slot = self.pick.choice(["0", "1", "2", "3", *(f"{s} & 3" for s in self.steady)])
            if kind == "set":
                self.emit(depth, f"acc[{slot}] = ({self.number(2)}) % 97")
            elif kind == "add":
                self.emit(depth, f"acc[{slot}] += {self.number(1)} % 31")
            elif kind == "name":
                self.counter += 1
                self.emit(depth, f"v{self.counter} = ({self.number(2)}) % 89")
                self.names.append(f"v{self.counter}")
            elif kind == "if":
                self.emit(depth, f"if {self.condition(self.pick.randint(0, 2))}:")
                self.block(depth + 1, self.pick.randint(1, 2))
                if self.pick.random() < 0.4:
                    self.emit(depth, f"elif {self.condition(1)}:")
                    self.block(depth + 1, 1)
                if self.pick.random() < 0.6:
                    self.emit(depth, "else:")
                    self.block(depth + 1, self.pick.randint(1, 2))
            elif kind == "for":
                self.counter += 1
                bounds = self.pick.choice(["3", "1, 4", "5, 0, -2", "tid % 4", "tid % 3, 7, 2", "0, 8, 3"])
                self.emit(depth, f"for j{self.counter} in range({bounds}):")
                self.small.append(f"j{self.counter}")
                self.steady += [] if "tid" in bounds else [f"j{self.counter}"]
                self.block(depth + 1, self.pick.randint(1, 2))
                self.steady = [s for s in self.steady if s != self.small[-1]]
                self.small.pop()
            else:
                self.counter += 1
                c, w = f"c{self.counter}", f"w{self.counter}"
                self.emit(depth, f"for {c}, {w} in [(0, 2), (1, 5)]:")
                self.emit(depth + 1, f"acc[{c}] = (acc[{c}] * {w} + {self.number(0)}) % 101")
        if depth:
            self.names = names


class Registers(list):  # type: ignore[type-arg]
    """A register tensor of 64-bit integers."""


def python_result(source: str, a: np.ndarray, n: int) -> np.ndarray:
    """The kernel's text run by Python for each thread."""
    result = np.zeros(SIZE, np.int64)
    memory = [int(x) for x in a]
    for tid in range(THREADS):
        shim = SimpleNamespace(
            function=lambda f: f, Tensor=lambda *_, **__: None, int64=int, device_entry=lambda **_: None, min=min,
            max=max,
            cuda=SimpleNamespace(LaunchConfig=lambda **_: None, thread_idx=lambda tid=tid: tid),
            alloc_local=lambda *_: Registers([0] * 4), Select=lambda c, x, y: x if c else y)
        names: dict[str, object] = {"T": shim}
        exec(source.replace("from ptxspec import T\n", ""), names)
        kernel = names["kernel"]
        assert callable(kernel)
        kernel(memory, result, n)
    return result


@pytest.mark.parametrize("block", range(4))
def test_programs_mean_what_python_means(block: int) -> None:
    ran = 0
    for seed in range(block * 10, block * 10 + 10):
        writer = Writer(seed)
        writer.block(0, 5)
        source = HEAD + "\n".join(writer.lines) + "\n" + TAIL
        file = f"<random program {seed}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        names: dict[str, object] = {}
        exec(compile(source, file, "exec"), names)
        kernel = names["kernel"]
        assert isinstance(kernel, T.KernelFunction)
        a = np.random.default_rng(seed).integers(-40, 60, SIZE)
        b = np.zeros(SIZE, np.int64)
        report = ptxspec.prove(kernel)   # random conditions may contradict each other; nothing else may be wrong
        assert {o.verdict for o in report.obligations} <= {"proved", "vacuous"}, f"{report.text()}\n{source}"
        if report.verdict != "proved":
            continue
        executable = ptxspec.compile(kernel, target="sim")
        executable(a, b, 17)
        np.testing.assert_array_equal(b, python_result(source, a, 17), err_msg=source)
        ran += 1
    assert ran >= 3
