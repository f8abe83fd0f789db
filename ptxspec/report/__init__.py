"""Reports for people: pages with drawings of proofs, layouts and accesses, notebook views, replayed counterexamples.

Everything is loaded on first use; importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptxspec.backend.replay import Replay
    from ptxspec.lang.function import KernelFunction
    from ptxspec.lang.ir import Kernel
    from ptxspec.proof import Obligation, ProofReport
    from ptxspec.report.diff import Difference, difference
    from ptxspec.report.draw_layout import diff_svg, layout_svg
    from ptxspec.report.page import page

_LAZY = {
    "Difference": "ptxspec.report.diff", "difference": "ptxspec.report.diff", "diff_svg": "ptxspec.report.draw_layout",
    "layout_svg": "ptxspec.report.draw_layout", "page": "ptxspec.report.page", "Replay": "ptxspec.backend.replay",
}

__all__ = ["Difference", "Replay", "diff_svg", "difference", "layout_svg", "page", "replay", "replay_all"]


def replay(kernel: KernelFunction | Kernel, obligation: Obligation, sm: str = "sm_90") -> Replay:
    """Run the counterexample of a refuted ``obligation`` in the simulator and compare what it shows.

    The result's ``status`` is ``same``, ``differs``, ``hidden``, ``terms`` or ``not run``; ``str(result)`` is the
    text of ``ptxspec prove --replay``.
    """
    from ptxspec.backend.replay import replay as run
    from ptxspec.lang.ir import Kernel
    return run(kernel if isinstance(kernel, Kernel) else kernel.kernel_for(sm), obligation, sm)


def replay_all(kernel: KernelFunction | Kernel, report: ProofReport) -> list[Replay]:
    """:func:`replay` for every refuted obligation of ``report``."""
    return [replay(kernel, o, report.sm) for o in report.obligations if o.verdict == "refuted"]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'ptxspec.report' has no attribute {name!r}")
