"""Copy an array of any shape in tiles of 64 by 64, 256 threads a tile: whole vectors inside, single elements at edges.

The grid follows from the array's dimensions, which are known at launch. Where a tile lies inside, each thread moves
16-byte vectors if the row pitch allows; at the edges, what lies outside is neither read nor written.
"""

from ptxspec import T

M, N = T.dim("M"), T.dim("N")
TILE = 64


@T.function
def tile_copy(A: T.Tensor((M, N), "float32", align=16), B: T.Tensor((M, N), "float32", align=16)):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=((N + TILE - 1) // TILE, (M + TILE - 1) // TILE), block=256))
    T.assume(N % 4 == 0)   # rows are whole 16-byte vectors; checked at launch
    i, j = T.cuda.block_idx("y") * TILE, T.cuda.block_idx("x") * TILE
    t = T.tile_load(A, shape=(TILE, TILE), offset=(i, j))
    T.tile_store(B, t, offset=(i, j))
