"""The first steps, followed literally in an empty folder (``...`` stands for any text)."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "getting-started.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", TEXT, re.DOTALL))
COMMANDS = [
    (command, shown)
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(f"# {name}\n{text}", encoding="utf-8")
    return tmp_path


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "PTXSPEC_CACHE": "off"}
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False,
                          env=environment)


def test_every_program_has_a_name() -> None:
    assert list(FILES) == ["shift.py", "fixed.py", "run.py", "gpu.py"]
    assert TEXT.count("```python") == len(FILES)
    assert len(COMMANDS) == 6


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_prints_what_is_shown(folder: Path, command: str, shown: str) -> None:
    name, *arguments = shlex.split(command)
    assert name == "ptxspec"
    done = python(folder, "-m", "ptxspec", *arguments)
    said = (done.stdout + done.stderr).strip()
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("..."))
    assert re.fullmatch(pattern, said, re.DOTALL), said
    assert done.returncode == (1 if "refuted" in said or "error[" in said else 0)


def test_the_program_runs(folder: Path) -> None:
    done = python(folder, "run.py")
    assert done.returncode == 0, done.stderr


def test_the_obvious_guard_is_refused(folder: Path) -> None:
    text = FILES["fixed.py"].replace("row < N - 1", "row + 1 < N")
    (folder / "wrong.py").write_text(text, encoding="utf-8")
    done = python(folder, "-m", "ptxspec", "prove", "wrong.py")
    assert done.returncode == 1
    assert "error[P109]" in done.stdout
    assert "N = 21474835" in done.stdout


@pytest.mark.gpu
def test_the_program_runs_on_the_gpu(folder: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    done = python(folder, "gpu.py")
    assert done.returncode == 0, done.stderr
