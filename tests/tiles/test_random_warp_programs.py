"""Random kernels under Warp's names against NumPy: tiles changed in place, bound again, seen under other coordinates,
mapped, in loops and branches; numbers that change in them."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ptxspec
from ptxspec.compat import warp as wp

N, BLOCK, OUTPUTS = 24, 16, 4
#: What a program may meet: a tile with two names or in use (K201, K242).
REFUSALS = {"K201", "K242"}
HEADER = f'''
from ptxspec.compat import warp as wp

N = {N}


@wp.func
def mixed(x: int, y: int, s: int):
    if x > y:
        return x - s
    z = y
    if s > 2:
        z = z + s
    return z


@wp.kernel
def kernel(a: wp.array2d[int], b: wp.array2d[int], n: int):
    block, lane = wp.tid()
    s = int(1)
'''
State = dict[str, np.ndarray | int]
Step = Callable[[State], None]


def mixed(x: np.ndarray, y: np.ndarray, s: int) -> np.ndarray:
    return np.where(x > y, x - s, y + s if s > 2 else y)


class Program:
    """Lines of a kernel, and what each of them means in NumPy."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.tiles: list[str] = []
        self.outputs = 0
        steps: list[Step] = []
        for _ in range(2):
            self.new(1, steps)
        for _ in range(self.rng.randint(3, 8)):
            self.statement(1, steps, 2)
        for name in self.tiles[:2]:
            self.store(1, steps, name)
        self.steps = steps

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def name(self) -> str:
        return self.rng.choice(self.tiles)

    def statement(self, depth: int, steps: list[Step], nested: int) -> None:
        kinds = [self.change, self.change, self.again, self.number, self.assign, self.element]
        if depth == 1:
            kinds += [self.new, self.view, lambda d, s: self.store(d, s, self.name())]
        if nested:
            kinds += [lambda d, s: self.loop(d, s, nested - 1), lambda d, s: self.branch(d, s, nested - 1)]
        self.rng.choice(kinds)(depth, steps)

    def value(self) -> tuple[str, Callable[[State], np.ndarray | int]]:
        """An expression, and its value."""
        a, b, row, k = self.name(), self.name(), self.rng.randrange(3), self.rng.randint(-3, 3)
        return self.rng.choice([
            (f"wp.tile_load(a[{row}], shape=N, offset={k})", lambda s: loaded(s, row, k)),
            (f"{a} * {k} + {b}", lambda s: s[a] * k + s[b]),
            (f"{a} - s", lambda s: s[a] - s["s"]),
            (f"wp.tile_map(mixed, {a}, {b}, s)", lambda s: mixed(s[a], s[b], s["s"])),
            (f"wp.tile_map(mixed, {a}, wp.tile_arange(N, dtype=int), {k + 3})",
             lambda s: mixed(s[a], np.arange(N), k + 3)),
            (f"-wp.tile_map(wp.max, {a}, {k})", lambda s: -np.maximum(s[a], k)),
        ])

    def new(self, depth: int, steps: list[Step]) -> None:
        name, row = f"t{len(self.tiles)}", self.rng.randrange(3)
        storage = self.rng.choice(["register", "shared"])
        self.line(depth, f"{name} = wp.tile_load(a[{row}], shape=N, storage=\"{storage}\")")
        self.tiles.append(name)
        steps.append(lambda s: s.update({name: loaded(s, row, 0)}))

    def view(self, depth: int, steps: list[Step]) -> None:
        """The same elements from another name: what one changes, the other sees."""
        old, name = self.name(), f"t{len(self.tiles)}"
        self.line(depth, f"{name} = wp.tile_reshape(wp.tile_transpose(wp.tile_reshape({old}, shape=(1, N))), shape=N)")
        self.tiles.append(name)

        def step(s: State) -> None:
            s[name] = s[old]

        steps.append(step)

    def change(self, depth: int, steps: list[Step]) -> None:
        name, sign = self.name(), self.rng.choice("+-")
        text, value = self.value()
        self.line(depth, f"{name} {sign}= {text}")

        def step(s: State) -> None:
            s[name][:] = s[name] + value(s) if sign == "+" else s[name] - value(s)  # type: ignore[index]

        steps.append(step)

    def again(self, depth: int, steps: list[Step]) -> None:
        name = self.name()
        text, value = self.value()
        self.line(depth, f"{name} = {text}")
        steps.append(lambda s: s.update({name: np.array(value(s))}))

    def number(self, depth: int, steps: list[Step]) -> None:
        k = self.rng.randint(-2, 3)
        text, value = self.rng.choice([(f"s = s + {k}", lambda s: s + k), (f"s -= {k}", lambda s: s - k),
                                       (f"s = {k}", lambda s: k), ("s = wp.max(s, n)", lambda s: max(s, 2))])
        self.line(depth, text)
        steps.append(lambda s: s.update({"s": value(s["s"])}))

    def assign(self, depth: int, steps: list[Step]) -> None:
        name, source = self.name(), self.name()
        size = self.rng.randint(1, N)
        at, start = self.rng.randint(0, N - size), self.rng.randint(0, N - size)
        self.line(depth, f"{name}[{at}:{at + size}] = {source}[{start}:{start + size}]")

        def step(s: State) -> None:
            s[name][at:at + size] = np.array(s[source][start:start + size])  # type: ignore[index]

        steps.append(step)

    def element(self, depth: int, steps: list[Step]) -> None:
        name, k = self.name(), self.rng.randrange(N)
        self.line(depth, f"s = {name}[{k}] % 5")
        steps.append(lambda s: s.update({"s": int(s[name][k]) % 5}))  # type: ignore[index]

    def store(self, depth: int, steps: list[Step], name: str) -> None:
        if self.outputs < OUTPUTS:
            row, self.outputs = self.outputs, self.outputs + 1
            self.line(depth, f"wp.tile_store(b[{row}], {name})")
            steps.append(lambda s: s["b"].__setitem__(row, s[name]))  # type: ignore[union-attr]

    def loop(self, depth: int, steps: list[Step], nested: int) -> None:
        count = self.rng.choice(["n", "3"])
        self.line(depth, f"for _ in range({count}):")
        inner: list[Step] = []
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth + 1, inner, nested)

        def step(s: State) -> None:
            for _ in range(2 if count == "n" else 3):
                for one in inner:
                    one(s)

        steps.append(step)

    def branch(self, depth: int, steps: list[Step], nested: int) -> None:
        """A condition that all threads of the block share."""
        k = self.rng.randint(0, 3)
        text, holds = self.rng.choice([(f"block == {k}", lambda s: s["block"] == k), (f"n > {k}", lambda s: k < 2)])
        sides: list[list[Step]] = [[], []]
        for side, head in zip(sides, (f"if {text}:", "else:")):
            self.line(depth, head)
            for _ in range(self.rng.randint(1, 2)):
                self.statement(depth + 1, side, nested)

        def step(s: State) -> None:
            for one in sides[0 if holds(s) else 1]:
                one(s)

        steps.append(step)


