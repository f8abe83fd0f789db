// Functions that are not inlined: parameters by value, structures, returned structures, recursion, function pointers.
struct Pair { int a; float b; };
struct Big { double d[5]; char c; short s; };
__device__ __noinline__ Pair swap(Pair p, int k) { return {p.a + k, p.b * 2}; }
__device__ __noinline__ Big grow(Big b) { b.d[2] += b.c; b.s = (short)b.d[0]; return b; }
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ float half_of(float x) { return x / 2; }
__device__ __noinline__ float third_of(float x) { return x / 3; }
typedef float (*fn)(float);
__device__ fn table[2] = {half_of, third_of};
__global__ void calls(Pair* p, Big* b, int* f, float* g, int n) {
    int i = threadIdx.x;
    p[i] = swap(p[i], n);
    b[i] = grow(b[i]);
    f[i] = fib(n);
    g[i] = table[n & 1](g[i]);
}
