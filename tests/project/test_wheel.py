"""The built wheel: everything it needs is in it, and it works far from the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """Built from a copy, so that what an earlier build left in the checkout cannot help."""
    source = tmp_path_factory.mktemp("source") / "ptxspec"
    source.mkdir()
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(root / name, source / name)
    for name in ("ptxspec", "backend", "specs"):
        shutil.copytree(root / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (built,) = out.glob("*.whl")
    return built


def test_every_file_of_the_packages_is_in_it(wheel: Path, root: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    for folder, package in (("ptxspec", "ptxspec"), ("backend", "ptxspec/backend"), ("specs", "ptxspec/specs")):
        for path in (root / folder).rglob("*"):
            if path.suffix in {".py", ".yaml", ".json", ".typed"} and "__pycache__" not in path.parts:
                assert f"{package}/{path.relative_to(root / folder)}" in held
    assert not [name for name in held if name.startswith(("tests", "scripts", "examples", "backend", "specs"))]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel in it; the dependencies are lent by this environment, after the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    asked = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    site = Path(asked.stdout.strip())
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # A plain path line does not run the .pth files of the lender, so its editable install of ptxspec stays out.
    import numpy

    (site / "lent.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n", encoding="utf-8")
    return python


def run(python: Path, code: str, folder: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PTXSPEC"))}
    done = subprocess.run(
        [python, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_comes_from_the_wheel_and_not_from_the_checkout(installed: Path, tmp_path: Path, root: Path) -> None:
    for name in ("ptxspec", "ptxspec.backend", "ptxspec.specs"):
        found = run(installed, f"import {name} as module; print(module.__file__)", tmp_path)
        assert found
        assert str(root) not in found


def test_the_database_answers_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    code = "import ptxspec; v = ptxspec.database().check('ld.global.v4.b32'); print(v.legal)"
    assert run(installed, code, tmp_path) == "True"


def test_the_command_line_answers_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    code = "import sys; from ptxspec.cli import main; sys.argv = ['ptxspec', 'check', 'ld.global.v4.b32']; main()"
    assert "ld.global.v4.b32" in run(installed, code, tmp_path)
