// Generic pointers into every state space, conversions between them.
__constant__ int cbuf[32];
__device__ int gbuf[32];
__device__ __noinline__ int read(const int* p, int i) { return p[i]; }
__global__ void mixed_spaces(int* out, int which, int n) {
    __shared__ int sbuf[32];
    int lbuf[32];
    for (int i = 0; i < 32; ++i) { lbuf[i] = i + n; sbuf[i] = i; }
    __syncthreads();
    const int* p = which == 0 ? cbuf : which == 1 ? gbuf : which == 2 ? sbuf : lbuf;
    out[threadIdx.x] = read(p, n & 31);
    if (__isShared(p)) out[1] = (int)__cvta_generic_to_shared(p);
    if (__isGlobal(p)) out[2] = (int)__cvta_generic_to_global(p);
    if (__isLocal(p)) out[3] = 1;
}
