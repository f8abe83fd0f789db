// Cooperative groups: tiles, coalesced groups, grid synchronisation, matches.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void groups(int* x, int n) {
    auto grid = cg::this_grid(); auto block = cg::this_thread_block(); auto tile = cg::tiled_partition<8>(block);
    int v = x[grid.thread_rank()];
    v = cg::reduce(tile, v, cg::plus<int>());
    if (v > n) { auto active = cg::coalesced_threads(); v += active.shfl(v, 0) + active.num_threads(); }
    v += __match_any_sync(__activemask(), v) + __reduce_add_sync(~0u, (unsigned)v);
    grid.sync();
    x[grid.thread_rank()] = v + tile.meta_group_rank();
}
