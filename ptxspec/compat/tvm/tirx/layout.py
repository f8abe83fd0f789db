"""Layouts under the other system's module name."""

from ptxspec.layout import Axis, ComposeLayout, R, S, TileLayout, bx, by, bz, laneid, m, tx, warpid, wgid, wid_in_wg

__all__ = ["Axis", "ComposeLayout", "R", "S", "TileLayout", "bx", "by", "bz", "laneid", "m", "tx", "warpid", "wgid",
           "wid_in_wg"]
