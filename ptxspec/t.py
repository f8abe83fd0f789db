"""The kernel language whole: ``from ptxspec import T``. Tensors and instructions, and the cooperative tiles on top."""

from __future__ import annotations

from ptxspec.lang.t import *  # noqa: F403 - this is that namespace, with tiles added
from ptxspec.lang.t import __all__ as _language
from ptxspec.lang.t import cuda as cuda
from ptxspec.tiles import (
    RegisterTile,
    tile_atomic_add,
    tile_atomic_add_indexed,
    tile_load,
    tile_load_indexed,
    tile_store,
    tile_store_indexed,
)

__all__ = [*_language, "RegisterTile", "tile_atomic_add", "tile_atomic_add_indexed", "tile_load",  # noqa: PLE0604
           "tile_load_indexed", "tile_store", "tile_store_indexed"]
