"""Campaigns: the database against real assemblers (a sample of it, each time), and the machinery around."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from ptxspec.backend.certify import Disagreement, Plan, Setting, run, summary, write
from ptxspec.backend.certify import campaign as machinery
from ptxspec.backend.certify.command import main
from ptxspec.backend.certify.compare import Tally, grouped
from ptxspec.backend.certify.settings import SPREAD, grid, spread, toolkits

from ptxspec.forms import registry

needs_ptxas = pytest.mark.skipif(not toolkits(), reason="no ptxas of a known toolkit on this machine")
SEED = int(os.environ.get("PTXSPEC_SEED", "20"))
SMALL = Plan("sample", ("ldu",), 40, SEED, settings=(Setting((8, 0), "sm_80"),))


@needs_ptxas
def test_the_database_agrees_with_every_assembler_on_a_sample() -> None:
    result = run(Plan("sample", registry.mnemonics(), 40, SEED))
    assert result.asked >= 40 * len(registry.mnemonics())
    assert not result.disagreements, summary(result)


@needs_ptxas
@pytest.mark.slow
def test_the_database_agrees_about_loads_and_stores_on_a_larger_sample() -> None:
    result = run(Plan("sample", ("ld", "ldu", "mov", "st"), 1500, SEED + 1))
    assert not result.disagreements, summary(result)


@needs_ptxas
@pytest.mark.slow
def test_the_floors_agree_under_every_version_and_target() -> None:
    result = run(Plan("grid", registry.mnemonics(), 3, SEED + 2))
    assert not result.disagreements, summary(result)


@needs_ptxas
def test_lint_agrees_with_every_assembler_on_operands() -> None:
    result = run(Plan("operands", registry.mnemonics(), 12, SEED + 3))
    assert not result.disagreements, summary(result)


@needs_ptxas
@pytest.mark.slow
def test_code_is_generated_in_kernels_as_predicted() -> None:
    result = run(Plan("entry", registry.mnemonics(), 6, SEED + 5))
    assert not result.disagreements, summary(result)


@needs_ptxas
@pytest.mark.slow
def test_lint_agrees_about_loads_and_stores_on_a_larger_sample() -> None:
    result = run(Plan("operands", ("ld", "ldu", "mov", "st"), 60, SEED + 4))
    assert not result.disagreements, summary(result)


@needs_ptxas
def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(SMALL)
    first = run(SMALL, tmp_path)
    (state,) = tmp_path.iterdir()
    lines = state.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(first.tallies) == len(whole.tallies)
    # Stopped while writing the last unit.
    state.write_text("\n".join([*lines[:-1], lines[-1][:20]]), encoding="utf-8")
    asked: list[str] = []
    real = machinery.compare

    def counted(toolkit: str, *rest: object, operands: bool) -> dict[str, Tally]:
        asked.append(toolkit)
        return real(toolkit, *rest, operands=operands)  # type: ignore[arg-type]

    monkeypatch.setattr(machinery, "compare", counted)
    again = run(SMALL, tmp_path)
    assert len(asked) == 1
    assert again.tallies == first.tallies == whole.tallies


@needs_ptxas
def test_progress_and_report(tmp_path: Path) -> None:
    said = io.StringIO()
    result = run(SMALL, None, said)
    assert "units" in said.getvalue()
    data, page = write(result, tmp_path, "2026-01-02")
    read = json.loads(data.read_text(encoding="utf-8"))
    assert read["date"] == "2026-01-02"
    assert read["columns"][0] == "asked"
    assert sum(int(unit.split()[0]) for unit in read["units"].values()) == result.asked
    assert f"{result.asked:,} lines" in page.read_text(encoding="utf-8")
    assert "unexplained differences" in summary(result)


def test_differences_are_grouped_with_the_shortest_example() -> None:
    def one(line: str, message: str) -> Disagreement:
        return Disagreement("13.0", "9.0", "sm_90", line, "accept", "", (), "reject", message)

    found = [one("ld.b32 %r0;", "Unknown '.x'"), one("ld.b8 %r0;", "Unknown '.y'"), one("st.b8 %r0;", "Unknown '.x'")]
    counts = [(count, example.line) for count, example in grouped(found)]
    assert counts == [(2, "ld.b8 %r0;"), (1, "st.b8 %r0;")]
    result = machinery.Result(SMALL, {"13.0|9.0|sm_90|ld": Tally(3, 0, 0, 3, found)})
    assert "2 x `ld.b8 %r0;` predicted accept, reject by 13.0" in summary(result)


def test_settings_are_those_that_the_toolkits_know() -> None:
    for name in registry.vocabulary().toolkits:
        known = grid(name)
        assert known
        assert all(setting.ptx >= (6, 0) for setting in known)
        assert spread(name)
    assert len(SPREAD) >= 15


@pytest.mark.parametrize(
    "arguments",
    [
        ["sample", "--mnemonic", "nothing"], ["sample", "--toolkit", "99.9"], ["sample", "--lines", "0"],
        ["sample", "--setting", "sm_90"], ["sample", "--setting", "x.y:sm_90"],
    ],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "error[U16" in capsys.readouterr().err


@needs_ptxas
def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["sample", "--mnemonic", "ldu", "--lines", "20", "--setting", "8.0:sm_80", "--report", str(tmp_path)]
    assert main([*arguments, "--quiet"]) == 0
    assert "0 unexplained differences" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {"sample.json", "sample.md"}
