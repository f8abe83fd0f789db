// An inclusive scan with double buffering and named barriers.
__global__ void scan(const int* in, int* out, int n) {
    extern __shared__ int buffer[];
    int w = 0, i = threadIdx.x;
    buffer[i] = i < n ? in[i] : 0;
    for (int d = 1; d < n; d *= 2) {
        asm volatile("bar.sync 1, 256;");
        int v = buffer[w * n + i];
        if (i >= d) v += buffer[w * n + i - d];
        w ^= 1;
        buffer[w * n + i] = v;
    }
    asm volatile("barrier.sync 1, 256;" ::: "memory");
    out[i] = buffer[w * n + i];
    asm volatile("bar.arrive 2, 512;");
}
