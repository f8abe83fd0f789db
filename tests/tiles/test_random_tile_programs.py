"""Random sequences of tile operations against NumPy: copies taken apart, elements assigned, loops, branches, views."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ptxspec

N = 8
THREADS = 16
INPUTS, OUTPUTS = ("A", "B", "C"), 6
#: Refusals that a program may meet: races and divergent barriers are the author's, K242 says what it does.
REFUSALS = {"K242", "P107", "P110"}

State = dict[str, np.ndarray]
Step = Callable[[State, int], None]


class Program:
    """Lines of a kernel, and what each of them means in NumPy."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.steps: list[Step] = []
        self.tiles: list[str] = []
        self.registers: set[str] = set()
        self.outputs = 0
        for _ in range(2):
            self.load()
        for _ in range(self.rng.randint(3, 9)):
            self.statement(1)
        for name in self.rng.sample(self.tiles, min(2, len(self.tiles))):
            self.store(1, name)

    def name(self) -> str:
        return self.rng.choice(self.tiles)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def fresh(self) -> str:
        self.tiles.append(f"t{len(self.tiles)}")
        return self.tiles[-1]

    def statement(self, depth: int) -> None:
        kinds = [self.load, self.compute, self.compute, self.view, self.old]
        kind = self.rng.choice([*kinds, lambda: self.store(1, self.name()), lambda: self.change(1, self.steps),
                                lambda: self.change(1, self.steps), self.loop, self.condition])
        kind()

    # --- new tiles

    def load(self) -> None:
        array, at = self.rng.choice(INPUTS), [self.rng.randint(-3, 6) for _ in range(2)]
        storage, name = self.rng.choice(("register", "register", "shared")), self.fresh()
        self.line(1, f"{name} = T.tile_load({array}, ({N}, {N}), ({at[0]}, {at[1]}), \"{storage}\")")
        if storage == "register":
            self.registers.add(name)

        def step(state: State, n: int) -> None:
            wide = np.zeros((32, 32), np.float32)
            wide[10:22, 10:22] = state[array]
            state[name] = wide[10 + at[0]:10 + at[0] + N, 10 + at[1]:10 + at[1] + N].copy()

        self.steps.append(step)

    def compute(self) -> None:
        one, two, op = self.name(), self.name(), self.rng.choice("+-*")
        number = self.rng.randint(-3, 3)
        plain = self.rng.random() < 0.5
        name = self.fresh()
        self.line(1, f"{name} = {one} {op} {f'({number}.0)' if plain else two}")
        self.registers.add(name)

        def step(state: State, n: int) -> None:
            other = np.float32(number) if plain else state[two]
            state[name] = {"+": np.add, "-": np.subtract, "*": np.multiply}[op](state[one], other).astype(np.float32)

        self.steps.append(step)

    def view(self) -> None:
        one, kind = self.name(), self.rng.choice(("transpose", "reshape", "row"))
        name = self.fresh()
        text = {"transpose": f"T.tile_transpose({one})",
                "reshape": f"T.tile_reshape(T.tile_reshape({one}, 64), (8, 8))",
                "row": f"T.tile_broadcast(T.tile_view({one}, (3,)), (8, 8))"}[kind]
        self.line(1, f"{name} = {text} + 1.0")
        self.registers.add(name)

        def step(state: State, n: int) -> None:
            t = state[one]
            state[name] = {"transpose": t.T, "reshape": t, "row": np.broadcast_to(t[3], (8, 8))}[kind] + np.float32(1)

        self.steps.append(step)

    def old(self) -> None:
        if self.outputs >= OUTPUTS:
            return
        one, out, name = self.name(), f"O{self.outputs}", self.fresh()
        self.outputs += 1
        self.line(1, f"{name} = T.tile_atomic_add({out}, {one}, offset=(1, -2))")
        self.registers.add(name)

        def step(state: State, n: int) -> None:
            before = np.zeros((N, N), np.float32)
            before[:, 2:] = state[out][1:9, 0:6]
            state[out][1:9, 0:6] += state[one][:, 2:]
            state[name] = before

        self.steps.append(step)

    # --- effects

    def store(self, depth: int, one: str) -> None:
        if self.outputs >= OUTPUTS:
            return
        out, at = f"O{self.outputs}", (self.rng.randint(-2, 5), self.rng.choice((0, 4, -4, 1)))
        self.outputs += 1
        self.line(depth, f"T.tile_store({out}, {one}, offset=({at[0]}, {at[1]}))")

        def step(state: State, n: int) -> None:
            for i, j in np.ndindex(N, N):
                if 0 <= at[0] + i < 12 and 0 <= at[1] + j < 12:
                    state[out][at[0] + i, at[1] + j] = state[one][i, j]

        self.steps.append(step)

    def change(self, depth: int, steps: list[Step]) -> None:
        one, two, number = self.name(), self.name(), self.rng.randint(1, 3)
        if self.rng.random() < 0.4 and one in self.registers:
            i, j = f"i{len(self.lines)}", f"j{len(self.lines)}"
            self.line(depth, f"for {i}, {j} in {one}.owned():")
            self.line(depth + 1, f"{one}[{i}, {j}] = {one}[{i}, {j}] * 2.0 + {number}.0")

            def step(state: State, n: int) -> None:
                state[one] = (state[one] * 2 + number).astype(np.float32)
        elif self.rng.random() < 0.5:
            k = f"k{len(self.lines)}"
            self.line(depth, f"for {k} in range(4):")
            self.line(depth + 1, f"{one}[x // 2, x % 2 * 4 + {k}] = {number}.0 + {one}[x // 2, x % 2 * 4 + {k}]")

            def step(state: State, n: int) -> None:
                state[one] = state[one] + np.float32(number)
        else:
            self.line(depth, f"if x < {N}:")
            self.line(depth + 1, f"{one}[{number}, x] = {two}[x, {number}] + 1.0")

            def step(state: State, n: int) -> None:
                row = state[two][:, number] + np.float32(1)
                state[one] = state[one].copy()
                state[one][number] = row
        steps.append(step)

    def loop(self) -> None:
        self.line(1, f"for trip{len(self.lines)} in range(n):")
        inner: list[Step] = []
        for _ in range(self.rng.randint(1, 2)):
            self.change(2, inner)

        def step(state: State, n: int) -> None:
            for _ in range(n):
                for one in inner:
                    one(state, n)

        self.steps.append(step)

    def condition(self) -> None:
        self.line(1, "if n > 1:")
        inner: list[Step] = []
        self.change(2, inner)
        self.steps.append(lambda state, n: [one(state, n) for one in inner] and None if n > 1 else None)

    # --- both sides

    def text(self) -> str:
        arrays = ", ".join(f"{a}: T.Tensor((12, 12), \"float32\", align=16)"
                           for a in (*INPUTS, *(f"O{k}" for k in range(OUTPUTS))))
        body = "\n".join("    " + line for line in
                         [f"T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block={THREADS}))",
                          "x = T.cuda.thread_idx(\"x\")"])
        return (f"from ptxspec import T\n\n\n@T.function\ndef kernel({arrays}, n: T.int32):\n{body}\n"
                + "\n".join(self.lines) + "\n")


