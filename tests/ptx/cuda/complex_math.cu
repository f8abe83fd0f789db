// Structures of floats, 64-bit and 128-bit vectors, unions and bit fields.
struct __align__(16) Quad { float x, y, z, w; };
struct Bits { unsigned a : 3, b : 13, c : 16; };
union Both { double d; unsigned u[2]; long long l; };
__global__ void complex_math(Quad* q, Bits* b, Both* u, float2* c, uchar4* p, ushort2* h) {
    int i = threadIdx.x;
    Quad v = q[i]; q[i + 1] = {v.w, v.z, v.y, v.x};
    b[i].b = b[i + 1].a + 5; b[i].c ^= 77;
    u[i].u[1] = u[i + 1].u[0]; u[i + 2].d = u[i].l;
    float2 x = c[i], y = c[i + 1]; c[i] = make_float2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
    uchar4 k = p[i]; p[i + 1] = make_uchar4(k.w, k.z, k.y, k.x);
    ushort2 g = h[i]; h[i + 1] = make_ushort2(g.y + 1, g.x);
}
