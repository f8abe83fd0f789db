"""The long form of the assembler's codes: every code has one, and its examples do what they are said to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ptxspec.backend.assemble import toolchains

import ptxspec
from ptxspec.diagnostics import PtxspecError

FOLDER = Path(ptxspec.__file__).parent / "explanations"
FILES = sorted(FOLDER.glob("A*.md"))


@pytest.mark.skipif(not toolchains(), reason="no assembler on this machine")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith(f"# {path.stem}: ")
    examples = re.findall(r"```python run\n(.*?)```", text, re.DOTALL)
    if "This code has no example" in text:
        assert not examples
        return
    refused, accepted = examples
    with pytest.raises(PtxspecError) as caught:
        exec(compile(refused, f"<refused {path.stem}>", "exec"), {})
    assert caught.value.code == path.stem
    exec(compile(accepted, f"<accepted {path.stem}>", "exec"), {})


def test_every_code_of_the_backend_has_an_explanation(root: Path) -> None:
    used: set[str] = set()
    for folder in ("assemble", "arrays", "device", "certify"):
        for path in (root / "backend" / folder).glob("*.py"):
            used |= set(re.findall(r'"([AERU]\d{3})"', path.read_text(encoding="utf-8")))
    assert used
    assert {code for code in used if not (FOLDER / f"{code}.md").exists()} == set()
