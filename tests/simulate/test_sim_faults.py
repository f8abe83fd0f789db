"""Every kind of fault: found, and told with thread, block, instruction, kernel line, buffer and byte."""

from __future__ import annotations

import numpy as np
import pytest
from ptxspec.backend.simulate import PointerArgument, ScalarArgument, SimulationFault
from sim_hand_forms import hand_resolve
from sim_kernels import PROLOGUE, entry, fault, line_of, pointers, run

from ptxspec.diagnostics import LaunchError, Span


def test_misaligned_names_thread_byte_and_lines():
    ptx = entry(PROLOGUE + "\nld.global.v2.b32 {%r5, %r6}, [%rd1+8];", pointers("A"))
    line = line_of(ptx, "ld.global.v2")
    span = Span("kernel.py", 7, 5)
    a = np.zeros(64, np.uint32)
    with pytest.raises(SimulationFault) as caught:
        run(ptx, [a], line_map={line: span})
    found = caught.value.faults[0]
    assert (found.kind, found.code, found.thread, found.block) == ("misaligned", "R201", (1, 0, 0), (0, 0, 0))
    assert (found.line, found.span, found.buffer, found.offset) == (line, span, "A", 12)
    assert (found.size, found.threads) == (8, 16)
    assert found.instruction == "ld.global.v2.b32 {%r5, %r6}, [%rd1+8];"
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == "R201"
    assert diagnostic.span == span
    assert "byte 12 of A" in diagnostic.message
    assert found.to_json()["thread"] == [1, 0, 0]


@pytest.mark.parametrize("offset, thread, byte", [(4, 31, 128), (-4, 0, -4), (-128, 0, -128), (4096, 0, 4096)])
def test_one_element_outside_is_out_of_bounds(offset, thread, byte):
    ptx = entry(PROLOGUE + f"ld.global.u32 %r5, [%rd1+{offset}];", pointers("A", "B"))
    found = fault(ptx, [np.zeros(32, np.uint32), np.zeros(32, np.uint32)])
    assert (found.kind, found.buffer, found.offset, found.extent) == ("out-of-bounds", "A", byte, 128)
    assert found.thread == (thread, 0, 0)


def test_one_byte_outside_is_out_of_bounds():
    body = PROLOGUE + "cvt.u64.u32 %rd2, %r1; add.u64 %rd3, %rd9, %rd2; st.global.u8 [%rd3], 1;"
    found = fault(entry(body, pointers("A")), [np.zeros(31, np.uint8)])
    assert (found.kind, found.thread, found.offset, found.extent) == ("out-of-bounds", (31, 0, 0), 31, 31)


def test_an_access_that_straddles_the_end_is_out_of_bounds():
    found = fault(entry(PROLOGUE + "ld.global.v2.b32 {%r5, %r6}, [%rd9];", pointers("A")), [np.zeros(7, np.uint8)])
    assert (found.kind, found.offset, found.size) == ("out-of-bounds", 0, 8)


def test_bytes_between_strided_elements_are_outside():
    array = np.zeros((32, 2), np.uint32)[:, 0]
    assert run(entry(PROLOGUE + "ld.global.u32 %r5, [%rd9+16];", pointers("A")), [array]).ok
    found = fault(entry(PROLOGUE + "ld.global.u32 %r5, [%rd9+20];", pointers("A")), [array])
    assert (found.kind, found.offset) == ("out-of-bounds", 20)


def test_the_lower_half_of_an_address_is_no_address():
    body = PROLOGUE + "cvt.u32.u64 %r5, %rd1; cvt.u64.u32 %rd2, %r5; ld.global.u32 %r6, [%rd2];"
    found = fault(entry(body, pointers("A")), [np.zeros(32, np.uint32)])
    assert found.kind == "out-of-bounds"
    assert "no buffer" in found.detail


def test_shared_variables_do_not_run_into_each_other():
    body = """
      .shared .align 16 .b32 s[4]; .shared .align 16 .b32 t[4];
      mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2; st.shared.u32 [%r3], 1;"""
    found = fault(entry(body), block=5)
    assert (found.kind, found.buffer, found.offset, found.extent) == ("out-of-bounds", "s", 16, 16)
    assert found.thread == (4, 0, 0)
    below = fault(entry(body.replace("mov.u32 %r2, s", "mov.u32 %r2, s; sub.u32 %r2, %r2, 4")), block=4)
    assert (below.kind, below.buffer, below.offset, below.thread) == ("out-of-bounds", "s", -4, (0, 0, 0))


