"""Whole kernels: vectors, predicates, loops, divergence, spaces, special registers, arguments."""

from __future__ import annotations

import numpy as np
import pytest
from ptxspec.backend.simulate import PointerArgument, ScalarArgument, simulate
from sim_kernels import HEAD, PROLOGUE, entry, pointers, run


def test_vector_load_and_store_move_every_word():
    body = """
      ld.param.u64 %rd1, [A]; ld.param.u64 %rd2, [B]; mov.u32 %r1, %tid.x;
      mad.wide.u32 %rd3, %r1, 16, %rd1; mad.wide.u32 %rd4, %r1, 16, %rd2;
      ld.global.v4.b32 {%r2, %r3, %r4, %r5}, [%rd3];
      st.global.v4.b32 [%rd4], {%r5, %r4, %r3, %r2};"""
    a = np.arange(256, dtype=np.uint32).reshape(64, 4)
    b = np.zeros_like(a)
    result = run(entry(body, pointers("A", "B")), [a, b], block=64)
    assert (b == a[:, ::-1]).all()
    assert result.ok
    assert result.threads == 64
    assert result.instructions_executed == 64 * result.steps


@pytest.mark.parametrize("vec, width, reg", [("v2", 8, "b64"), ("v2", 16, "b128")])
def test_sixty_four_bit_and_128_bit_vectors(vec, width, reg):
    kind = "rd" if reg == "b64" else "q"
    count = {"v2": 2}[vec]
    if reg == "b128":
        move = "ld.global.b128 %q1, [%rd3]; st.global.b128 [%rd4], %q1;"
        count = 1
    else:
        pair = f"{{%{kind}5, %{kind}6}}"
        move = f"ld.global.{vec}.{reg} {pair}, [%rd3]; st.global.{vec}.{reg} [%rd4], {pair};"
    body = f"""
      ld.param.u64 %rd1, [A]; ld.param.u64 %rd2, [B]; mov.u32 %r1, %tid.x;
      mad.wide.u32 %rd3, %r1, {width * count}, %rd1; mad.wide.u32 %rd4, %r1, {width * count}, %rd2; {move}"""
    a = np.random.default_rng(1).integers(0, 255, 32 * width * count).astype(np.uint8)
    b = np.zeros_like(a)
    assert run(entry(body, pointers("A", "B")), [a, b]).ok
    assert (a == b).all()


@pytest.mark.parametrize("type_, dtype", [("u8", np.uint8), ("s8", np.int8), ("u16", np.uint16), ("s16", np.int16)])
def test_narrow_loads_extend_to_the_register(type_, dtype):
    body = f"""
      ld.param.u64 %rd1, [A]; ld.param.u64 %rd2, [B]; mov.u32 %r1, %tid.x;
      mad.wide.u32 %rd3, %r1, {np.dtype(dtype).itemsize}, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd2;
      ld.global.{type_} %r2, [%rd3]; st.global.b32 [%rd4], %r2;"""
    a = np.array([0, 1, 127, -1 & 0xFF, -128 & 0xFF, 200] * 5 + [9, 255], np.uint8).astype(dtype)
    b = np.zeros(32, np.int32)
    run(entry(body, pointers("A", "B")), [a, b])
    assert (b == a.astype(np.int32)).all()


def test_a_narrow_store_keeps_the_low_bits():
    body = PROLOGUE + """
      cvt.u64.u32 %rd2, %r1; add.u64 %rd3, %rd9, %rd2; add.u32 %r5, %r1, 4096; st.global.u8 [%rd3], %r5;"""
    a = np.full(32, 77, np.uint8)
    run(entry(body, pointers("A")), [a])
    assert (a == np.arange(32)).all()


def test_predicated_instructions_touch_only_their_threads():
    body = PROLOGUE + """
      setp.lt.u32 %p1, %r1, 10;
      @%p1 st.global.u32 [%rd1], 5;
      @!%p1 st.global.u32 [%rd1], %r1;"""
    a = np.zeros(32, np.uint32)
    run(entry(body, pointers("A")), [a])
    assert (a == np.where(np.arange(32) < 10, 5, np.arange(32))).all()


