"""Warp's names that have nothing behind them here: called in a kernel, each says why and what to do instead (K244)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ptxspec.lang.errors import refuse
from ptxspec.lang.trace import intrinsic, where

_ACROSS = ("it combines elements of different threads, which is computation beyond moving tiles",
           "add tiles up in memory with wp.tile_atomic_add, or store the tile and combine it outside")
_ALGEBRA = ("it is linear algebra; tiles are moved and computed with element by element here",
            "store the tile and call a library of linear algebra")
_GEOMETRY = ("there are no meshes and trees of bounding volumes", "query with Warp itself, and load what it found")
_RANDOM = ("there are no random numbers", "fill an array with numbers beforehand and load it")
_STACK = ("there are no stacks of a block's threads",
          "give every thread its own place: wp.tile(x) is the tile of all threads' values")
_MATHEMATICS = ("numbers are added, multiplied, divided, compared and converted here, no more",
                "compute it beforehand and load the values, or write it with sums and products")

_GROUPS: tuple[tuple[tuple[str, str], str], ...] = (
    (_ACROSS, "tile_sum tile_min tile_max tile_argmin tile_argmax tile_reduce tile_dot tile_sort tile_scan_inclusive "
              "tile_scan_exclusive tile_scan_max_inclusive tile_scan_min_inclusive"),
    (_ALGEBRA, "tile_matmul tile_fft tile_ifft tile_cholesky tile_cholesky_inplace tile_cholesky_solve "
               "tile_cholesky_solve_inplace tile_lower_solve tile_lower_solve_inplace tile_upper_solve "
               "tile_upper_solve_inplace"),
    (_GEOMETRY, "tile_bvh_query_aabb tile_bvh_query_next tile_bvh_query_ray tile_mesh_query_aabb "
                "tile_mesh_query_aabb_next tile_query_valid bvh_query_aabb_tiled bvh_query_next_tiled "
                "bvh_query_ray_tiled mesh_query_aabb_next_tiled mesh_query_aabb_tiled"),
    (_RANDOM, "tile_randf tile_randi rand_init randf randi randn randu"),
    (_STACK, "tile_stack tile_stack_clear tile_stack_count tile_stack_pop tile_stack_push"),
    (_MATHEMATICS, "acos asin atan atan2 bit_count cbrt ceil copysign cos cosh degrees div_approx erf erfc erfcinv "
                   "erfinv exp floor frac log log10 log2 pow radians rint round sin sinh sqrt tan tanh trunc"),
)
#: Why, and what to do instead.
OUTSIDE: dict[str, tuple[str, str]] = {name: why for why, names in _GROUPS for name in names.split()}


def outside(name: str) -> Callable[..., object]:
    """A function that refuses to be called (K244)."""
    why, remedy = OUTSIDE[name]

    @intrinsic
    def missing(*args: object, **kwargs: object) -> NoReturn:
        refuse("K244", f"wp.{name} is not offered: {why}", where(), help=remedy)

    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = f"Refused: {why}."
    return missing
