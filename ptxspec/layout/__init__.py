"""Layouts: where each logical element lies in memory, in registers and among threads."""

from ptxspec.layout.axis import (
    AXES,
    Axis,
    OnAxis,
    bx,
    by,
    bz,
    cbx,
    cby,
    cbz,
    laneid,
    m,
    tx,
    warpid,
    wgid,
    wid_in_wg,
)
from ptxspec.layout.base import Layout, ravel, unravel
from ptxspec.layout.compose import ComposeLayout
from ptxspec.layout.spec import Iter, R, S, Spec
from ptxspec.layout.tile import TileLayout
from ptxspec.layout.value import Value, exact_div, product, show_shape, to_poly

__all__ = [
    "AXES", "Axis", "ComposeLayout", "Iter", "Layout", "OnAxis", "R", "S", "Spec", "TileLayout", "Value", "bx", "by",
    "bz", "cbx", "cby", "cbz", "exact_div", "laneid", "m", "product", "ravel", "show_shape", "to_poly", "tx", "unravel",
    "warpid", "wgid", "wid_in_wg",
]
