// Byte loads, shared atomics, unrolled loops, clock and sleep.
__global__ void histogram(const unsigned char* data, unsigned* bins, long n, long long* t) {
    __shared__ unsigned local[256];
    long long start = clock64();
    local[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 4
    for (long i = threadIdx.x; i < n; i += 256) atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    __nanosleep(100);
    t[threadIdx.x] = clock64() - start + clock();
}
