"""What red and atom compute, in the simulator, from their specs alone."""

from __future__ import annotations

import numpy as np
import pytest
from ptxspec.backend.simulate import PointerArgument, simulate

HEAD = """.version 8.4
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b) {
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b16 %h<9>; .reg .f64 %fd<9>; .reg .b128 %q<9>;
    .shared .align 16 .b8 s[64];
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    cvta.to.global.u64 %rd1, %rd1;
    cvta.to.global.u64 %rd2, %rd2;
"""


def run(body: str, a: np.ndarray, b: np.ndarray, threads: int = 1, version: str = "8.4") -> None:
    """One block; ``a`` is at %rd1, ``b`` at %rd2."""
    text = HEAD.replace("8.4", version) + body + "\n    ret;\n}\n"
    simulate(text, "k", (1, 1, 1), (threads, 1, 1), [PointerArgument(a, "a"), PointerArgument(b, "b")])


@pytest.mark.parametrize(("op", "start", "value", "expected"), [
    ("add", 7, 5, 12), ("add", 2**32 - 1, 2, 1), ("min", 7, 5, 5), ("max", 7, 5, 7), ("inc", 7, 5, 0), ("inc", 3, 5, 4),
    ("dec", 0, 5, 5), ("dec", 6, 5, 5), ("dec", 3, 5, 2)])
def test_operations_on_unsigned_words(op, start, value, expected) -> None:
    for mnemonic in ("red", "atom"):
        a, b = np.array([start], np.uint32), np.zeros(1, np.uint32)
        d = "" if mnemonic == "red" else "%r2, "
        run(f"mov.u32 %r1, {value}; {mnemonic}.global.{op}.u32 {d}[%rd1], %r1;"
            + ("" if mnemonic == "red" else "st.global.u32 [%rd2], %r2;"), a, b)
        assert a[0] == expected
        assert mnemonic == "red" or b[0] == start


@pytest.mark.parametrize(("op", "expected"), [("and", 0b1000), ("or", 0b1110), ("xor", 0b0110), ("exch", 0b1010)])
def test_operations_on_bits(op, expected) -> None:
    a, b = np.array([0b1100], np.uint64), np.zeros(1, np.uint64)
    run(f"mov.u64 %rd3, 10; atom.global.{op}.b64 %rd4, [%rd1], %rd3; st.global.u64 [%rd2], %rd4;", a, b)
    assert (a[0], b[0]) == (expected, 0b1100)


def test_signed_minimum_and_compare_and_swap() -> None:
    a, b = np.array([-3, 9], np.int32), np.zeros(2, np.int32)
    run("mov.s32 %r1, -5; red.global.min.s32 [%rd1], %r1; mov.u32 %r2, 9; mov.u32 %r3, 4;"
        "atom.global.cas.b32 %r4, [%rd1+4], %r2, %r3; st.global.u32 [%rd2], %r4;"
        "atom.global.cas.b32 %r5, [%rd1+4], %r2, %r3; st.global.u32 [%rd2+4], %r5;", a, b)
    assert a.tolist() == [-5, 4]
    assert b.tolist() == [9, 4]


def test_128_bits_are_exchanged_and_compared_whole() -> None:
    a, b = np.array([1, 2], np.uint64), np.array([3, 4], np.uint64)
    run("ld.global.b128 %q1, [%rd2]; atom.global.exch.b128 %q2, [%rd1], %q1; st.global.b128 [%rd2], %q2;", a, b)
    assert (a.tolist(), b.tolist()) == ([3, 4], [1, 2])
    run("ld.global.b128 %q1, [%rd1]; ld.global.b128 %q3, [%rd2];"
        "atom.global.cas.b128 %q2, [%rd1], %q1, %q3;", a, b)
    assert a.tolist() == [1, 2]


def test_vectors_are_added_lane_by_lane_and_threads_one_after_the_other() -> None:
    a, b = np.array([1, 2, 3, 4], np.float32), np.zeros(4, np.float32)
    run("mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f40000000;"
        "atom.global.add.v4.f32 {%f3, %f4, %f5, %f6}, [%rd1], {%f1, %f2, %f1, %f2};", a, b, threads=32)
    assert a.tolist() == [33, 66, 35, 68]
    h = np.array([1, 2, 3, 4, 5, 6, 7, 8], np.float16)
    run("mov.b16 %h1, 0x3C00; red.global.add.noftz.v8.f16 [%rd1], {%h1, %h1, %h1, %h1, %h1, %h1, %h1, %h1};"
        "mov.b32 %r1, 0xC0003C00; red.global.max.noftz.v2.f16x2 [%rd1], {%r1, %r1};", h, b)
    assert h.tolist() == [2, 3, 4, 5, 6, 7, 8, 9]


def test_subnormal_sums_are_flushed_in_global_memory_and_kept_in_shared() -> None:
    tiny = np.float32(1e-40)
    a, b = np.array([tiny], np.float32), np.zeros(1, np.float32)
    body = ("ld.global.f32 %f1, [%rd1]; red.global.add.f32 [%rd1], %f1; st.shared.f32 [s], %f1;"
            "red.shared.add.f32 [s], %f1; ld.shared.f32 %f2, [s]; st.global.f32 [%rd2], %f2;")
    run(body, a, b)
    assert a[0] == 0
    assert b[0] == tiny + tiny
    a[0] = tiny
    run("ld.global.f32 %f1, [%rd1]; red.global.add.noftz.f32 [%rd1], %f1;", a, b, version="9.4")
    assert a[0] == tiny + tiny
