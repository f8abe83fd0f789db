"""Broken vocabularies are refused with their place before anything is generated from them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ptxspec.db.link import link
from ptxspec.db.lint import lint
from ptxspec.db.load import packaged, read
from ptxspec.diagnostics import SpecError


@pytest.mark.parametrize(
    ("file", "old", "new", "code", "line_with"),
    [
        ("targets", '  sm_90: "7.8"\n', "", "S031", "sm_90"),
        ("targets", '"7.7", "7.8"', '"7.7"', "S031", "7.8"),
        ("targets", '"8.8", "9.0"', '"9.0", "8.8"', "S031", "versions"),
        ("toolkits", 'sm_88: "7.3"', 'sm_99: "7.3"', "S031", "sm_99"),
        ("toolkits", 'ptx: "9.5"', 'ptx: "9.9"', "S031", "9.9"),
        ("types", "{bits: 32,  class: float}", "{bits: 33,  class: float}", "S031", "33"),
        ("words", "v8: 8", "v8: 800", "S031", "v8"),
        ("special-registers", "type: pred", "type: prad", "S031", "prad"),
        ("types", "  b8:     {bits: 8,   class: bits}\n", "", "S040", "b8"),
        ("words", ", v4: 4", "", "S040", "v4"),
        ("types", "class: predicate", "class: predicates", "S012", "class"),
        ("targets", 'sm_90: "7.8"', "sm_90: 7.8", "S006", "7.8"),
    ],
)
def test_refused(tmp_path: Path, file: str, old: str, new: str, code: str, line_with: str) -> None:
    folder = tmp_path / "specs"
    shutil.copytree(Path(str(packaged())), folder)
    for path in (folder / "instructions").glob("*.yaml"):
        if path.stem not in ("ldu", "mov"):
            path.unlink()
    (folder / "findings.yaml").write_text("format: findings/1\nfindings: []\n", encoding="utf-8")
    mov = folder / "instructions" / "mov.yaml"
    mov.write_text(mov.read_text(encoding="utf-8").replace("    documented: false\n", ""), encoding="utf-8")
    changed = folder / "vocabulary" / f"{file}.yaml"
    text = changed.read_text(encoding="utf-8")
    assert old in text
    changed.write_text(text.replace(old, new, 1), encoding="utf-8")
    try:
        specs = read(folder)
        problems = lint(specs, link(specs))
    except SpecError as error:
        problems = list(error.diagnostics)
    assert any(d.code == code and line_with in d.render(source=False) + _line(d, folder) for d in problems), problems
    assert all(d.span is not None for d in problems)


def _line(diagnostic: object, folder: Path) -> str:
    span = getattr(diagnostic, "span", None)
    assert span is not None
    return (folder.parent / span.file).read_text(encoding="utf-8").splitlines()[span.line - 1]
