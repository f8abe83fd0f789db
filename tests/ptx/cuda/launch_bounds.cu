// Performance directives, grid constants, 1, 2 and 3 dimensions.
__global__ void __launch_bounds__(128, 4) bounded(float* x) { x[threadIdx.x + threadIdx.y * 8 + threadIdx.z] *= 2; }
__global__ void __launch_bounds__(64) bounded1(float* x) { x[blockIdx.y * gridDim.x + blockIdx.z] += 1; }
struct Params { int n[10]; float f; };
__global__ void grid_constant(const __grid_constant__ Params p, float* x) { x[0] = p.f + p.n[threadIdx.x % 10]; const Params* q = &p; x[1] = q->n[3]; }
__global__ void by_value(Params p, float* x) { p.n[threadIdx.x % 10] += 1; x[0] = p.n[3] + p.f; }
