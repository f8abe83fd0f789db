"""The guides say what is: links, paths, codes, commands and the floors that they name."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ptxspec.backend.certify.command import main as certify

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("docs/instructions/", "docs/findings.md", "docs/since.md")
PAGES = sorted(str(p.relative_to(ROOT)) for p in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
GUIDES = [name for name in PAGES if not name.startswith(GENERATED)]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
# Generated at run time, or examples of names.
NOT_KEPT = {"specs/instructions/MNEMONIC.yaml", "specs/instructions/sad.yaml"}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(name: str) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", text_of(name), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(name)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = ((ROOT / name).parent / path).resolve() if path else ROOT / name
        assert target.exists(), f"{name} links to {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(str(target.relative_to(ROOT))), f"{name} links to {link}"
        if target.suffix == ".yaml" and anchor:
            assert int(anchor[1:]) <= len(target.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("name", GUIDES)
def test_paths_exist(name: str) -> None:
    for path in re.findall(r"`((?:specs|ptxspec|backend|tests|scripts|docs|examples)/[\w./-]+)`", text_of(name)):
        assert path in NOT_KEPT or (ROOT / path).exists(), f"{name} names {path}"


@pytest.mark.parametrize("name", GUIDES)
def test_codes_have_explanations(name: str) -> None:
    for code in re.findall(r"\b([SFLKPEARU]\d{3})\b", text_of(name)):
        assert (ROOT / "ptxspec" / "explanations" / f"{code}.md").is_file(), f"{name} names {code}"


@pytest.mark.parametrize("name", GUIDES)
def test_commands_exist(name: str) -> None:
    from ptxspec.cli.app import COMMANDS

    for command in re.findall(r"(?:`|\$ )ptxspec ([a-z]+)", text_of(name)):
        assert command in COMMANDS, f"{name} names ptxspec {command}"


@pytest.mark.parametrize("name", GUIDES)
def test_environment_variables_are_read_somewhere(name: str) -> None:
    files = [p for folder in ("ptxspec", "backend", "tests", "scripts") for p in (ROOT / folder).rglob("*")]
    code = [p.read_text(encoding="utf-8", errors="replace") for p in files
            if p.is_file() and p.suffix in ("", ".py") and p.name != Path(__file__).name]
    for variable in set(re.findall(r"\bPTXSPEC_[A-Z_]+\b", text_of(name))):
        assert any(variable in text for text in code), f"{name} names {variable}"


def test_the_index_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\(([^)#]+)\)", text_of("docs/index.md")))
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or page.name in linked, f"docs/index.md does not lead to {page.name}"
    for folder in (p for p in (ROOT / "docs").iterdir() if p.is_dir()):
        assert f"{folder.name}/README.md" in linked


OWN_TESTS = ("README.md", "docs/getting-started.md", "docs/extending.md")
SHOWN = [
    (name, command, said)
    for name in GUIDES if name not in OWN_TESTS
    for block in re.findall(r"```console\n(.*?)```", text_of(name), re.DOTALL)
    for command, said in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


@pytest.mark.parametrize(("name", "command", "shown"), SHOWN, ids=[f"{n}: {c}" for n, c, _ in SHOWN])
def test_a_command_prints_what_is_shown(name: str, command: str, shown: str) -> None:
    first, *arguments = shlex.split(command)
    assert first == "ptxspec"
    done = subprocess.run([sys.executable, "-m", "ptxspec", *arguments], cwd=ROOT, capture_output=True, text=True,
                          check=False, env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"})
    said = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).strip().splitlines())
    assert re.fullmatch(".*".join(re.escape(part) for part in shown.strip().split("...")), said, re.DOTALL), said


def test_every_page_with_programs_is_run_by_a_test() -> None:
    files = [p for p in (ROOT / "tests").rglob("test_*.py") if p.name != Path(__file__).name]
    tests = [p.read_text(encoding="utf-8") for p in files]
    for name in GUIDES:
        if "```python" in text_of(name):
            assert any(Path(name).name in text for text in tests), f"no test runs the programs of {name}"


def test_contributing_lists_the_kinds_of_certification(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        certify(["--help"])
    known = re.search(r"\{([\w,]+)\}", capsys.readouterr().out)
    assert known
    body = text_of("CONTRIBUTING.md").partition("## Certification")[2]
    assert set(re.findall(r"^\| `(\w+)` \|", body, re.MULTILINE)) == set(known.group(1).split(","))


def floors() -> list[list[str]]:
    block = re.search(r"## Floors.*?```text\n(.*?)```", ARCHITECTURE, re.DOTALL)
    assert block
    return [line.split() for line in block.group(1).splitlines()]


def unit(module: str) -> str:
    parts = module.split(".")
    if parts[:2] == ["ptxspec", "backend"]:
        return ".".join(parts[1:3])
    return parts[1] if len(parts) > 1 else ""


def imports(path: Path, module: str) -> Iterator[str]:
    """Names of modules that a file imports when it is loaded."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            whole = base in ("ptxspec", "ptxspec.backend")
            yield from (f"{base}.{a.name}" for a in node.names) if whole else (base,)


def test_the_floors_are_those_of_the_code() -> None:
    level = {name: height for height, row in enumerate(reversed(floors())) for name in row}
    seen = set()
    for folder, start in (("ptxspec", "ptxspec"), ("backend", "ptxspec.backend")):
        for path in (ROOT / folder).rglob("*.py"):
            inner = [p for p in path.relative_to(ROOT / folder).with_suffix("").parts if p != "__init__"]
            own = unit(".".join([start, *inner]))
            if own in ("", "backend", "__main__", "_version"):
                continue
            seen.add(own)
            assert own in level, f"docs/architecture.md has no floor for {own}"
            for name in imports(path, ".".join([start, *inner])):
                other = unit(name) if name.split(".")[0] == "ptxspec" else own
                if other not in ("", "backend", "_version"):
                    assert level[other] <= level[own], f"{path.relative_to(ROOT)} imports {name}, which lies higher"
    assert seen == set(level)


def test_named_types_exist() -> None:
    from importlib import import_module

    for name in re.findall(r"`(ptxspec(?:\.\w+)*\.[A-Z]\w+)`", ARCHITECTURE):
        module, _, attribute = name.rpartition(".")
        assert hasattr(import_module(module), attribute), name
