"""What tests of Warp's tiles share: a launch of one block, and a structure."""

from __future__ import annotations

from ptxspec.compat import warp as wp


@wp.struct
class Sample:
    x: wp.float32
    y: wp.vec3


def run(kernel, *arguments, block: int = 32) -> None:
    """Launch one block of ``block`` threads."""
    wp.launch_tiled(kernel, dim=1, inputs=list(arguments), block_dim=block)
