// Warp shuffles, votes, atomics, dynamic shared memory.
extern __shared__ float scratch[];
__global__ void reduce(const float* in, float* out, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? scratch[threadIdx.x] : 0;
        for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
        if (!threadIdx.x) atomicAdd(out, sum);
    }
}
__global__ void count(const int* in, unsigned* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned vote = __ballot_sync(~0u, i < n && in[i] > 0);
    if (threadIdx.x % 32 == 0) atomicAdd(out, __popc(vote));
    if (__any_sync(~0u, i == 7) && __all_sync(~0u, i < 99)) atomicMax(out + 1, __clz(vote));
}
