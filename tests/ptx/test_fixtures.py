"""PTX as compilers write it: no false alarm, and what the parser reads is what was written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptxspec.ptx import parse
from ptxspec.ptx.lint import lint

FOLDER = Path(__file__).parent
FIXTURES = sorted((FOLDER / "fixtures").glob("*.ptx"))
# Small kernels as Triton 3.9.0 and Warp 1.19.0 compile them (debug sections and folders cut out).
PRODUCED = sorted((FOLDER / "produced").glob("*.ptx"))


def test_each_source_has_its_fixture() -> None:
    assert len(FIXTURES) >= 30
    assert {p.stem for p in FIXTURES} == {p.stem for p in (FOLDER / "cuda").glob("*.cu")}


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.stem)
def test_no_false_alarm_on_compiled_cuda(path: Path) -> None:
    result = lint(path.read_text(), path.name)
    # The vendor's compiler and library write the words of atom in an order that the manual does not have; to say so is
    # right. Nothing else may be found.
    order = [f for f in result.findings if f.code == "F105"]
    assert [f.to_json() for f in result.findings if f not in order] == []
    assert all(f.severity == "warning" and f.instruction.startswith("atom.") for f in order)
    assert result.instructions > 0
    assert result.checked >= result.instructions * 0.6
    assert result.instructions == result.checked + sum(result.unknown_mnemonics.values())


@pytest.mark.parametrize("path", PRODUCED, ids=lambda p: p.stem)
def test_no_false_alarm_on_kernels_of_triton_and_warp(path: Path) -> None:
    result = lint(path.read_text(), path.name)
    assert {p.stem.split("_")[0] for p in PRODUCED} == {"triton", "warp"}
    # Triton writes the words of atom and red in an order that the manual does not have; to say so is right.
    assert [f.to_json() for f in result.findings if f.code != "F105" or f.severity != "warning"] == []
    assert all(re.search(r"\b(atom|red)\.global\.gpu\.", f.instruction) for f in result.findings)
    assert result.instructions > 30
    assert result.checked >= result.instructions * 0.8


@pytest.mark.parametrize("path", [*FIXTURES, *PRODUCED], ids=lambda p: p.stem)
def test_every_instruction_is_read_in_full(path: Path) -> None:
    text = path.read_text()
    module = parse(text, path.name)
    lines = text.splitlines()
    for instruction in module.instructions:
        assert lines[instruction.line - 1][instruction.column - 1 :].startswith(instruction.mnemonic)
        written = re.sub(r"//[^\n]*|/\*.*?\*/|\s+", "", instruction.text, flags=re.S)
        printed = re.sub(r"\s+", "", str(instruction))
        # Zero offsets are not printed; everything else is.
        assert printed == written.replace("+0]", "]"), (instruction.line, instruction.text)
    semicolons = sum(
        line.count(";") for line in re.sub(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"", "", text, flags=re.S).splitlines()
        if not re.match(r"\s*\.|\s*\w+:\s*\.|.*\.(reg|extern|visible|weak|global|const|shared|alias|callproto)", line)
    )
    assert sum(1 for _ in module.instructions) >= semicolons * 0.9


@pytest.mark.parametrize("path", [*FIXTURES, *PRODUCED], ids=lambda p: p.stem)
def test_no_fixture_names_a_folder(path: Path) -> None:
    for line in path.read_text().splitlines():
        assert not re.match(r'\s*\.file\s+\d+\s+"[^"]*/', line), line
