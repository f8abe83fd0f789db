// Integer arithmetic of all widths, wide products, bit fields, byte permutes, dot products.
__global__ void integers(unsigned char* a, short* b, int* c, long long* d, unsigned long long* e) {
    int i = threadIdx.x;
    a[i] = a[i] * 3 + (a[i + 1] >> 2);
    b[i] = (short)(b[i] * b[i + 1] - 7);
    c[i] = __mulhi(c[i], c[i + 1]) + __byte_perm(c[i], c[i + 2], 0x3210) + __funnelshift_l(c[i], c[i + 1], 5);
    d[i] = (long long)c[i] * c[i + 1] + d[i] / 3 - d[i + 1] % 7;
    e[i] = __umul64hi(e[i], e[i + 1]) ^ __brevll(e[i + 2]) ^ (e[i] << (i & 63)) ^ __popcll(e[i]);
    c[i + 1] = __dp4a(c[i], c[i + 1], c[i + 2]) + __ffs(c[i]) + abs(c[i]) + min(c[i], 5) + max(c[i], -5);
    c[i + 2] = __sad(c[i], c[i + 1], 3u) + __vadd4(c[i], c[i + 1]) + __vmaxs2(c[i], 7);
}
