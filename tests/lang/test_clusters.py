"""Clusters: blocks that know their place among their neighbours, and instructions spread over all of them."""

from __future__ import annotations

import numpy as np

import ptxspec
from ptxspec import T
from ptxspec.layout import S, TileLayout, cbx, laneid, warpid


def test_cluster_copy() -> None:
    spread = TileLayout(S[(2, 4, 32, 1) : (1 @ cbx, 1 @ warpid, 1 @ laneid, 1)])

    @T.function
    def kernel(A: T.Tensor((4, 128, 1), "float32"), B: T.Tensor((4, 128, 1), "float32"), C: T.Tensor((4,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=4, block=128, cluster=2))
        r = T.alloc_local((2, 4, 32, 1), layout=spread)
        pair = T.cuda.block_idx() // 2
        T.cuda.tile.apply(T.ptx["ld.global.b32"], r, A.view(2, 2, 4, 32, 1).sub[pair], scope="cluster")
        T.cuda.cluster_sync()
        T.cuda.tile.apply(T.ptx["st.global.b32"], B.view(2, 2, 4, 32, 1).sub[pair], r, scope="cluster")
        if T.cuda.thread_idx() == 0:
            C[pair * 2 + T.cuda.cluster_cta_id()] = T.cuda.cluster_cta_id()

    a, b = np.random.default_rng(7).random((4, 128, 1), dtype=np.float32), np.zeros((4, 128, 1), np.float32)
    c = np.full(4, 9, np.int32)
    ptxspec.compile(kernel, target="sim")(a, b, c)
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(c, [0, 1, 0, 1])
