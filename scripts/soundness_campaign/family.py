"""The lines of one random kernel: what all families of the campaign share."""

from __future__ import annotations

import random

from proof_support.maker import Made

__all__ = ["Family", "Made"]

HEAD = """\
import ptxspec.lang.t as T
from ptxspec.layout import R, S, ComposeLayout, TileLayout, cbx, laneid, warpid, wid_in_wg


@T.function
def kernel({params}):
"""


class Family:
    """Lines of one kernel."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.params: list[str] = []
        self.values: dict[str, range] = {}

    def emit(self, text: str, depth: int = 1) -> None:
        """One line."""
        self.lines.append("    " * depth + text)

    def launch(self, grid: int, block: str, cluster: int = 1) -> None:
        """The launch."""
        more = f", cluster={cluster}" if cluster > 1 else ""
        self.emit(f"T.device_entry(launch=T.cuda.LaunchConfig(grid={grid}, block={block}{more}))")

    def done(self) -> Made:
        """The whole source."""
        return Made(HEAD.format(params=", ".join(self.params)) + "\n".join(self.lines) + "\n", self.values)