def read(text: str, folder: Path, name: str) -> object:
    """The kernel of a program, from a file, as kernels are read from files."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.kernel


def check(seed: int, folder: Path) -> str:
    """Empty when the program computes what NumPy does; the refusal's code where it is refused."""
    program = Program(seed)
    try:
        exe = ptxspec.compile(read(program.text(), folder, f"tile_program_{seed}"), target="sm_90")
    except ptxspec.PtxspecError as error:
        codes = {d.code for d in error.diagnostics}
        if not codes <= REFUSALS:
            pytest.fail(f"{codes}\n{error}\n{program.text()}")
        return ",".join(sorted(codes))
    for n in (0, 1, 2, 3):
        rng = np.random.default_rng(seed * 7 + n)
        arrays = {name: rng.integers(-3, 4, (12, 12)).astype(np.float32)
                  for name in (*INPUTS, *(f"O{k}" for k in range(OUTPUTS)))}
        state = {name: a.copy() for name, a in arrays.items()}
        for step in program.steps:
            step(state, n)
        exe(*arrays.values(), n)
        for name, a in arrays.items():
            np.testing.assert_array_equal(a, state[name], err_msg=f"seed {seed}, n = {n}, {name}\n{program.text()}")
    return ""


@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed, tmp_path) -> None:
    check(seed, tmp_path)


def test_most_programs_run(tmp_path) -> None:
    """The refusals that are let through are few, or nothing would be tested."""
    assert sum(check(seed, tmp_path) == "" for seed in range(100, 112)) >= 8
