"""Machine code as text, through ``nvdisasm`` or ``cuobjdump`` where one is found (codes A110 and A111)."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ptxspec.diagnostics import AssembleError, Note, fail

from .module import Cubin
from .toolchain import toolkit_files, wheel_files


def disassembler() -> str:
    """Path of the first disassembler that runs, empty where there is none."""
    for path in (*wheel_files("nvdisasm", "cuobjdump"), *toolkit_files("nvdisasm", "cuobjdump")):
        try:
            if subprocess.run([path, "--version"], capture_output=True, timeout=30, check=False).returncode == 0:
                return str(path)
        except (OSError, subprocess.SubprocessError):
            continue
    return ""


def disassemble(cubin: Cubin | bytes) -> str:
    """SASS of every entry in ``cubin``; A110 where no disassembler is found, A111 where it refuses the bytes."""
    tool = disassembler()
    if not tool:
        raise fail(
            AssembleError,
            "A110",
            "no disassembler on this machine: neither nvdisasm nor cuobjdump",
            notes=(Note("help", "install the package's extra: pip install 'ptxspec[assemble]'"),),
        )
    with tempfile.TemporaryDirectory(prefix="ptxspec-") as folder:
        path = Path(folder) / "module.cubin"
        path.write_bytes(cubin if isinstance(cubin, bytes) else cubin.data)
        flags = ["-c"] if Path(tool).name.startswith("nvdisasm") else ["-sass"]
        done = subprocess.run(
            [tool, *flags, path.name], cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise fail(AssembleError, "A111", f"{Path(tool).name} could not read the module: {reason}")
    return done.stdout
