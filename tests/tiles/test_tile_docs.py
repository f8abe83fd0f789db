"""The page on tiles and the example are run."""

from __future__ import annotations

import re

import numpy as np
import pytest
from loading import example

import ptxspec


def test_the_pages_program_runs(root, tmp_path) -> None:
    """Every Python block of docs/tiles.md."""
    blocks = re.findall(r"^```python\n(.*?)^```", (root / "docs" / "tiles.md").read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    for k, block in enumerate(blocks):
        file = tmp_path / f"block{k}.py"
        file.write_text(block)
        exec(compile(block, str(file), "exec"), {"__name__": f"block{k}"})


@pytest.mark.parametrize("shape", [(64, 64), (130, 200), (1, 4), (63, 68)])
def test_the_example_copies_any_shape(shape) -> None:
    exe = ptxspec.compile(example("tile_copy").tile_copy, target="sm_90")
    assert "ld.global.v4.b32" in exe.ptx
    a = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    b = np.zeros_like(a)
    exe(a, b)
    np.testing.assert_array_equal(b, a)
    if shape == (63, 68):
        with pytest.raises(ptxspec.PtxspecError):
            exe(a[:, :67].copy(), b[:, :67].copy())
