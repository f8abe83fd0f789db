"""The exported document has the published shape."""

from __future__ import annotations

import json
import subprocess
import sys

from ptxspec.spec.export import Export


def test_export_is_valid() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ptxspec", "export", "--format", "json"], capture_output=True, text=True, check=True
    )
    document = Export.model_validate(json.loads(done.stdout), by_alias=True, by_name=False)
    assert "ld" in document.instructions
    assert document.vocabulary.types.types["b32"].bits == 32
    assert document.findings.findings
