// Inline assembly: blocks, labels, predicates, vectors, comments, eviction priorities and policies.
__global__ void inline_asm(float* p, unsigned long long* q, int n) {
    float a, b, c, d;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"(p), "l"(policy));
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.f32 %0, [%1+16]; // comment; with { braces" : "=f"(a) : "l"(p));
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %1, 0; /* and\n another */\n\t@p st.global.f32 [%0], %2;\n}" :: "l"(p), "r"(n), "f"(b));
    asm volatile("{ .reg .b32 t; .reg .pred q; mov.u32 t, %1; AGAIN%=: sub.s32 t, t, 1; setp.gt.s32 q, t, 0; @q bra AGAIN%=; st.global.u32 [%0], t; }"
                 :: "l"(p + 9), "r"(n));
    unsigned lo, hi;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"(q[1]));
    asm("mov.b64 %0, {%1, %2};" : "=l"(q[2]) : "r"(hi), "r"(lo));
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l};}" : "=r"(hi) : "r"(lo));
    asm volatile("st.global.v2.f32 [%0+-8], {%1, %2};" :: "l"(p + 8), "f"(c), "f"(d));
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(p + 3), "r"(hi));
    asm volatile("prefetch.global.L2 [%0]; bar.sync 0; membar.gl;" :: "l"(p));
    unsigned t; asm volatile("mov.u32 %0, %%laneid;" : "=r"(t));
    unsigned long long g; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
    q[0] = g + t;
}
