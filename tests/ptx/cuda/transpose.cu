// Shared memory tiles of several element types.
template <typename T, int N> __device__ void turn(const T* in, T* out, int w, int h) {
    __shared__ T tile[N][N + 1];
    int x = blockIdx.x * N + threadIdx.x, y = blockIdx.y * N + threadIdx.y;
    if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[y * w + x];
    __syncthreads();
    x = blockIdx.y * N + threadIdx.x; y = blockIdx.x * N + threadIdx.y;
    if (x < h && y < w) out[y * h + x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void turn_f(const float* i, float* o, int w, int h) { turn<float, 32>(i, o, w, h); }
__global__ void turn_d(const double* i, double* o, int w, int h) { turn<double, 16>(i, o, w, h); }
__global__ void turn_c(const char* i, char* o, int w, int h) { turn<char, 32>(i, o, w, h); }
__global__ void turn_s(const short* i, short* o, int w, int h) { turn<short, 32>(i, o, w, h); }
__global__ void turn_v(const int2* i, int2* o, int w, int h) { turn<int2, 16>(i, o, w, h); }
