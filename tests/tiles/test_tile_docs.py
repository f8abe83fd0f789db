"""The page on tiles and the example are run."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import numpy as np
import pytest
from loading import example

import ptxspec


@pytest.mark.parametrize("page", ["tiles", "warp"])
def test_the_pages_program_runs(root, tmp_path, page, monkeypatch) -> None:
    """Every Python block of docs/tiles.md and docs/warp.md."""
    text = (root / "docs" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert blocks
    for k, block in enumerate(blocks):
        name = f"{page}_block{k}"
        file = tmp_path / f"{name}.py"
        file.write_text(block)
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(block, str(file), "exec"), vars(module))


def test_the_page_for_users_of_warp_names_what_there_is(root) -> None:
    """Every tile function that works stands in the table, and no other."""
    from ptxspec.compat import warp as wp
    page = (root / "docs" / "warp.md").read_text(encoding="utf-8")
    table = page.split("## What works")[1].split("```")[0]
    named = set(re.findall(r"\btile_\w+", table))
    named |= {n + "_indexed" for n in ("tile_load", "tile_store", "tile_atomic_add")}
    assert named == {n for n in wp.__all__ if n.startswith("tile_")}
    refused = page.split("## What is refused")[1]
    assert {n for n in re.findall(r"\btile_\w+", refused) if n != "tile_"} <= set(wp.OUTSIDE)


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
