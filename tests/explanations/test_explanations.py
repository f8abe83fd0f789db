"""Every explanation's examples are run: the refused one fails with its code, the accepted one passes."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

import ptxspec
from ptxspec.cli.explain import codes, read, title
from ptxspec.diagnostics import PtxspecError

_BLOCK = re.compile(r"^## (Refused|Accepted)\n\n```([a-z ]+)\n(.*?)^```", re.M | re.S)


@dataclass(frozen=True)
class Example:
    code: str
    accepted: bool
    kind: str
    text: str


def examples() -> list[Example]:
    found = []
    for code in codes():
        for heading, kind, text in _BLOCK.findall(read(code)):
            found.append(Example(code, heading == "Accepted", kind, text))
    return found


def outcome(example: Example, folder: Path) -> set[str]:
    """The codes that an example is refused with."""
    kind, text = example.kind, example.text
    if kind in ("python kernel", "python run"):
        return _python(example, folder)
    if kind == "text opcode":
        db = ptxspec.database()
        return {db.check(line).code for line in text.split()} - {""}
    if kind == "ptx":
        return {f.code for f in ptxspec.lint(text, "example.ptx").findings}
    if kind == "yaml change":
        return _changed_spec(text)
    assert kind == "console", kind
    return _console(text, folder)


def _changed_spec(text: str) -> set[str]:
    """Codes for ``ldu.yaml`` with the lines after ``-`` replaced by those after ``+``."""
    from ptxspec import source
    from ptxspec.db.link import Linker
    from ptxspec.db.lint import lint
    from ptxspec.db.load import Entry, packaged, validate
    from ptxspec.db.load import read as read_specs
    from ptxspec.spec.instruction import Instruction
    old = "\n".join(line[2:] for line in text.splitlines() if line.startswith("- "))
    new = "\n".join(line[2:] for line in text.splitlines() if line.startswith("+ "))
    original = (packaged() / "instructions" / "ldu.yaml").read_text(encoding="utf-8")
    assert old in original
    specs = read_specs()
    try:
        document = source.load(original.replace(old, new, 1), "specs/instructions/ldu.yaml")
        linker = Linker(Entry(validate(document, Instruction), document, "0"), specs)
        linked = linker.instruction()
        problems = linker.problems or lint(specs, {"ldu": linked})
    except PtxspecError as error:
        problems = list(error.diagnostics)
    return {d.code for d in problems}


def _python(example: Example, folder: Path) -> set[str]:
    file = folder / f"example_{example.code}_{example.accepted}.py"
    file.write_text(example.text)
    from ptxspec.cli.kernels import kernels, load
    try:
        if example.kind == "python run":
            load(file)
            return set()
        for kernel in kernels(str(file)):
            ptxspec.compile(kernel, target="sm_90")
    except PtxspecError as error:
        return {d.code for d in error.diagnostics}
    return set()


SETUP = {
    "copy.py": """from ptxspec import T

@T.function
def k(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    A[T.cuda.thread_idx("x")] = 1.0
""",
    "add_bf16.py": """from ptxspec import T

@T.function
def k(A: T.Tensor((64,), "bfloat16")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    i = T.cuda.thread_idx("x")
    A[i] = A[i] + A[i]
""",
    "two.py": """from ptxspec import T

@T.function
def first(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    A[T.cuda.thread_idx("x")] = 1.0

@T.function
def second(A: T.Tensor((64,), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
    A[T.cuda.thread_idx("x")] = 2.0
""",
    "empty.py": "x = 1\n",
    "failing.py": "import a_module_that_is_not_there\n",
    "good.ptx": ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
}


def _console(text: str, folder: Path) -> set[str]:
    """Commands in a folder with :data:`SETUP`; the codes are read from what they print."""
    from ptxspec.cli import run
    for name, content in SETUP.items():
        (folder / name).write_text(content)
    found: set[str] = set()
    import os
    import shlex
    before = os.getcwd()
    os.chdir(folder)
    try:
        for line in text.splitlines():
            words = shlex.split(line)
            assert words[0] == "ptxspec", line
            out, err = io.StringIO(), io.StringIO()
            with redirect_stdout(out), redirect_stderr(err):
                run(words[1:])
            found |= set(re.findall(r"error\[([A-Z]\d{3})\]", out.getvalue() + err.getvalue()))
    finally:
        os.chdir(before)
    return found


@pytest.mark.parametrize("example", examples(), ids=lambda e: f"{e.code}-{'accepted' if e.accepted else 'refused'}")
def test_example(example: Example, tmp_path: Path) -> None:
    found = outcome(example, tmp_path)
    if example.accepted:
        assert not found
    else:
        assert example.code in found, found


def test_every_code_has_an_explanation(root: Path) -> None:
    """A code that some source names and nobody explains is an error here, and so is an explanation of no code."""
    named: set[str] = set()
    for folder in ("ptxspec", "backend"):
        for file in (root / folder).rglob("*.py"):
            named |= set(re.findall(r"[\"']([SFLKPEARU]\d{3})[\"']", file.read_text()))
    assert named - set(codes()) == set()
    assert set(codes()) - named == set()


def test_every_explanation_has_the_same_form() -> None:
    for code in codes():
        text = read(code)
        assert text.startswith(f"# {code}: "), code
        assert title(code)[0].islower() or title(code)[0] in "`ACPR", title(code)
        blocks = _BLOCK.findall(text)
        assert [b[0] for b in blocks] in (["Refused", "Accepted"], ["Refused"]) or "has no example" in text, code


def test_explain_command_prints_it() -> None:
    done = subprocess.run([sys.executable, "-m", "ptxspec", "explain", "P103"], capture_output=True, text=True,
                          check=True)
    assert done.stdout.startswith("# P103: an index out of bounds")
