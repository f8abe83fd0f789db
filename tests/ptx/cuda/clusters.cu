// Thread block clusters and distributed shared memory.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void __cluster_dims__(2, 1, 1) clusters(int* x) {
    __shared__ int s[32];
    auto cluster = cg::this_cluster();
    s[threadIdx.x % 32] = x[threadIdx.x];
    cluster.sync();
    int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
    x[threadIdx.x] = other[threadIdx.x % 32] + cluster.num_blocks();
    cluster.sync();
}
