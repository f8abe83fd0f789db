"""Every block of the cookbook, run as its own program; what it compiles is proved."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import pytest

import ptxspec
from ptxspec import T
from ptxspec.layout import ComposeLayout

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cookbook.md"
SECTIONS = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
RECIPES = {s.partition("\n")[0]: re.findall(r"```python\n(.*?)```", s, re.DOTALL) for s in SECTIONS}


def run(name: str, source: str) -> dict[str, object]:
    """The names of a block after running it; its functions find their source as in a file."""
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, object] = {"__name__": name}
    exec(compile(source, file, "exec"), names)
    return names


def test_the_cookbook_has_its_recipes() -> None:
    assert list(RECIPES) == [
        "Copy", "Transposed copy through swizzled shared memory", "Gather with bounds", "Predicated tail",
        "Grid-stride loop", "Copy of any shape, whatever the pitch",
        "A dense matrix as one row", "Tiles dealt out to a fixed grid, and their gradient",
        "Tiles of any size dealt out to a fixed grid",
        "Fewer blocks at a time", "Cache policies", "Cluster",
    ]
    assert all(len(blocks) == 1 for blocks in RECIPES.values())


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_is_proved_and_computes_what_it_says(title: str) -> None:
    source = RECIPES[title][0]
    assert "\nassert " in source or "\n    assert " in source
    kernels = [value for value in run(title, source).values() if isinstance(value, T.KernelFunction)]
    assert len(kernels) == 1
    assert ptxspec.prove(kernels[0]).verdict == "proved"


def without(title: str, line: str) -> str:
    """The codes that a recipe's kernel is refused with when one line is changed or left out."""
    source = RECIPES[title][0]
    assert line in source
    kept = [text for text in source.partition("\n\n\nexe = ")[0].split("\n") if text.strip() != line]
    kernel = next(v for v in run(title, "\n".join(kept)).values() if isinstance(v, T.KernelFunction))
    report = ptxspec.prove(kernel)
    assert report.verdict == "refuted"
    return " ".join(sorted({o.explain for o in report.obligations if o.verdict == "refuted"}))


def test_what_the_text_says_of_wrong_ones() -> None:
    wrapping = RECIPES["A dense matrix as one row"][0].partition("\n\n\nexe = ")[0].replace("T.int64(", "(")
    kernel = next(v for v in run("wrapping", wrapping).values() if isinstance(v, T.KernelFunction))
    report = ptxspec.prove(kernel)
    assert report.verdict == "refuted"
    assert {o.explain for o in report.obligations if o.verdict == "refuted"} == {"P109"}
    assert without("Tiles of any size dealt out to a fixed grid", "T.assume(columns <= 1 << 20)") == "P109"
    assert without("Transposed copy through swizzled shared memory", "T.cuda.cta_sync()") == "P107"
    guarded = RECIPES["Copy"][0].replace("if row < M:", "if row >= 0:")
    kernel = next(v for v in run("no guard", guarded.partition("\n\n\nexe = ")[0]).values()
                  if isinstance(v, T.KernelFunction))
    assert {o.explain for o in ptxspec.prove(kernel).obligations if o.verdict == "refuted"} == {"P103"}
    tail = RECIPES["Predicated tail"][0].replace(", preserve_dst=True", "").partition("\n\n\nexe = ")[0]
    kernel = next(v for v in run("no promise", tail).values() if isinstance(v, T.KernelFunction))
    assert {o.explain for o in ptxspec.prove(kernel).obligations if o.verdict == "refuted"} == {"P108"}


def test_rows_and_columns_of_the_swizzled_tile_touch_every_bank() -> None:
    layout = run("banks", RECIPES["Transposed copy through swizzled shared memory"][0])["swizzled"]
    assert isinstance(layout, ComposeLayout)
    place = {(r, c): layout.apply(r, c)["m"].const for r in range(32) for c in range(32)}
    assert sorted(place.values()) == list(range(1024))
    assert all(place[r, c] == 32 * r + (c ^ r) for r, c in place)
    for k in range(32):
        assert len({place[k, c] % 32 for c in range(32)}) == len({place[r, k] % 32 for r in range(32)}) == 32
