"""Rules about the project itself: size of files, what is tracked, what an import costs, what CI looks at."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

# Generated files are long by nature; each says so in its first lines.
GENERATED = ("backend/selector/", "ptxspec/forms/tables/")
LONGEST = 399
HEAVY = ("z3", "numpy", "pydantic", "yaml", "rich", "typer", "ptxspec.backend")


def tracked(root: Path) -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("this is no git checkout")
    return [name for name in done.stdout.decode().split("\0") if name and (root / name).is_file()]


def test_every_hand_written_file_is_short(root: Path) -> None:
    python = [name for name in tracked(root) if name.endswith(".py")]
    assert python
    long = {
        name: lines
        for name in python
        if not name.startswith(GENERATED)
        and (lines := len((root / name).read_text(encoding="utf-8").splitlines())) > LONGEST
    }
    assert not long, f"split these, one responsibility a file: {long}"


def test_generated_files_say_so(root: Path) -> None:
    for name in tracked(root):
        if name.startswith(GENERATED) and name.endswith(".py") and not name.endswith("__init__.py"):
            head = (root / name).read_text(encoding="utf-8")[:600].lower()
            assert "generated" in head, f"{name} does not say that it is generated"


def test_no_place_of_one_machine_in_tracked_files(root: Path) -> None:
    # Spelled in parts, so that this file does not hold what it forbids.
    machine = ["/" + "work/", "/" + "root/", "/" + "home/" + r"\w"]
    registry = ["py" + r"pi\.org", "python" + "hosted"]
    forbidden = re.compile("|".join(machine + registry))
    found = []
    for name in tracked(root):
        try:
            text = (root / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name}:{n}" for n, line in enumerate(text.splitlines(), 1) if forbidden.search(line)]
    assert not found


def test_import_loads_nothing_heavy(root: Path) -> None:
    code = f"import ptxspec, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_resolves(root: Path) -> None:
    import ptxspec

    for name in sorted({*ptxspec.__all__, *ptxspec._LAZY}):
        assert getattr(ptxspec, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_this_name'"):
        _ = ptxspec.nothing_of_this_name


@pytest.mark.parametrize(
    "pattern",
    [
        "tests/**/test_*.py", "specs/instructions/*.yaml", "specs/vocabulary/*.yaml", "backend/selector/*.py",
        "ptxspec/forms/tables/*.py", "examples/*.py", "examples/broken/*.py", "scripts/*", "docs/**/*.md",
    ],
)
def test_every_place_that_ci_reads_holds_something(root: Path, pattern: str) -> None:
    assert [path for path in root.glob(pattern) if path.name != "__init__.py"], f"nothing matches {pattern}"


def test_every_test_folder_is_collected(root: Path) -> None:
    config = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    folders = config["tool"]["pytest"]["ini_options"]["testpaths"]
    for name in tracked(root):
        if Path(name).name.startswith("test_") and name.endswith(".py"):
            assert any(name.startswith(f"{folder}/") for folder in folders), f"{name} is run by nothing"


def test_the_license_is_apache_2(root: Path) -> None:
    text = (root / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text


def test_versions_agree(root: Path) -> None:
    import ptxspec

    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## .*{re.escape(ptxspec.__version__)}", changelog, re.MULTILINE)


def test_the_readme_names_its_two_commands(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    for command in ("scripts/demo", "scripts/test"):
        assert command in text
        path = root / command
        assert path.stat().st_mode & 0o111, f"{command} is not executable"


def test_scripts_parse(root: Path) -> None:
    shell = [path for path in (root / "scripts").iterdir() if path.is_file() and not path.suffix]
    assert len(shell) >= 5
    for path in [*shell, root / ".ci" / "run"]:
        assert path.stat().st_mode & 0o111, f"{path.name} is not executable"
        subprocess.run(["bash", "-n", str(path)], check=True)
