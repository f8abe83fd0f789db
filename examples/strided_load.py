"""A strided tensor read with four-word loads into registers that lie two apart.

The logical axes of ``A`` are not in physical order; ``rearrange`` brings the four neighbouring words to the end, and
each load writes four separated registers. 105 loads, no copies in between.
"""

from ptxspec import T
from ptxspec.layout import S, TileLayout

global_layout = TileLayout(S[(15, 2, 7, 2) : (4, 1, 60, 2)])
register_layout = TileLayout(S[(15, 2, 7, 2) : (8, 2, 120, 4)])


@T.function
def strided_load(
    A: T.Tensor((15, 2, 7, 2), "float32", layout=global_layout, align=16),
    Out: T.Tensor((420,), "float32"),
):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
    R = T.alloc_tensor(
        ty_args=[T.Tensor((15, 2, 7, 2), "float32", scope="local", layout=register_layout)]
    )
    av = A.rearrange("i b j d -> j i (d b)")
    rv = R.rearrange("i b j d -> j i (d b)")
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], rv, av)
    for j, i, d, b in T.grid(7, 15, 2, 2):
        Out[60 * j + 4 * i + 2 * d + b] = R[i, b, j, d]
