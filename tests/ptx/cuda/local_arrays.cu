// Local memory: arrays indexed at run time, spilled structures, alloca.
__global__ void local_arrays(int* out, int n) {
    int a[64]; short b[8]; double d[3]; char c[5];
    for (int i = 0; i < 64; ++i) a[i] = i * n;
    for (int i = 0; i < 8; ++i) b[i] = (short)(i + n);
    d[n % 3] = n; c[n % 5] = (char)n;
    out[threadIdx.x] = a[n & 63] + b[n & 7] + (int)d[(n + 1) % 3] + c[n % 4];
    int* p = n & 1 ? a : out;
    p[3] = 5;
    out[1] = a[3];
}
