// printf, assert, malloc in a kernel: calls with buffers and external functions.
#include <cstdio>
#include <cassert>
__global__ void print_assert(int n, double x) {
    printf("%d %f %s\n", n, x, "text");
    assert(n > 3);
    int* p = (int*)malloc(16);
    p[1] = n;
    free(p);
    printf("done\n");
}
