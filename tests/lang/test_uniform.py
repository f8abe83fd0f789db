"""Conditions taken for the same throughout a group are so for every thread, block size and value of the launch."""

from __future__ import annotations

import random

import pytest

from ptxspec.lang.uniform import UNITS, varying
from ptxspec.scalar import typed
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import Expr, Var


class Block:
    """The ids of a block of threads."""

    def __init__(self, x: int, y: int) -> None:
        self.x = Var("tid.x", "int32", "tid.x", 0, x - 1)
        self.y = Var("tid.y", "int32", "tid.y", 0, y - 1)
        self.block = Var("bid", "int32", "ctaid.x", 0, 7)
        self.n = Var("n", "int32", "param")
        self.loaded = Var("A[i]", "int32", "value")
        self.size = (x, y)
        self.linear: Expr = self.x if y == 1 else typed.binary("add", self.x, typed.binary("mul", self.y, x))

    def threads(self) -> list[tuple[int, dict[Expr, int]]]:
        return [(i + self.size[0] * j, {self.x: i,
                                        self.y: j}) for j in range(self.size[1]) for i in range(self.size[0])]


def expression(pick: random.Random, block: Block, depth: int) -> Expr:
    if depth == 0:
        leaf = pick.choice([block.x, block.y, block.block, block.n, block.linear, block.loaded])
        return leaf if pick.random() < 0.7 else typed.binary("floordiv", block.linear, pick.choice([16, 32, 64, 128,
                                                                                                    48]))
    kind = pick.choice(["add", "sub", "mul", "floordiv", "floormod", "and", "min", "leaf", "warp"])
    if kind == "leaf":
        return expression(pick, block, 0)
    if kind == "warp":
        return typed.binary("floordiv", block.linear, pick.choice([32, 64, 128]))
    left = expression(pick, block, depth - 1)
    right = typed.literal(pick.choice([1, 2, 3, 32]), "int32") if kind in ("floordiv", "floormod") \
        else expression(pick, block, depth - 1)
    return typed.binary(kind, left, right)


@pytest.mark.parametrize("scope", ["warp", "warpgroup", "cta"])
def test_uniform_means_uniform(scope: str) -> None:
    pick = random.Random(scope)
    unit = UNITS[scope]
    same = different = 0
    for _ in range(600):
        block = Block(*pick.choice([(32, 1), (64, 1), (256, 1), (16, 8), (32, 4), (8, 32)]))
        guard = typed.compare(pick.choice(["lt", "eq", "ge"]), expression(pick, block, pick.randint(0, 2)),
                              expression(pick, block, pick.randint(0, 1)))
        if varying([guard], scope, block.linear) is not None:
            different += 1
            continue
        same += 1
        env: dict[Expr, int] = {block.block: pick.randrange(8), block.n: pick.randrange(300), block.loaded: 5}
        found: dict[int, set[int]] = {}
        for linear, ids in block.threads():
            try:
                value = evaluate(guard, {**env, **ids})
            except Unknown:
                value = -1
            found.setdefault(0 if unit is None else linear // unit, set()).add(value)
        assert all(len(values) == 1 for values in found.values()), (guard, block.size)
    assert same > 10
    assert different > 20


def test_loaded_values_and_threads_vary() -> None:
    block = Block(64, 1)
    for expr in (block.loaded, block.x, typed.binary("floordiv", block.x, 16)):
        assert varying([typed.compare("gt", expr, 0)], "warp", block.linear) is not None
    warp = typed.compare("eq", typed.binary("floordiv", block.x, 32), 0)
    assert varying([warp], "warp", block.linear) is None
    assert varying([warp], "cta", block.linear) == warp
    assert varying([warp], "thread", block.linear) is None
