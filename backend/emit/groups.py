"""Hardware coordinates of the issuing thread, as exact index expressions.

The linear thread number runs x fastest (PTX manual, "Thread Hierarchy"); lane and warp numbers follow from it.
"""

from __future__ import annotations

from ptxspec.lang.ir import Kernel
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Poly, Var


class Coordinates:
    """Expressions for ``laneid``, ``warpid`` and their kin of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._by_role: dict[str, Var] = {v.role: v for v in kernel.hardware}
        self._block = kernel.launch.block
        self._cluster = kernel.launch.cluster
        linear = ix.ZERO
        stride = 1
        for axis, extent in zip("xyz", self._block):
            if extent > 1:
                linear = ix.add(linear, ix.scale(ix.index(self.hardware(f"tid.{axis}", extent - 1)), stride))
            stride *= extent
        self.linear = linear

    def hardware(self, role: str, highest: int) -> Var:
        """The kernel's variable for a special register, or a new one where the kernel never named it."""
        found = self._by_role.get(role)
        if found is None:
            found = self._by_role[role] = Var(role, "int32", role, 0, highest)
        return found

    def axis(self, name: str) -> Poly:
        """The issuing thread's coordinate on group axis ``name``."""
        if name == "laneid":
            return ix.floormod(self.linear, 32)
        if name == "warpid":
            return ix.floordiv(self.linear, 32)
        if name == "wid_in_wg":
            return ix.floormod(ix.floordiv(self.linear, 32), 4)
        if name == "wgid":
            return ix.floordiv(self.linear, 128)
        if name == "tx":
            return self.linear
        if name in ("cbx", "cby", "cbz"):
            axis = name[-1]   # clusters tile the grid, so the place in a cluster follows from the block's
            block = ix.index(self.hardware(f"ctaid.{axis}", (1 << 31) - 2))
            return ix.floormod(block, self._cluster["xyz".index(axis)])
        if name in ("bx", "by", "bz"):
            return ix.index(self.hardware(f"ctaid.{name[-1]}", (1 << 31) - 2))
        raise KeyError(name)