def test_branches_diverge_and_meet_again():
    body = PROLOGUE + """
      and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0;
      @%p1 bra EVEN;
      mov.u32 %r6, 100; bra JOIN;
    EVEN:
      mov.u32 %r6, 200;
    JOIN:
      add.u32 %r6, %r6, %r1;
      st.global.u32 [%rd1], %r6;"""
    a = np.zeros(64, np.uint32)
    result = run(entry(body, pointers("A")), [a], grid=2)
    tid = np.arange(64) % 32
    assert (a == np.where(tid % 2 == 0, 200, 100) + tid).all()
    # One group after the join: the two sides cost a few steps more than a straight line, not twice as many.
    assert result.steps == 6 + 3 + 2 + 1 + 3


def test_loops_with_different_trip_counts():
    body = PROLOGUE + """
      mov.u32 %r5, 0; mov.u32 %r6, 0;
    HEAD:
      setp.ge.u32 %p1, %r5, %r1;
      @%p1 bra DONE;
      add.u32 %r6, %r6, %r5; add.u32 %r5, %r5, 1;
      bra HEAD;
    DONE:
      st.global.u32 [%rd1], %r6;"""
    a = np.zeros(70, np.uint32)
    run(entry(body, pointers("A")), [a], block=70)
    assert (a == np.arange(70) * (np.arange(70) - 1) // 2).all()


def test_some_threads_leave_early():
    body = PROLOGUE + "setp.ge.u32 %p1, %r4, 40; @%p1 exit; st.global.u32 [%rd1], 1;"
    a = np.zeros(64, np.uint32)
    run(entry(body, pointers("A")), [a], grid=2)
    assert a.sum() == 40


def test_shared_memory_belongs_to_a_block():
    body = PROLOGUE + """
      .shared .align 4 .b32 s[32];
      mov.u32 %r5, s; mad.lo.u32 %r6, %r1, 4, %r5;
      st.shared.u32 [%r6], %r4;
      bar.sync 0;
      xor.b32 %r7, %r1, 31; mad.lo.u32 %r8, %r7, 4, %r5;
      ld.shared.u32 %r9, [%r8];
      st.global.u32 [%rd1], %r9;"""
    a = np.zeros(96, np.uint32)
    run(entry(body, pointers("A")), [a], grid=3)
    assert (a.reshape(3, 32) == np.arange(96).reshape(3, 32)[:, ::-1]).all()


def test_generic_addresses_reach_every_space():
    body = PROLOGUE + """
      .shared .align 4 .b32 s[32]; .local .align 4 .b32 l[4];
      mov.u64 %rd2, s; cvta.shared.u64 %rd3, %rd2; mad.wide.u32 %rd4, %r1, 4, %rd3;
      mov.u64 %rd5, l; cvta.local.u64 %rd6, %rd5;
      st.u32 [%rd4], %r1; ld.u32 %r5, [%rd4];
      st.u32 [%rd6+8], %r5; ld.local.u32 %r6, [l+8];
      and.b32 %r7, %r1, 1; setp.eq.u32 %p1, %r7, 0;
      selp.b64 %rd7, %rd4, %rd1, %p1;
      st.u32 [%rd7], 7;
      ld.u32 %r8, [%rd7]; add.u32 %r8, %r8, %r6;
      cvta.to.global.u64 %rd8, %rd1;
      st.global.u32 [%rd8], %r8;"""
    a = np.zeros(32, np.uint32)
    run(entry(body, pointers("A")), [a])
    assert (a == 7 + np.arange(32)).all()


def test_constant_and_global_variables_with_initial_values():
    head = """.const .align 4 .b32 c[3] = {10, 0x14, 30};
.global .align 4 .f32 g = 0f3F800000;
.global .align 4 .b32 z[4];"""
    body = PROLOGUE + """
      ld.const.u32 %r5, [c+4]; ld.global.u32 %r6, [g]; ld.global.u32 %r7, [z+12];
      mov.u64 %rd2, g; ld.global.u32 %r8, [%rd2];
      add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r7; sub.u32 %r5, %r5, %r8; st.global.u32 [%rd1], %r5;"""
    a = np.zeros(32, np.uint32)
    run(entry(body, pointers("A"), head=head), [a])
    assert (a == 20).all()


def test_pack_and_unpack():
    body = PROLOGUE + """
      mov.b64 %rd2, {%r1, %r4}; mov.b64 {%r5, %r6}, %rd2;
      mov.b32 {%h1, %h2}, %r5; mov.b32 %r7, {%h2, %h1};
      add.u32 %r7, %r7, %r6; st.global.u32 [%rd1], %r7;"""
    a = np.zeros(64, np.uint32)
    run(entry(body, pointers("A")), [a], grid=2)
    assert (a == (np.arange(64) % 32) * 65536 + np.arange(64)).all()


def test_unpack_into_its_own_source_registers():
    body = PROLOGUE + """
      mov.u32 %r5, 1; mov.u32 %r6, 2; mov.b64 %rd2, {%r5, %r6}; mov.b64 {%r6, %r5}, %rd2;
      mad.lo.u32 %r7, %r5, 10, %r6; st.global.u32 [%rd1], %r7;"""
    a = np.zeros(32, np.uint32)
    run(entry(body, pointers("A")), [a])
    assert (a == 21).all()


def test_special_registers_in_three_dimensions():
    names = ["%tid.x", "%tid.y", "%tid.z", "%ntid.y", "%ctaid.x", "%ctaid.y", "%nctaid.z", "%laneid", "%warpid",
             "%nwarpid", "%clusterid.x", "%cluster_ctaid.x", "%cluster_ctarank", "%nclusterid.x", "%cluster_nctarank",
             "%lanemask_lt", "%lanemask_ge"]
    stores = "\n".join(f"mov.u32 %r2, {n}; st.global.u32 [%rd3+{4 * k}], %r2;" for k, n in enumerate(names))
    body = f"""
      ld.param.u64 %rd1, [A];
      mov.u32 %r1, %ctaid.y; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %ctaid.x; mad.lo.u32 %r1, %r1, %r3, %r4;
      mov.u32 %r5, %tid.z; mov.u32 %r6, %tid.y; mov.u32 %r7, %tid.x;
      mad.lo.u32 %r5, %r5, 3, %r6; mad.lo.u32 %r5, %r5, 8, %r7;
      mad.lo.u32 %r1, %r1, 48, %r5; mad.wide.u32 %rd3, %r1, {4 * len(names)}, %rd1; {stores}"""
    a = np.zeros((12, 48, len(names)), np.uint32)
    run(entry(body, pointers("A")), [a], grid=(4, 3, 1), block=(8, 3, 2), cluster=(2, 1, 1))
    block, thread = np.meshgrid(np.arange(12), np.arange(48), indexing="ij")
    lane = thread % 32
    full = np.uint64(0xFFFFFFFF)
    below = (np.uint64(1) << lane.astype(np.uint64)) - np.uint64(1)
    expected = [thread % 8, thread // 8 % 3, thread // 24, thread * 0 + 3, block % 4, block // 4, block * 0 + 1, lane,
                thread // 32, block * 0 + 2, block % 4 // 2, block % 2, block % 2, block * 0 + 2, block * 0 + 2,
                below, full & ~below]
    for k, name in enumerate(names):
        assert (a[:, :, k] == expected[k]).all(), name


def test_scalar_arguments_and_dynamic_shared_memory():
    body = """
      ld.param.u64 %rd1, [A]; ld.param.s32 %r1, [n]; ld.param.f32 %r2, [f];
      mov.u32 %r3, dyn; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r4, 4, %r3; st.shared.u32 [%r5], %r2;
      ld.shared.u32 %r6, [%r5];
      mad.wide.u32 %rd2, %r4, 8, %rd1; st.global.v2.b32 [%rd2], {%r1, %r6};"""
    ptx = entry(body, pointers("A") + ", .param .s32 n, .param .f32 f", head=".extern .shared .align 16 .b8 dyn[];")
    a = np.zeros((32, 2), np.uint32)
    run(ptx, [a, ScalarArgument(-5, "s32"), ScalarArgument(1.5, "f32")], dynamic_shared=128)
    assert (a[:, 0].view(np.int32) == -5).all()
    assert (a[:, 1].view(np.float32) == 1.5).all()


@pytest.mark.parametrize("view", [slice(None, None, -1), slice(None, None, 2), slice(3, None, 1)])
def test_strided_arrays_are_used_in_place(view):
    base = np.arange(128, dtype=np.int32)
    array = base[view]
    count, stride = array.shape[0], array.strides[0]
    body = f"ld.param.u64 %rd1, [A]; mov.u32 %r1, %tid.x; mad.wide.s32 %rd2, %r1, {stride}, %rd1;" \
           "ld.global.u32 %r2, [%rd2]; add.u32 %r2, %r2, 1000; st.global.u32 [%rd2], %r2;"
    expected = base.copy()
    expected[view] += 1000
    assert run(entry(body, pointers("A")), [array], block=count).ok
    assert (base == expected).all()


def test_many_batches_give_the_same_as_one():
    body = PROLOGUE + "ld.global.u32 %r5, [%rd1]; mul.lo.u32 %r5, %r5, 3; st.global.u32 [%rd1], %r5;"
    a = np.arange(300_000, dtype=np.uint32)
    result = run(entry(body, pointers("A")), [a], grid=300, block=1000)
    assert result.batches > 1
    assert (a == np.arange(300_000, dtype=np.uint32) * 3).all()


def test_two_arguments_may_be_the_same_array():
    body = PROLOGUE + """
      ld.param.u64 %rd2, [B]; mad.wide.u32 %rd3, %r4, 4, %rd2;
      ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, 1; st.global.u32 [%rd3], %r5;"""
    a = np.arange(32, dtype=np.uint32)
    run(entry(body, pointers("A", "B")), [a, a])
    assert (a == np.arange(1, 33)).all()


def test_an_entry_without_parameters_in_a_module_with_several():
    ptx = HEAD + ".visible .entry other()\n{\n ret;\n}\n.visible .entry k()\n{\n ret;\n}\n"
    assert simulate(ptx, "k", (1, 1, 1), (1, 1, 1), []).instructions_executed == 1


def test_approximate_operations_are_said_to_be():
    body = PROLOGUE + "mov.b32 %r5, 0f40800000; sqrt.approx.f32 %r6, %r5; st.global.b32 [%rd1], %r6;"
    a = np.zeros(32, np.float32)
    result = run(entry(body, pointers("A")), [a])
    assert (a == 2).all()
    assert any("approximate" in note for note in result.notes)


@pytest.mark.parametrize("type_, value, bits", [("bf16", 1.5, 0x3FC0), ("f16", -2.0, 0xC000), ("u16", 65535, 0xFFFF)])
def test_sixteen_bit_arguments(type_, value, bits):
    ptx = entry("ld.param.u64 %rd1, [A]; ld.param.b16 %h1, [x]; st.global.b16 [%rd1], %h1;",
                pointers("A") + f", .param .{'b16' if 'f' in type_ else type_} x")
    a = np.zeros(1, np.uint16)
    run(ptx, [a, ScalarArgument(value, type_)], block=1)
    assert a[0] == bits


def test_empty_array_is_a_valid_argument_that_nothing_may_touch():
    body = "ld.param.u64 %rd1, [A];"
    assert run(entry(body, pointers("A")), [PointerArgument(np.zeros(0, np.float32), "A")]).ok
