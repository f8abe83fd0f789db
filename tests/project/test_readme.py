"""The README's examples: Python runs, commands print what is shown (``...`` stands for any text)."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [
    (command, shown)
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def test_there_is_something_to_run() -> None:
    assert PYTHON
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_python(number: int, tmp_path: Path) -> None:
    path = tmp_path / f"readme_{number}.py"
    path.write_text(PYTHON[number], encoding="utf-8")
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_command(command: str, shown: str) -> None:
    name, *arguments = shlex.split(command)
    assert name == "ptxspec"
    done = subprocess.run(
        [sys.executable, "-m", "ptxspec", *arguments], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
    )
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("..."))
    said = (done.stdout + done.stderr).strip()
    assert re.fullmatch(pattern, said, re.DOTALL), said


def test_links_lead_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "docs/index.md", "docs/design.md", "docs/certification/README.md"):
        page = ROOT / name
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{name} links to {link}"


def test_paths_that_the_guides_name_exist() -> None:
    named = re.compile(r"`((?:specs|ptxspec|backend|tests|scripts|docs|examples)/[\w./-]+)`")
    for name in ("README.md", "CONTRIBUTING.md", "docs/design.md"):
        for path in named.findall((ROOT / name).read_text(encoding="utf-8")):
            if "MNEMONIC" not in path:
                assert (ROOT / path).exists(), f"{name} names {path}"