def test_a_register_that_was_never_written():
    body = PROLOGUE + "setp.lt.u32 %p1, %r1, 20; @%p1 ld.global.u32 %r5, [%rd1]; add.u32 %r6, %r5, 1;"
    ptx = entry(body, pointers("A"))
    found = fault(ptx, [np.zeros(32, np.uint32)])
    assert (found.kind, found.code, found.thread, found.threads) == ("undefined", "R203", (20, 0, 0), 12)
    assert "%r5" in found.message()


@pytest.mark.parametrize("use", ["st.global.u32 [%rd1], %r5;", "ld.global.u32 %r6, [%rd2];", "@%p1 mov.u32 %r6, 1;",
                                 "mov.u32 %r6, %r5; st.global.u32 [%rd1], %r6;",
                                 "mov.b64 %rd3, {%r1, %r5}; mov.b64 {%r6, %r7}, %rd3; add.u32 %r8, %r7, 1;"])
def test_uses_of_undefined_values(use):
    assert fault(entry(PROLOGUE + use, pointers("A")), [np.zeros(32, np.uint32)]).kind == "undefined"


def test_copying_an_undefined_value_is_no_use():
    body = PROLOGUE + """
      mov.u32 %r6, %r5; mov.b64 %rd3, {%r6, %r1}; setp.eq.u32 %p1, %r1, %r1; selp.b32 %r7, %r1, %r6, %p1;
      st.global.u32 [%rd1], %r7;"""
    assert run(entry(body, pointers("A")), [np.zeros(32, np.uint32)]).ok


def test_bytes_that_were_never_written():
    body = """
      .shared .align 8 .b8 s[64]; mov.u32 %r1, s;
      st.shared.u16 [%r1+8], 3; ld.shared.u32 %r2, [%r1+8];"""
    found = fault(entry(body), block=1)
    assert (found.kind, found.buffer, found.offset, found.size) == ("undefined", "s", 8, 4)
    out = PointerArgument(np.zeros(4, np.uint32), "out", initialized=False)
    found = fault(entry("ld.param.u64 %rd1, [A]; st.global.u32 [%rd1+4], 1; ld.global.u32 %r1, [%rd1+4];"
                        "ld.global.u32 %r1, [%rd1+8];", pointers("A")), [out], block=1)
    assert (found.kind, found.buffer, found.offset) == ("undefined", "out", 8)


