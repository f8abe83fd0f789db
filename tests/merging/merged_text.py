"""What a merged kernel's text consists of."""

from __future__ import annotations

from ptxspec.backend.emit import emit
from ptxspec.backend.merging import merged

from ptxspec.lang import ir


def opcodes(k: ir.Kernel, sm: str = "sm_90") -> list[str]:
    """Loads and stores of the merged kernel's text, by name."""
    text = emit(merged(k, sm).kernel, sm).ptx
    words = [line.split()[0] for line in text.splitlines() if line.startswith(("    ld.", "    st."))]
    return sorted(w for w in words if ".param" not in w)
