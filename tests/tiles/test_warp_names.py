"""Every public name of Warp 1.19 that has "tile" in it is here: it works, or says why not and what to do instead."""

from __future__ import annotations

import pytest

import ptxspec
from ptxspec.compat import warp as wp

#: The functions that kernels of Warp 1.19.0 can call, hidden ones left out.
WARP = """
bvh_query_aabb_tiled bvh_query_next_tiled bvh_query_ray_tiled mesh_query_aabb_next_tiled mesh_query_aabb_tiled tile
tile_arange tile_argmax tile_argmin tile_assign tile_astype tile_atomic_add tile_atomic_add_indexed tile_axpy
tile_broadcast tile_bvh_query_aabb tile_bvh_query_next tile_bvh_query_ray tile_cholesky tile_cholesky_inplace
tile_cholesky_solve tile_cholesky_solve_inplace tile_diag_add tile_dot tile_empty tile_extract tile_fft
tile_from_thread tile_full tile_ifft tile_load tile_load_indexed tile_lower_solve tile_lower_solve_inplace tile_map
tile_matmul tile_max tile_mesh_query_aabb tile_mesh_query_aabb_next tile_min tile_ones tile_query_valid tile_randf
tile_randi tile_reduce tile_reshape tile_scan_exclusive tile_scan_inclusive tile_scan_max_inclusive
tile_scan_min_inclusive tile_scatter_add tile_scatter_masked tile_slice_indexed tile_sort tile_squeeze tile_stack
tile_stack_clear tile_stack_count tile_stack_pop tile_stack_push tile_store tile_store_indexed tile_sum tile_transpose
tile_upper_solve tile_upper_solve_inplace tile_view tile_zeros untile
"""
NUMBERS = """
abs acos add asin atan atan2 bit_and bit_count bit_or bit_xor cbrt ceil clamp copysign cos cosh degrees div div_approx
erf erfc erfcinv erfinv exp floor floordiv frac invert isfinite isinf isnan log log10 log2 lshift max min mod mul neg
nonzero pos pow radians rint round rshift sign sin sinh sqrt step sub tan tanh trunc unot where
"""
#: What tiles of random numbers, which are refused, are made with.
RANDOM = "rand_init randf randi randn randu"


@pytest.mark.parametrize("name", [*WARP.split(), *NUMBERS.split(), *RANDOM.split()])
def test_every_name_works_or_is_refused(name) -> None:
    function = getattr(wp, name)
    if name in wp.__all__:
        assert name not in wp.OUTSIDE and function.__doc__
        return
    assert name in wp.OUTSIDE, name

    @wp.kernel
    def k(a: wp.array[float]):
        wp.tile_store(a, function(wp.tile_load(a, shape=8)))

    with pytest.raises(ptxspec.PtxspecError) as caught:
        wp.launch_tiled(k, dim=1, inputs=[wp.zeros(8)], block_dim=32)
    assert caught.value.code == "K244"
    [found] = caught.value.diagnostics
    assert name in found.message and found.span is not None and found.notes


def test_what_is_refused_is_named_once() -> None:
    assert not set(wp.OUTSIDE) & set(wp.__all__)
    assert set(wp.OUTSIDE) <= {*WARP.split(), *NUMBERS.split(), *RANDOM.split()}


def test_other_names_are_unknown() -> None:
    assert not hasattr(wp, "tile_nothing")

    @wp.kernel
    def k(a: wp.array[float]):
        wp.tile_store(a, wp.tile_nothing(wp.tile_load(a, shape=8)))

    with pytest.raises(ptxspec.PtxspecError) as caught:
        wp.launch_tiled(k, dim=1, inputs=[wp.zeros(8)], block_dim=32)
    assert caught.value.code == "K214"
