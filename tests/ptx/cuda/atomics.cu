// Atomics of all kinds and scopes, fences.
__global__ void atomics(int* i, unsigned* u, float* f, double* d, unsigned long long* l) {
    atomicAdd(i, 1); atomicAdd_block(i + 1, 2); atomicAdd_system(i + 2, 3);
    atomicSub(i + 3, 1); atomicExch(i + 4, 7); atomicMin(i + 5, -1); atomicMax(u, 9u); atomicInc(u + 1, 100u);
    atomicDec(u + 2, 100u); atomicCAS(i + 6, 1, 2); atomicAnd(i + 7, 3); atomicOr(u + 3, 1u); atomicXor(u + 4, 6u);
    atomicAdd(f, 1.5f); atomicAdd(d, 2.5); atomicAdd(l, 3ull); atomicCAS(l + 1, 1ull, 2ull); atomicExch(f + 1, 4.f);
    __threadfence(); __threadfence_block(); __threadfence_system();
    __shared__ int s[4];
    atomicAdd(s + (i[0] & 3), 1);
    __syncthreads();
    i[9] = s[threadIdx.x & 3] + atomicMax(i + 8, 5);
}
