"""The page about the kernel language: its examples run, prove and compute."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import numpy as np

import ptxspec
from ptxspec import T

PAGE = Path(__file__).resolve().parents[2] / "docs" / "language.md"


def kernels() -> dict[str, T.KernelFunction]:
    found: dict[str, T.KernelFunction] = {}
    for k, source in enumerate(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)):
        file = f"<language.md {k}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        names: dict[str, object] = {}
        exec(compile(source, file, "exec"), names)
        found |= {n: v for n, v in names.items() if isinstance(v, T.KernelFunction)}
    return found


def test_examples_compute_what_they_say() -> None:
    rng = np.random.default_rng(3)
    made = {name: ptxspec.compile(kernel, target="sim") for name, kernel in kernels().items()}
    assert set(made) == {"scale", "copy", "row_sums"}
    a, b = rng.random((200, 4), dtype=np.float32), np.zeros((200, 4), np.float32)
    made["scale"](a, b, 3.0)
    np.testing.assert_array_equal(b, a * np.float32(3))
    c, d = rng.random((4, 32, 3, 4), dtype=np.float32), np.zeros((4, 32, 3, 4), np.float32)
    made["copy"](c, d)
    np.testing.assert_array_equal(c, d)
    e, f = rng.integers(0, 100, (700, 8)).astype(np.float32), np.zeros(700, np.float32)
    made["row_sums"](e, f)
    np.testing.assert_array_equal(f, e.sum(1))


def test_every_name_of_the_namespace_on_the_page_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in set(re.findall(r"\bT\.((?:cuda\.)?(?:tile\.)?\w+)", text)):
        value: object = T
        for part in name.split("."):
            assert hasattr(value, part), name
            value = getattr(value, part)
