// 8-bit floats and packed conversions.
#include <cuda_fp8.h>
__global__ void fp8(__nv_fp8_e4m3* a, __nv_fp8_e5m2* b, float* f, __nv_fp8x4_e4m3* v) {
    int i = threadIdx.x;
    f[i] = float(a[i]) + float(b[i]);
    a[i + 1] = __nv_fp8_e4m3(f[i]); b[i + 1] = __nv_fp8_e5m2(f[i + 1]);
    v[i] = __nv_fp8x4_e4m3(make_float4(f[i], f[i + 1], f[i + 2], f[i + 3]));
}
