"""The files that a command line names: files, directories (all ``*.ptx`` below) and glob patterns."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path

from ptxspec.diagnostics import Diagnostic, UsageError


def ptx_files(names: Iterable[str]) -> list[Path]:
    """Each file once, in the order named (sorted below a directory or pattern).

    Raises :class:`UsageError` U130 for a name that is no file, or under which there is none.
    """
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        if path.is_dir():
            below = sorted(p for p in path.rglob("*.ptx") if p.is_file())
        elif not path.exists() and glob.has_magic(name):
            below = sorted(Path(p) for p in glob.glob(name, recursive=True) if Path(p).is_file())
        else:
            below = [path] if path.is_file() else []
        if not below:
            what = "has no PTX file below it" if path.is_dir() else "is not a file"
            raise UsageError(Diagnostic("U130", f"'{name}' {what}"))
        found.update(dict.fromkeys(below))
    return list(found)