def test_division_by_zero_may_be_computed_but_not_used():
    body = PROLOGUE + """
      div.u32 %r5, 100, %r1; setp.ne.u32 %p1, %r1, 0; selp.b32 %r6, %r5, 0, %p1; st.global.u32 [%rd1], %r6;"""
    a = np.zeros(32, np.uint32)
    run(entry(body, pointers("A")), [a])
    assert (a[1:] == 100 // np.arange(1, 32)).all()
    found = fault(entry(body.replace("selp.b32 %r6, %r5, 0, %p1", "add.u32 %r6, %r5, 0"), pointers("A")), [a])
    assert (found.kind, found.thread, found.threads) == ("undefined", (0, 0, 0), 1)
    assert "division by zero" in found.message()


def test_writing_a_read_only_array_and_constants():
    a = np.zeros(32, np.uint32)
    a.flags.writeable = False
    assert fault(entry(PROLOGUE + "st.global.u32 [%rd1], 1;", pointers("A")), [a]).kind == "read-only"
    body = ".shared .b32 s; mov.u64 %rd1, c; cvta.const.u64 %rd2, %rd1; st.u32 [%rd2], 1;"
    assert fault(entry(body, head=".const .b32 c = 1;")).kind == "read-only"


def test_an_address_converted_to_a_space_where_it_does_not_lie():
    body = PROLOGUE + "cvta.to.shared.u64 %rd2, %rd1;"
    found = fault(entry(body, pointers("A")), [np.zeros(32, np.uint32)])
    assert found.kind == "trap"
    assert "shared" in found.message()


def test_barrier_that_half_of_a_block_reaches():
    body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 40; @%p1 bra SKIP;\nbar.sync 0;\nSKIP:"
    ptx = entry(body)
    found = fault(ptx, block=64, grid=3)
    assert (found.kind, found.code, found.thread, found.block) == ("divergent-barrier", "R205", (40, 0, 0), (0, 0, 0))
    assert (found.other_thread, found.line) == ((0, 0, 0), line_of(ptx, "bar.sync"))
    assert any("ended" in n.text for n in found.diagnostic().notes)


def test_two_barriers_in_two_branches_of_one_warp():
    body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 bra B;\nbar.sync 0;\nbra.uni J;\nB: bar.sync 0;\nJ:"
    assert fault(entry(body), block=32).kind == "divergent-barrier"
    # Different warps may use different instructions.
    assert run(entry(body.replace("16", "32")), block=64).ok


def test_threads_at_different_barriers():
    body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra B; bar.sync 1; bra.uni J; B: bar.sync 2; J:"
    found = fault(entry(body), block=64)
    assert found.kind == "divergent-barrier"
    assert any("instead" in n.text for n in found.diagnostic().notes)


def test_a_loop_that_cannot_end_is_recognised():
    found = fault(entry("mov.u32 %r1, %tid.x; LOOP: add.u32 %r2, %r1, 1; bra LOOP;"))
    assert (found.kind, found.code) == ("step-limit", "R206")
    assert "never end" in found.message()


def test_a_loop_that_does_not_end_in_time():
    found = fault(entry("mov.u32 %r1, 0; LOOP: add.u32 %r1, %r1, 1; bra LOOP;"), step_limit=3000)
    assert found.kind == "step-limit"
    assert "3000" in found.message()


def test_a_thread_that_waits_for_another_does_not_hang():
    # The waiting loop stands before the code that ends the waiting.
    body = PROLOGUE + """
      setp.eq.u32 %p1, %r1, 0; @%p1 bra WRITE;
    WAIT:
      ld.relaxed.gpu.global.u32 %r5, [%rd9];
      setp.eq.u32 %p2, %r5, 0; @%p2 bra WAIT;
      bra DONE;
    WRITE:
      st.relaxed.gpu.global.u32 [%rd9], 1;
    DONE:"""
    assert run(entry(body, pointers("A")), [np.zeros(32, np.uint32)]).ok


def test_collecting_goes_on_after_a_fault():
    body = PROLOGUE + """
      ld.global.u32 %r5, [%rd1+64];
      bar.sync 0;
      st.global.u32 [%rd1+2], %r5;"""
    a = np.zeros(32, np.uint32)
    result = run(entry(body, pointers("A")), [a], stop_on_fault=False)
    assert [(f.kind, f.threads) for f in result.faults] == [("out-of-bounds", 16), ("misaligned", 16)]
    with pytest.raises(SimulationFault) as caught:
        result.raise_if_faulty()
    assert len(caught.value.diagnostics) == 2


def test_a_trap_changes_nothing():
    body = PROLOGUE + "mov.u32 %r5, 3; st.global.u32 [%rd1+4], %r5;"
    a = np.zeros(32, np.uint32)
    run(entry(body, pointers("A")), [a], stop_on_fault=False)
    assert a.tolist() == [0] + [3] * 31


@pytest.mark.parametrize("ptx, said", [
    (entry("mystery.b32 %r1;"), "teleport"),
    (entry("forgetful.b32 %r1;"), "nothing"),
    (entry("wgmma.fence.sync.aligned;"), "wgmma"),
    (entry("mov.u32 %r1, %smid; mov.u32 %r2, %envreg3;"), "%envreg3"),
    (entry("{ .reg .b32 %r1; mov.u32 %r1, 1; }"), "inner block"),
])
def test_what_has_no_meaning_is_refused_before_anything_runs(ptx, said):
    with pytest.raises(LaunchError) as caught:
        run(ptx, resolve=hand_resolve)
    assert caught.value.code == "R210"
    assert said in str(caught.value)


@pytest.mark.parametrize("options, said", [
    ({"block": 2048}, "2048"), ({"grid": 0}, "grid"), ({"grid": 3, "cluster": (2, 1, 1)}, "cluster"),
    ({"block": 16}, "exactly"), ({"dynamic_shared": -1}, "dynamic"),
])
def test_launches_that_do_not_fit(options, said):
    with pytest.raises(LaunchError) as caught:
        run(entry("", attributes=".reqntid 32, 1, 1"), **options)
    assert caught.value.code == "R211"
    assert said in str(caught.value)


def test_arguments_that_do_not_fit():
    ptx = entry("", ".param .u64 .ptr .global .align 16 A, .param .s32 n")
    a = np.zeros(64, np.uint8)
    for args, said in (([a], "2 parameters"), ([a[4:], ScalarArgument(1)], "alignment of 16"),
                       ([a, ScalarArgument(1, "s64")], "4 bytes")):
        with pytest.raises(LaunchError, match=said) as caught:
            run(ptx, args)
        assert caught.value.code == "R211"
    assert run(ptx, [a[16:], ScalarArgument(1)]).ok
