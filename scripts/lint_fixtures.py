"""Compile tests/ptx/cuda/*.cu with nvcc and refresh tests/ptx/fixtures/*.ptx.

    python scripts/lint_fixtures.py [NVCC]

The PTX that nvcc writes is kept as it is, but for what names this machine or is of no use to a test: paths in ``.file``
directives are cut to their last part, and the debug sections of ``-G`` (which spell the folder byte by byte) to a few
lines. nvcc's own ptxas assembles each file before that, so a fixture is PTX that a real assembler takes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "ptx" / "cuda"
FIXTURES = ROOT / "tests" / "ptx" / "fixtures"
NEEDS = {"clusters": "sm_90", "bulk_copy": "sm_90", "fp8": "sm_90", "wide_types": "sm_100", "tensor_core": "sm_80",
         "async_copy": "sm_80", "groups": "sm_80", "inline_asm": "sm_80"}
TARGETS = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120", "sm_89")
OPTIONS: tuple[tuple[str, ...], ...] = ((), ("-lineinfo",), ("-Xcicc", "-O1"), ("-use_fast_math",))
DEBUG = {"calls", "control"}


def clean(text: str, debug: bool) -> str:
    """The text without this machine's paths."""
    text = re.sub(r'(\.file\s+\d+\s+)"[^"\n]*?([^"/\n]+)"[^\n]*', r'\1"\2"', text)

    def shorten(match: re.Match[str]) -> str:
        lines = [line for line in match[2].splitlines() if line.strip()]
        kept = [line for line in lines if re.match(r"\s*\.b(8|32|64)\s+[\w.+-]+\s*$", line)][:6]
        return match[1] + "\n" + "\n".join(kept or lines[:1]) + "\n}"

    if not debug:
        return text
    return re.sub(r"(\.section\s+[\w.$]+\s*\{)(.*?)\}", shorten, text, flags=re.S)


def main() -> int:
    """Compile, assemble, write; the exit status is 1 when a source does not compile."""
    nvcc = sys.argv[1] if len(sys.argv) > 1 else shutil.which("nvcc")
    if nvcc is None:
        print("nvcc is not on PATH", file=sys.stderr)
        return 2
    FIXTURES.mkdir(exist_ok=True)
    failed = 0
    for number, source in enumerate(sorted(SOURCES.glob("*.cu"))):
        name = source.stem
        target = NEEDS.get(name, TARGETS[number % len(TARGETS)])
        options = ("-G",) if name in DEBUG else OPTIONS[number % len(OPTIONS)]
        with tempfile.TemporaryDirectory() as folder:
            ptx = Path(folder, f"{name}.ptx")
            command = [nvcc, "-std=c++17", f"-arch={target}", *options, "-ptx", str(source), "-o", str(ptx)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name}: nvcc failed\n{done.stderr[:2000]}", file=sys.stderr)
                failed += 1
                continue
            text = clean(ptx.read_text(), name in DEBUG)
            ptxas = shutil.which("ptxas", path=str(Path(nvcc).resolve().parent)) or shutil.which("ptxas")
            assert ptxas is not None
            done = subprocess.run([ptxas, "-c", f"-arch={target}", str(ptx), "-o", str(Path(folder, "out"))],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{name}: ptxas refuses it\n{done.stderr[:2000]}", file=sys.stderr)
                failed += 1
                continue
            (FIXTURES / f"{name}.ptx").write_text(text)
            print(f"{name}: {target}, {len(text)} bytes")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
