// 128-bit integers and very wide loads.
__global__ void wide_types(__int128* a, unsigned __int128* b, longlong4* c, double4* d, ulonglong2* e) {
    int i = threadIdx.x;
    a[i] = a[i + 1] * 3 + a[i + 2]; b[i] = b[i + 1] >> (i & 127);
    c[i] = c[i + 1]; d[i] = d[i + 1]; e[i] = e[i + 1];
}
