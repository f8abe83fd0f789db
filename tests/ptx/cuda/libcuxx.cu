// Scoped atomics of the standard library: relaxed, acquire and release loads and stores.
#include <cuda/atomic>
__global__ void scoped(int* x, long long* y, float* z) {
    cuda::atomic_ref<int, cuda::thread_scope_device> a(*x);
    cuda::atomic_ref<int, cuda::thread_scope_block> b(x[1]);
    cuda::atomic_ref<long long, cuda::thread_scope_system> c(*y);
    int v = a.load(cuda::memory_order_acquire);
    b.store(v, cuda::memory_order_release);
    c.fetch_add(v, cuda::memory_order_acq_rel);
    a.store(b.load(cuda::memory_order_relaxed), cuda::memory_order_relaxed);
    c.store(a.load(cuda::memory_order_seq_cst), cuda::memory_order_seq_cst);
    a.fetch_max(v);
    volatile float* w = z;
    w[threadIdx.x] = w[threadIdx.x + 1];
}
