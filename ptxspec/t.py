"""The kernel language whole: ``from ptxspec import T``. Tensors and instructions, and the cooperative tiles on top."""

from __future__ import annotations

from ptxspec.lang.t import *  # noqa: F403 - this is that namespace, with tiles added
from ptxspec.lang.t import __all__ as _language
from ptxspec.lang.t import cuda as cuda
from ptxspec.tiles import (
    ComputedTile,
    RegisterTile,
    SharedTile,
    tile_arange,
    tile_atomic_add,
    tile_atomic_add_indexed,
    tile_broadcast,
    tile_full,
    tile_load,
    tile_load_indexed,
    tile_ones,
    tile_reshape,
    tile_squeeze,
    tile_store,
    tile_store_indexed,
    tile_transpose,
    tile_view,
    tile_zeros,
)

__all__ = [*_language, "ComputedTile", "RegisterTile", "SharedTile", "tile_arange", "tile_atomic_add",  # noqa: PLE0604
           "tile_atomic_add_indexed", "tile_broadcast", "tile_full", "tile_load", "tile_load_indexed", "tile_ones",
           "tile_reshape", "tile_squeeze", "tile_store", "tile_store_indexed", "tile_transpose", "tile_view",
           "tile_zeros"]
