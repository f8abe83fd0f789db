"""Operand rules that hold for some releases, targets or values only; each line was asked of six assemblers."""

from __future__ import annotations

import pytest

from ptxspec.ptx.lint import lint

_REGISTERS = (
    ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .f16 %fh<4>; .reg .b32 %r<8>; .reg .u32 %ur<4>; .reg .f32 %f<4>; "
    ".reg .b64 %rd<4>; .reg .s64 %srd<4>; .reg .f64 %fd<4>; .shared .b8 svar[64];"
)


def said(line: str, toolkit: str, target: str = "sm_90", ptx: str = "8.0") -> str:
    """``error CODE``, ``warning CODE`` or nothing: the worst that is said of the line."""
    text = (
        f".version {ptx}\n.target {target}\n.address_size 64\n.global .b8 gvar[64];\n"
        f".func host() {{ {_REGISTERS}\n{line}\nLAST: ret; }}\n"
    )
    findings = [f for f in lint(text, toolkit=toolkit).findings if f.code != "F106"]  # `mov` has no vector form at all
    found = sorted(f"{f.severity} {f.code}" for f in findings)
    return found[0] if found else ""


OLD, NEW = "12.0", "13.5"
CASES = [
    # 32-bit addresses: the whole module is refused, but by CUDA 12.0 before sm_90
    ("mov.u32 %ur0, gvar;", "12.0", "sm_89", "warning L218"),
    ("mov.u32 %ur0, gvar;", "12.0", "sm_90", "error L218"),
    ("mov.u32 %ur0, gvar;", "12.4", "sm_89", "error L218"),
    ("mov.u32 %ur0, svar;", "12.4", "sm_89", ""),
    ("ld.global.u32 %ur0, [%r1];", "12.0", "sm_80", "warning L218"),
    ("ld.global.u32 %ur0, [%r1];", "12.4", "sm_80", "error L218"),
    ("cvta.local.u32 %ur0, %ur1;", "12.0", "sm_80", "warning L218"),
    ("cvta.local.u32 %ur0, %f1;", "12.0", "sm_80", "error L201"),
    # one value for all lanes
    ("mov.v2.f32 {%f0, %f1}, %f2;", OLD, "sm_90", "warning L238"),
    ("mov.v2.f32 {%f0, %f1}, %r2;", NEW, "sm_90", "warning L238"),
    ("mov.v2.f32 {%f0, %f1}, %ur2;", NEW, "sm_90", "error L202"),
    ("mov.v2.b32 {%r0, %r1}, %laneid;", NEW, "sm_90", "warning L238"),
    ("mov.v2.b32 {%r0, %r1}, LAST;", NEW, "sm_90", "error L202"),
    # the sink as a source
    ("mov.v2.b32 {%r0, %r1}, {_, %r2};", "12.4", "sm_90", "error L204"),
    ("mov.v2.b32 {%r0, %r1}, {_, %r2};", "12.8", "sm_90", "warning L239"),
    ("mov.b32 %r0, {_, %h1};", "12.4", "sm_90", "error L204"),
    ("mov.b32 %r0, {_, %h1};", "12.8", "sm_90", "warning L204"),
    # bf16 in braces
    ("neg.bf16 %h0, {%h1};", "12.4", "sm_90", "error L202"),
    ("neg.bf16 %h0, {%h1};", "13.0", "sm_90", "warning L248"),
    ("neg.bf16 %h0, {%h1};", NEW, "sm_90", "error L202"),
    ("add.bf16 %h0, {%h1}, %h2;", "12.4", "sm_90", "warning L248"),
    ("neg.bf16x2 %r0, {%r1, 2, %r1, 3};", "13.0", "sm_90", "warning L248"),
    ("neg.bf16x2 %r0, {2, %r1};", "13.0", "sm_90", "warning L248"),
    ("neg.bf16x2 %r0, {%r1, %r1, %r1};", "13.0", "sm_90", "error L202"),
    ("neg.bf16x2 %r0, {%f1};", "13.0", "sm_90", "error L201"),
    ("neg.bf16x2 %r0, {%r1, _};", "13.0", "sm_90", "error L204"),
    ("neg.bf16x2 {%r0, _}, %r1;", "13.0", "sm_90", "warning L248"),
    ("neg.bf16x2 {%r0, 2}, %r1;", "13.0", "sm_90", "error L206"),
    ("neg.f16 %fh0, {%fh1};", "13.0", "sm_90", "error L202"),
    # a function's name
    ("abs.bf16 %h0, host;", "13.0", "sm_90", "error L219"),
    ("abs.bf16 %h0, host;", NEW, "sm_90", "warning L233"),
    ("div.rz.f32 %f0, %f1, host;", NEW, "sm_90", "error L219"),
    ("div.rn.f32 %f0, %f1, host;", NEW, "sm_90", "warning L233"),
    ("div.s64 %srd0, host, %srd1;", OLD, "sm_80", "error L219"),
    # minus before both sources
    ("shr.b32 %r0, -%r1, -%r2;", NEW, "sm_90", "warning L245"),
    ("shr.b32 %r0, -%r1, %r2;", NEW, "sm_90", "error L219"),
    ("selp.f32 %f0, -%r1, -%r2, %p1;", OLD, "sm_80", "warning L245"),
    ("selp.f32 %f0, -%ur1, -%r2, %p1;", OLD, "sm_80", "error L201"),
    ("add.f32 %f0, -%f1, -%f2;", NEW, "sm_90", "error L219"),
    # atom: the bit bucket, and an operand too many
    ("atom.add.u32 _, [%rd0], %r1;", OLD, "sm_80", ""),
    ("atom.cas.b32 _, [%rd0], %r1, %r2;", OLD, "sm_80", ""),
    ("atom.global.add.u32 [%rd0], %r1;", OLD, "sm_80", "error L200"),
    ("atom.and.b32 %r0, [%rd0], %r1, %r2;", NEW, "sm_90", "warning L249"),
    ("atom.and.b32 %r0, [%rd0], %r1, %f2;", OLD, "sm_80", "warning L249"),
    ("atom.and.b32 %r0, [%rd0], %r1, host;", OLD, "sm_80", "warning L249"),
    ("atom.and.b32 %r0, [%rd0], %r1, 1;", NEW, "sm_90", "error L200"),
    ("atom.and.b64 %rd0, [%rd0], %rd1, %rd2;", NEW, "sm_90", "error L200"),
    ("atom.add.u32 %r0, [%rd0], %r1, %r2;", NEW, "sm_90", "error L200"),
    ("red.and.b32 [%rd0], %r1, %r2;", NEW, "sm_90", "error L200"),
    # a brace group behind a floating-point constant has the last width that is not the constant's
    ("st.v4.b32 [%rd3], {0f3F800000, %r3, -1.0, %f2};", NEW, "sm_90", "error L205"),
    ("st.v4.b32 [%rd3], {0f3F800000, %r3, %r2, 1};", NEW, "sm_90", "error L205"),
    ("st.v4.b32 [%rd3], {0f3F800000, %r3, 0f3F800000, %f2};", NEW, "sm_90", ""),
    ("st.v4.b32 [%rd3], {-1.0, %r3, -1.0, -1.0};", OLD, "sm_80", ""),
    ("st.v4.b32 [%rd3], {-1.0, %r3, 0f3F800000, %f2};", OLD, "sm_80", ""),
    ("st.v4.b16 [%rd3], {0f3F800000, %h3, -1.0, %h2};", OLD, "sm_80", ""),
    ("st.v4.b16 [%rd3], {0f3F800000, %h3, %h2, -1.0};", OLD, "sm_80", "error L205"),
    ("st.v2.b64 [%rd3], {0f3F800000, -1.0};", OLD, "sm_80", ""),
    # a register and a constant outside an address
    ("mov.u32 %ur0, %rd1+4;", NEW, "sm_90", "warning L234"),
    ("mov.u32 %ur0, %f1+4;", NEW, "sm_90", "error L234"),
    ("mov.pred %p0, %p1+4;", OLD, "sm_80", "warning L234"),
    ("mov.b32 %r0, LAST+4;", NEW, "sm_90", "error L234"),
    ("st.global.L2::cache_hint.u32 [%rd0], %r1, %r2+4;", NEW, "sm_90", "error L234"),
    ("st.global.L2::cache_hint.u32 [%rd0], %r1, %rd2+4;", NEW, "sm_90", "warning L234"),
    ("shl.b32 %r0, %r1, %rd2+4;", NEW, "sm_90", "error L234"),
    ("add.f16x2 %r0, %f1+4, %r2;", NEW, "sm_90", "error L234"),
    ("createpolicy.range.L2::evict_first.b64 %rd0, [%rd0], 1, %r1+4;", "12.8", "sm_90", "error L234"),
    ("createpolicy.range.L2::evict_first.b64 %rd0, [%rd0], 1, %r1+4;", NEW, "sm_90", "warning L234"),
    # createpolicy
    ("createpolicy.cvt.L2.b64 0, %rd1;", "12.0", "sm_90", "error L206"),
    ("createpolicy.cvt.L2.b64 0, %rd1;", "12.4", "sm_89", "error L206"),
    ("createpolicy.cvt.L2.b64 0, %rd1;", "12.4", "sm_90", "warning L246"),
    ("createpolicy.cvt.L2.b64 0, %rd1;", "13.0", "sm_90", "warning L246"),
    ("createpolicy.cvt.L2.b64 0, %rd1;", NEW, "sm_90", "error L206"),
    ("createpolicy.cvt.L2.b64 1.5, %rd1;", "13.0", "sm_90", "error L206"),
    ("createpolicy.fractional.L2::evict_first.b64 0;", "12.4", "sm_90", "warning L246"),
    ("createpolicy.fractional.L2::evict_first.b64 0;", "12.8", "sm_90", "error L206"),
    ("createpolicy.fractional.L2::evict_first.b64 %rd0, 1.0;", NEW, "sm_90", ""),
    ("createpolicy.fractional.L2::evict_first.b64 %rd0, 1.00000000001;", NEW, "sm_90", ""),
    ("createpolicy.fractional.L2::evict_first.b64 %rd0, 0f3F800001;", NEW, "sm_90", "error L247"),
    ("createpolicy.fractional.L2::evict_first.b64 %rd0, 1e-60;", NEW, "sm_90", "error L247"),
    ("createpolicy.fractional.L2::evict_first.b64 %rd0, 1e300;", NEW, "sm_90", "error L247"),
    ("createpolicy.fractional.L2::evict_first.b64 %rd0, -0.5;", NEW, "sm_90", "error L247"),
    ("createpolicy.fractional.L2::evict_first.b64 %rd0, 0f7FC00000;", NEW, "sm_90", "error L247"),
]


@pytest.mark.parametrize(("line", "toolkit", "target", "expected"), CASES)
def test_each_is_said(line: str, toolkit: str, target: str, expected: str) -> None:
    assert said(line, toolkit, target) == expected