def loaded(state: State, row: int, offset: int) -> np.ndarray:
    return np.array([state["a"][row][k + offset] if 0 <= k + offset < N else 0  # type: ignore[index]
                     for k in range(N)], np.int32)


def module_of(place: Path, program: Program) -> ModuleType:
    file = place / "random_warp.py"
    file.write_text(HEADER + "\n".join(program.lines) + "\n")
    spec = importlib.util.spec_from_file_location("random_warp", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["random_warp"] = module
    spec.loader.exec_module(module)
    return module


def run(place: Path, seed: int, device: str = "cpu") -> bool:
    """True when the program was accepted; it then computes what NumPy does."""
    program = Program(seed)
    module = module_of(place, program)
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 9, (3, N)).astype(np.int32), rng.integers(0, 9, (OUTPUTS, N)).astype(np.int32)
    given = wp.array(a, device=device), wp.array(b, device=device)
    refused: ptxspec.PtxspecError | None = None
    try:
        wp.launch_tiled(module.kernel, dim=1, inputs=[*given, 2], block_dim=BLOCK)
    except ptxspec.PtxspecError as error:
        refused = error
    if refused is not None:
        assert {d.code for d in refused.diagnostics} <= REFUSALS, f"{refused}\n" + "\n".join(program.lines)
        return False
    state: State = {"a": a, "b": b.copy(), "s": 1, "block": 0}
    for step in program.steps:
        step(state)
    np.testing.assert_array_equal(given[1].numpy(), state["b"], "\n".join(program.lines))
    return True


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_random_programs_compute_what_numpy_does(first: int, tmp_path: Path) -> None:
    accepted = sum(run(tmp_path, seed) for seed in range(first, first + 20))
    assert accepted >= 5
