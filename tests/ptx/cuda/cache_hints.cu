// Cache operators, streaming and read-only loads.
__global__ void cache_hints(const float* a, float* b, const int4* c, int4* d, const double2* e, double2* f) {
    int i = threadIdx.x;
    b[i] = __ldg(a + i) + __ldcs(a + i + 1) + __ldcg(a + i + 2) + __ldca(a + i + 3) + __ldcv(a + i + 4) + __ldlu(a + i + 5);
    __stcs(d + i, __ldcs(c + i)); __stcg(d + i + 1, __ldg(c + i)); __stwb(f + i, __ldg(e + i)); __stwt(f + i + 1, __ldcg(e + i));
    d[i + 2] = __ldg(c + 2 + i);
}
