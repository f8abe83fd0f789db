// A two-dimensional stencil with predicated borders and half-precision storage.
#include <cuda_fp16.h>
__global__ void stencil(const __half* __restrict__ in, __half* out, int w, int h, float k) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float c = __half2float(in[y * w + x]);
    float l = x > 0 ? __half2float(in[y * w + x - 1]) : c, r = x + 1 < w ? __half2float(in[y * w + x + 1]) : c;
    float u = y > 0 ? __half2float(in[(y - 1) * w + x]) : c, d = y + 1 < h ? __half2float(in[(y + 1) * w + x]) : c;
    out[y * w + x] = __float2half(c + k * (l + r + u + d - 4 * c));
}
