// Constant memory, global initialisers, tables, addresses of variables.
__constant__ float weights[16] = {1, 2, 3, 4.5f, -1, 0.25f};
__constant__ int one = 1;
__device__ double roots[] = {1.0, 1.4142135623730951, 1.7320508075688772};
__device__ int counter = -5;
__device__ const char text[] = "a \"quoted\" text";
__device__ int* pointer = &counter;
__device__ short half_words[3][2] = {{1, 2}, {3, 4}, {5, 6}};
__global__ void constants(float* out, const char** where, double* d, int n) {
    out[threadIdx.x] = weights[n & 15] * one + half_words[n % 3][n & 1];
    *where = text + n;
    d[threadIdx.x] = roots[n % 3];
    if (n == 3) pointer = &counter + 1;
    if (n == 4) *pointer = 9;
}
