"""docs/running.md: its programs run, each in a process of its own."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "running.md"
TEXT = PAGE.read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", TEXT, re.DOTALL))


def run(folder: Path, name: str) -> None:
    for file, text in FILES.items():
        (folder / file).write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, name], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_has_its_programs() -> None:
    assert list(FILES) == ["kernel.py", "host.py", "gpu.py"]
    assert TEXT.count("```python") == len(FILES)


def test_host_arrays(tmp_path: Path) -> None:
    run(tmp_path, "host.py")


@pytest.mark.gpu
def test_device_arrays(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    run(tmp_path, "gpu.py")


def test_its_attributes_exist() -> None:
    from ptxspec.backend.executable import Executable

    source = Path(sys.modules[Executable.__module__].__file__ or "").read_text(encoding="utf-8")
    for name in re.findall(r"`exe\.(\w+)`", TEXT):
        assert hasattr(Executable, name) or f"self.{name}" in source, name
