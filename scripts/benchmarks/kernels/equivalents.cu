// What a CUDA programmer writes for the same work; only its registers and access widths are compared.
#include <cstdint>
extern "C" {

__global__ void __launch_bounds__(256) dense(const float4* __restrict__ a, float4* __restrict__ b) {
    int i = blockIdx.x * 256 + threadIdx.x;
    b[i] = a[i];
}

__global__ void __launch_bounds__(256) dense_four(const float4* __restrict__ a, float4* __restrict__ b) {
    int i = blockIdx.x * 1024 + threadIdx.x;
    float4 r[4];
    for (int k = 0; k < 4; k++) r[k] = a[i + 256 * k];
    for (int k = 0; k < 4; k++) b[i + 256 * k] = r[k];
}

__global__ void __launch_bounds__(256) elements(const uint8_t* __restrict__ a, uint8_t* __restrict__ b) {
    int i = blockIdx.x * 256 + threadIdx.x;
    b[i] = a[i];
}

__global__ void __launch_bounds__(256) widened(const uint8_t* __restrict__ a, uint8_t* __restrict__ b) {
    int i = blockIdx.x * 256 + threadIdx.x;
    reinterpret_cast<uint4*>(b)[i] = reinterpret_cast<const uint4*>(a)[i];
}

__global__ void __launch_bounds__(256) scaled(const float* __restrict__ a, float* __restrict__ b) {
    int i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; k++) b[4 * i + k] = a[4 * i + k] * 2.0f;
}

__global__ void __launch_bounds__(256) bytewise(const uint8_t* __restrict__ a, uint8_t* __restrict__ b) {
    int i = blockIdx.x * 256 + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 16; k++) b[16 * i + k] = a[16 * i + k];
}

__global__ void __launch_bounds__(256) rows(const float4* __restrict__ a, float4* __restrict__ b) {
    int i = blockIdx.x * 256 + threadIdx.x;
    b[i] = a[i / 64 * 80 + i % 64];
}

__global__ void __launch_bounds__(64) exchange(const float4* __restrict__ a, float4* __restrict__ b) {
    __shared__ float4 shared[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    shared[threadIdx.x] = a[i];
    __syncthreads();
    b[i] = shared[(threadIdx.x + 1) % 64];
}

__global__ void __launch_bounds__(256) transpose(const float4* __restrict__ a, float4* __restrict__ b) {
    const int n = 16384, m = 32768;
    __shared__ float4 shared[64][16];
    int x = threadIdx.x, y = threadIdx.y, half = threadIdx.z % 2, quarter = threadIdx.z / 2, c = half * 8 + x;
    float4 r[4];
    for (int k = 0; k < 4; k++) r[k] = a[(blockIdx.y * 64 + k * 16 + quarter * 4 + y) * (m / 4) + blockIdx.x * 16 + c];
    for (int k = 0; k < 4; k++) {
        const float w[4] = {r[k].x, r[k].y, r[k].z, r[k].w};
        for (int j = 0; j < 4; j++) reinterpret_cast<float*>(&shared[c * 4 + j][(k * 4 + quarter) ^ c])[y] = w[j];
    }
    __syncthreads();
    for (int k = 0; k < 4; k++) r[k] = shared[k * 16 + quarter * 4 + y][c ^ (k * 4 + quarter)];
    for (int k = 0; k < 4; k++) b[(blockIdx.x * 64 + k * 16 + quarter * 4 + y) * (n / 4) + blockIdx.y * 16 + c] = r[k];
}

__global__ void __launch_bounds__(1) strided(const float4* __restrict__ a, float* __restrict__ out) {
    float4 r[7][15];
#pragma unroll
    for (int j = 0; j < 7; j++)
#pragma unroll
        for (int i = 0; i < 15; i++) r[j][i] = a[15 * j + i];
#pragma unroll
    for (int j = 0; j < 7; j++)
#pragma unroll
        for (int i = 0; i < 15; i++) {
            out[60 * j + 4 * i + 0] = r[j][i].x;
            out[60 * j + 4 * i + 1] = r[j][i].y;
            out[60 * j + 4 * i + 2] = r[j][i].z;
            out[60 * j + 4 * i + 3] = r[j][i].w;
        }
}
}
