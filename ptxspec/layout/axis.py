"""Physical axes a layout may place elements on: the memory axis and the hardware's coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.layout.value import Like, to_poly
from ptxspec.scalar.expr import Poly, show

#: Every axis name, with what a coordinate on it means.
AXES: dict[str, str] = {
    "m": "position in memory, or register number of the owning thread, in elements",
    "laneid": "lane within the warp, 0 to 31",
    "warpid": "warp within the CTA",
    "tx": "linear thread within the CTA: 32 * warpid + laneid",
    "wid_in_wg": "warp within the warpgroup, 0 to 3",
    "wgid": "warpgroup within the CTA",
    "bx": "CTA within the grid, x", "by": "CTA within the grid, y", "bz": "CTA within the grid, z",
    "cbx": "CTA within the cluster, x", "cby": "CTA within the cluster, y", "cbz": "CTA within the cluster, z",
}


@dataclass(frozen=True, slots=True)
class Axis:
    """A physical axis; ``stride @ axis`` puts a stride or an offset on it."""

    name: str

    def __rmatmul__(self, stride: Like) -> OnAxis:
        return OnAxis(to_poly(stride, "a stride"), self.name)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OnAxis:
    """``amount @ axis``: a stride or an offset on a named axis."""

    amount: Poly
    axis: str

    def __neg__(self) -> OnAxis:
        from ptxspec.scalar import index as ix
        return OnAxis(ix.neg(self.amount), self.axis)

    def __repr__(self) -> str:
        return show(self.amount) if self.axis == "m" else f"{show(self.amount, 11)} @ {self.axis}"


m = Axis("m")
laneid = Axis("laneid")
warpid = Axis("warpid")
tx = Axis("tx")
wid_in_wg = Axis("wid_in_wg")
wgid = Axis("wgid")
bx, by, bz = Axis("bx"), Axis("by"), Axis("bz")
cbx, cby, cbz = Axis("cbx"), Axis("cby"), Axis("cbz")
