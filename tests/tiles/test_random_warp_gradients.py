"""Random linear kernels under Warp's names: along a random direction, the gradient says exactly how results change."""

from __future__ import annotations

import importlib.util
import random
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ptxspec
from ptxspec.compat import warp as wp

N, BLOCK, OUTPUTS = 20, 16, 4
#: What a program may meet: two names of one tile (K201, K240), a tile bound again in a loop (K201).
REFUSALS = {"K201", "K240", "K242"}
HEADER = f'''
from ptxspec.compat import warp as wp

N = {N}


@wp.func
def linear(x: float, y: float, s: float):
    z = y * 2.0
    return -(x - z * s) + 3.0


@wp.kernel
def kernel(a: wp.array2d[float], b: wp.array2d[float], n: int):
    block, lane = wp.tid()
'''


class Program:
    """Lines of a kernel that is linear in ``a``."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.tiles: list[str] = []
        self.outputs = 0
        for _ in range(2):
            self.new()
        for _ in range(self.rng.randint(3, 8)):
            self.rng.choice([self.new, self.store, lambda: self.statement(1, 2), lambda: self.statement(1, 2)])()
        self.store()
        self.store()

    def name(self) -> str:
        return self.rng.choice(self.tiles)

    def value(self) -> str:
        one, two, k = self.name(), self.name(), self.rng.randint(-2, 3)
        return self.rng.choice([
            f"wp.tile_load(a[{k % 3}], shape=N, offset={k})", f"{one} * {k}.0 + {two}", f"-{one}", f"{one} - {two}",
            f"wp.tile_map(linear, {one}, {two}, {k}.0)", f"wp.tile_map(wp.sub, {one}, {k}.0)", f"{one} / 2.0",
            f"wp.tile_broadcast(wp.tile_load(a[1], shape=1, offset={k + 2}), shape=N) * 1.0"])

    def new(self) -> None:
        name = f"t{len(self.tiles)}"
        storage = self.rng.choice(["register", "shared"])
        texts = [f"wp.tile_load(a[{self.rng.randrange(3)}], shape=N, storage=\"{storage}\")"]
        if self.tiles:
            old = self.name()
            turned = f"wp.tile_transpose(wp.tile_reshape({old}, shape=(4, 5)))"
            texts += [self.value(), f"wp.tile_reshape({turned}, shape=N)"]
        self.lines.append(f"    {name} = {self.rng.choice(texts)}")
        self.tiles.append(name)

    def store(self) -> None:
        if self.outputs < OUTPUTS:
            call = self.rng.choice(["tile_store", "tile_atomic_add"])
            self.lines.append(f"    wp.{call}(b[{self.outputs}], {self.name()}, offset={self.rng.randint(-2, 2)})")
            self.outputs += 1

    def statement(self, depth: int, nested: int) -> None:
        space, kind = "    " * depth, self.rng.randrange(6 if nested else 4)
        if kind < 3:
            self.lines.append(f"{space}{self.name()} {self.rng.choice('+-')}= {self.value()}")
        elif kind == 3:
            self.lines.append(f"{space}{self.name()} {self.rng.choice(['*= 2.0', '/= 2.0', '*= -1.0', '+= 3.0'])}")
        else:
            self.lines.append(space + (f"for _ in range({self.rng.choice('n2')}):" if kind == 4
                                       else f"if n > {self.rng.randint(0, 3)}:"))
            for _ in range(self.rng.randint(1, 2)):
                self.statement(depth + 1, nested - 1)


def module_of(place: Path, lines: list[str]) -> ModuleType:
    file = place / "random_warp_linear.py"
    file.write_text(HEADER + "\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location("random_warp_linear", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["random_warp_linear"] = module
    spec.loader.exec_module(module)
    return module


def run(place: Path, seed: int) -> bool:
    """True when the program and its adjoint were accepted; the gradient is then exact."""
    lines = Program(seed).lines
    kernel = module_of(place, lines).kernel
    rng = np.random.default_rng(seed)
    a, v = (rng.integers(-3, 4, (3, N)).astype(np.float32) for _ in range(2))
    start, g = (rng.integers(-3, 4, (OUTPUTS, N)).astype(np.float32) for _ in range(2))
    found, refused = [], None
    try:
        for moved in (a + v, a):
            given = wp.array(moved, requires_grad=True), wp.array(start, requires_grad=True)
            with wp.Tape() as tape:
                wp.launch_tiled(kernel, dim=1, inputs=[*given, 2], block_dim=BLOCK)
            found.append(given[1].numpy().astype(np.float64))
        tape.backward(grads={given[1]: wp.array(g)})
    except ptxspec.PtxspecError as error:
        refused = error
    if refused is not None:
        assert {d.code for d in refused.diagnostics} <= REFUSALS, f"{refused}\n" + "\n".join(lines)
        return False
    change, expected = ((found[0] - found[1]) * g).sum(), (given[0].grad.numpy().astype(np.float64) * v).sum()
    assert change == expected, f"{change} {expected}\n" + "\n".join(lines)
    return True


@pytest.mark.parametrize("first", range(0, 24, 12))
def test_gradients_say_how_results_change(first: int, tmp_path: Path) -> None:
    accepted = sum(run(tmp_path, seed) for seed in range(first, first + 12))
    assert accepted >= 3
