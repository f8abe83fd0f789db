"""Cooperative tiles: loads and stores that the threads of a CTA share out among themselves.

A tile operation is no new mechanism. It expands, where it is written, into the instructions and branches that a person
would write by hand, so its accesses have the same obligations, proofs and report. What this package decides is who
owns which element (:mod:`.plan`), how wide each access can be (:mod:`.region`, :mod:`.access`) and what happens at the
edges (:mod:`.move`).
"""

from ptxspec.tiles.calls import tile_atomic_add, tile_load, tile_store
from ptxspec.tiles.computed import ComputedTile, tile_arange
from ptxspec.tiles.indexed import tile_atomic_add_indexed, tile_load_indexed, tile_store_indexed
from ptxspec.tiles.made import tile_full, tile_ones, tile_zeros
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tile import RegisterTile
from ptxspec.tiles.views import tile_broadcast, tile_reshape, tile_squeeze, tile_transpose, tile_view

__all__ = ["ComputedTile", "RegisterTile", "SharedTile", "tile_arange", "tile_atomic_add", "tile_atomic_add_indexed",
           "tile_broadcast", "tile_full", "tile_load", "tile_load_indexed", "tile_ones", "tile_reshape", "tile_squeeze",
           "tile_store", "tile_store_indexed", "tile_transpose", "tile_view", "tile_zeros"]
