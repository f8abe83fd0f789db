// Floating-point arithmetic, rounding modes, conversions, special functions.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void floats(float* f, double* d, __half* h, __nv_bfloat16* b, int* n) {
    int i = threadIdx.x;
    f[i] = __fmaf_rz(f[i], f[i + 1], f[i + 2]) + sqrtf(f[i]) + rsqrtf(f[i + 1]) + __sinf(f[i]) + expf(f[i + 1]);
    d[i] = sqrt(d[i]) + fma(d[i], d[i + 1], d[i + 2]) / d[i + 3] + sin(d[i]) + floor(d[i]);
    h[i] = __hadd(h[i], h[i + 1]) * h[i + 2];
    b[i] = __hmul(b[i], b[i + 1]) + b[i + 2];
    n[i] = __float2int_rn(f[i]) + __double2int_rz(d[i]) + (int)__half2float(h[i]) + __float_as_int(f[i + 1]);
    f[i + 1] = __int2float_ru(n[i]) + __uint2float_rn(n[i]) + (float)d[i] + __bfloat162float(b[i]) + copysignf(f[i], -1);
    reinterpret_cast<__half2*>(h)[i] = __hfma2(reinterpret_cast<__half2*>(h)[i], __float2half2_rn(2.f), __floats2half2_rn(1, 2));
}
