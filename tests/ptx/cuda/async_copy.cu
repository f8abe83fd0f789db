// Asynchronous copies into shared memory, pipelines, barriers.
#include <cuda/pipeline>
#include <cuda/barrier>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void async_copy(const float4* in, float4* out, int n) {
    __shared__ float4 tile[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in, sizeof(float4) * 256);
    cg::wait(block);
    out[threadIdx.x] = tile[255 - threadIdx.x];
    __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    block.sync();
    out[threadIdx.x + 256] = tile[threadIdx.x ^ 1];
}
