// switch with a jump table, loops, early return, goto, trap.
__global__ void control(int* x, int n) {
    int i = threadIdx.x, r = 0;
    switch (x[i]) {
        case 0: r = n; break;
        case 1: r = n * 3; break;
        case 2: r = n / 7; break;
        case 3: r = n % 11; break;
        case 4: r = x[i + 1]; break;
        case 5: r = -n; break;
        case 6: x[i + 2] = 1; return;
        default: __trap();
    }
    while (r > 3) { r = r & 1 ? 3 * r + 1 : r / 2; if (r == x[r & 7]) goto done; }
#pragma unroll 1
    for (int k = 0; k < n; ++k) r += x[k];
done:
    x[i] = r;
}
