// Managed and extern variables, weak and static functions, names with dollars.
__managed__ int managed_count; extern __device__ float elsewhere[]; __device__ float elsewhere[8];
static __device__ __noinline__ int hidden(int x) { return x * x; }
extern "C" __global__ void name$with$dollars(int* x) { x[threadIdx.x] = hidden(managed_count) + (int)elsewhere[x[1] & 7]; }
template <int N> __global__ void tmpl(int* x) { x[N] = N; }
template __global__ void tmpl<3>(int*); template __global__ void tmpl<4>(int*);
