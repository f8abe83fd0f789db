"""The kernel language whole: ``from ptxspec import T``. Tensors and instructions, and the cooperative tiles on top."""

from __future__ import annotations

from ptxspec.lang.t import *  # noqa: F403 - this is that namespace, with tiles added
from ptxspec.lang.t import __all__ as _language
from ptxspec.lang.t import cuda as cuda
from ptxspec.tiles import RegisterTile, tile_load, tile_store

__all__ = [*_language, "RegisterTile", "tile_load", "tile_store"]  # noqa: PLE0604
