// Bulk copies with a transaction barrier.
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
__global__ void bulk_copy(int* data, int n) {
    __shared__ alignas(16) int s[1024];
    __shared__ barrier bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde::fence_proxy_async_shared_cta(); }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) { cde::cp_async_bulk_global_to_shared(s, data, sizeof(s), bar); token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(s)); }
    else token = bar.arrive();
    bar.wait(std::move(token));
    s[threadIdx.x] += n;
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) { cde::cp_async_bulk_shared_to_global(data, s, sizeof(s)); cde::cp_async_bulk_commit_group(); cde::cp_async_bulk_wait_group_read<0>(); }
}
