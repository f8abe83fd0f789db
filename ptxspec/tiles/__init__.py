"""Cooperative tiles: loads and stores that the threads of a CTA share out among themselves.

A tile operation is no new mechanism. It expands, where it is written, into the instructions and branches that a person
would write by hand, so its accesses have the same obligations, proofs and report. What this package decides is who
owns which element (:mod:`.plan`), how wide each access can be (:mod:`.region`, :mod:`.access`) and what happens at the
edges (:mod:`.move`).
"""

from ptxspec.tiles.calls import tile_atomic_add, tile_load, tile_store
from ptxspec.tiles.indexed import tile_atomic_add_indexed, tile_load_indexed, tile_store_indexed
from ptxspec.tiles.tile import RegisterTile

__all__ = ["RegisterTile", "tile_atomic_add", "tile_atomic_add_indexed", "tile_load", "tile_load_indexed", "tile_store",
           "tile_store_indexed"]
