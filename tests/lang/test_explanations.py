"""The long form of every code of the kernel language: its examples do what they are said to do."""

from __future__ import annotations

import ast
import linecache
import re
from pathlib import Path

import pytest

import ptxspec
from ptxspec.diagnostics import PtxspecError
from ptxspec.lang.function import KernelFunction

ROOT = Path(ptxspec.__file__).parent
FOLDER = ROOT / "explanations"
FILES = sorted(FOLDER.glob("K*.md"))
#: Found by no rule of the language, so nothing a user writes can be an example.
WITHOUT_EXAMPLES = {"K290"}


def run(source: str, file: str) -> None:
    """Execute an example as a cell; read and prove the kernel it defines."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names: dict[str, object] = {}
    exec(compile(source, file, "exec"), names)
    for kernel in [k for k in names.values() if isinstance(k, KernelFunction)]:
        ptxspec.prove(kernel).raise_if_bad()


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_examples_of_an_explanation(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {path.stem}: ")
    examples = re.findall(r"```python[^\n]*\n(.*?)```", text, re.S)
    if path.stem in WITHOUT_EXAMPLES:
        assert not examples
        return
    refused, accepted = examples
    assert text.index("Refused") < text.index("Accepted")
    with pytest.raises(PtxspecError) as caught:
        run(refused, f"<refused {path.stem}>")
    assert caught.value.code == path.stem, caught.value
    run(accepted, f"<accepted {path.stem}>")


def test_every_code_in_the_sources_is_explained() -> None:
    used: set[str] = set()
    for folder in ("lang", "layout", "scalar"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"K\d{3}",
                                                                                                   node.value):
                    used.add(node.value)
    assert used == {p.stem for p in FILES}
