"""Lay the three folders out as the one package that they are installed as, for tools that read files, not imports.

``build/staged/ptxspec`` then has the links that setup.py describes: everything of ``ptxspec/``, and ``backend`` and
``specs`` inside it. mypy and import-linter run there, so they see ``ptxspec.backend`` under its real name.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGED = ROOT / "build" / "staged"


def stage() -> Path:
    """Make the folder anew and return it; links, so nothing in it can be out of date."""
    shutil.rmtree(STAGED, ignore_errors=True)
    package = STAGED / "ptxspec"
    package.mkdir(parents=True)
    for entry in sorted((ROOT / "ptxspec").iterdir()):
        if entry.name != "__pycache__":
            (package / entry.name).symlink_to(entry)
    for name in ("backend", "specs"):
        (package / name).symlink_to(ROOT / name)
    return STAGED


if __name__ == "__main__":
    sys.stdout.write(f"{stage()}\n")
