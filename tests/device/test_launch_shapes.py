"""Shapes of launches that no device takes."""

from __future__ import annotations

import pytest
from ptxspec.backend.device import DeviceInfo, LaunchShape, check_shape

from ptxspec.diagnostics import LaunchError

GRID = (2**31 - 1, 65535, 65535)
H200 = DeviceInfo(0, "stand-in", (9, 0), 1 << 37, 132, 1024, (1024, 1024, 64), GRID, 227 * 1024, True)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (LaunchShape.of(-1, 32), "grid.x is -1"), (LaunchShape.of((1, 70000), 32), "grid.y is 70000"),
        (LaunchShape.of(1, 0), "block.x is 0"), (LaunchShape.of(1, (1, 1, 65)), "block.z is 65"),
        (LaunchShape.of(1, (64, 32)), "2048 threads"), (LaunchShape.of(1, 32, shared=300000), "300000 bytes"),
        (LaunchShape.of(1, 32, shared=-1), "-1 bytes"), (LaunchShape.of(3, 32, cluster=2), "no multiple"),
        (LaunchShape.of(32, 32, cluster=32), "most are 16"), (LaunchShape.of(4, 32, cluster=0), "cluster is"),
    ],
)
def test_impossible_shapes(shape: LaunchShape, words: str) -> None:
    with pytest.raises(LaunchError, match=words) as caught:
        check_shape(shape, H200)
    assert caught.value.code == "R107"


@pytest.mark.parametrize("grid", [(), (1, 2, 3, 4)])
def test_too_few_or_too_many_extents(grid: tuple[int, ...]) -> None:
    with pytest.raises(LaunchError) as caught:
        LaunchShape.of(grid, 32)
    assert caught.value.code == "R107"
