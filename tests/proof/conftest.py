"""Makes the helpers next to these tests and the scripts' packages importable."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in (HERE.parents[1] / "scripts", HERE):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
