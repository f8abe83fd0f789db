"""Race detection against brute force: every pair of accesses of random kernels, ordered or not by their barriers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptxspec.backend.simulate import SimulationFault
from sim_kernels import PROLOGUE, entry, fault, line_of, pointers, run

OFF = 0xFFFFFFFF


@dataclass(frozen=True)
class Touch:
    block: int
    thread: int
    event: int
    kind: str
    start: int
    size: int


@dataclass(frozen=True)
class Event:
    """An access (``kind``, ``size``, byte offsets by thread) or a barrier (``kind`` bar, ``offsets`` its warps)."""

    kind: str
    size: int = 0
    offsets: tuple[int, ...] = ()


def kernel(events: list[Event], threads: int, blocks: int, space: str) -> tuple[str, np.ndarray]:
    """PTX of the events; offsets come from a table in global memory that is only read."""
    total = threads * blocks
    table = np.full((len(events), total), OFF, np.uint32)
    lines = ["ld.param.u64 %rd1, [A]; ld.param.u64 %rd2, [B]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;",
             f"mad.lo.u32 %r3, %r2, {threads}, %r1; mad.wide.u32 %rd3, %r3, 4, %rd2; shr.u32 %r8, %r1, 5;"]
    if space == "shared":
        lines.append(".shared .align 16 .b8 s[64]; mov.u64 %rd1, s; mov.u64 %rd5, 0; setp.eq.u32 %p1, %r1, 0;")
        lines.append("".join(f"@%p1 st.shared.b64 [%rd1+{k}], %rd5;" for k in range(0, 64, 8)) + "bar.sync 0;")
    for k, event in enumerate(events):
        if event.kind == "bar":
            warps = len(event.offsets)
            if warps * 32 == threads:
                lines.append("bar.sync 0;")
            else:
                tests = "".join(f"setp.eq.or.u32 %p2, %r8, {w}, %p2;" for w in event.offsets)
                lines.append(f"setp.ne.u32 %p2, %r8, %r8; {tests} @%p2 bar.sync 1, {warps * 32};")
            continue
        table[k] = event.offsets
        lines.append(f"ld.global.u32 %r4, [%rd3+{k * total * 4}]; setp.ne.u32 %p1, %r4, {OFF};"
                     "cvt.u64.u32 %rd4, %r4; add.u64 %rd4, %rd1, %rd4;")
        scope = "cta" if space == "shared" else "gpu"
        word = f"relaxed.{scope}." if event.kind.startswith("strong") else ""
        reg = "%rd5" if event.size == 8 else "%r5"
        if event.kind.endswith("read"):
            lines.append(f"@%p1 ld.{word}{space}.u{event.size * 8} {reg}, [%rd4];")
        else:
            lines.append(f"@%p1 st.{word}{space}.u{event.size * 8} [%rd4], 1;")
    return entry("\n".join(lines), pointers("A", "B")), table


def brute_force(events: list[Event], threads: int, blocks: int) -> list[tuple[Touch, Touch]]:
    """All racing pairs. Two accesses of one block are ordered when a chain of barriers leads from one to the other."""
    touches = []
    for k, event in enumerate(events):
        if event.kind != "bar":
            for number, offset in enumerate(event.offsets):
                if offset != OFF:
                    touches.append(Touch(number // threads, number % threads, k, event.kind, offset, event.size))

    def ordered(first: Touch, second: Touch) -> bool:
        reached = {first.thread // 32}
        passed = False
        for event in events[first.event:second.event]:
            if event.kind == "bar" and reached & set(event.offsets):
                if first.thread // 32 in event.offsets or passed:
                    reached |= set(event.offsets)
                    passed = True
        return passed and second.thread // 32 in reached and (
            second.thread // 32 != first.thread // 32 or any(
                e.kind == "bar" and first.thread // 32 in e.offsets for e in events[first.event:second.event]))

    races = []
    for a, b in combinations(touches, 2):
        if (a.block, a.thread) == (b.block, b.thread):
            continue
        if a.start + a.size <= b.start or b.start + b.size <= a.start:
            continue
        strong = a.kind.startswith("strong") and b.kind.startswith("strong")
        if strong or (a.kind.endswith("read") and b.kind.endswith("read")):
            continue
        if a.block == b.block and ordered(a, b):
            continue
        races.append((a, b))
    return races


@st.composite
def programs(draw: st.DrawFn, threads: int, blocks: int, lanes: list[int], barriers: list[tuple[int, ...]]):
    events = []
    for _ in range(draw(st.integers(2, 7))):
        if draw(st.integers(0, 3)) == 0:
            events.append(Event("bar", offsets=draw(st.sampled_from(barriers))))
            continue
        size = draw(st.sampled_from([1, 2, 4, 8]))
        kind = draw(st.sampled_from(["read", "write", "read", "strong read", "strong write"]))
        offsets = [OFF] * (threads * blocks)
        for block in range(blocks):
            for lane in lanes:
                if draw(st.booleans()):
                    offsets[block * threads + lane] = draw(st.integers(0, 24 // size - 1)) * size
        events.append(Event(kind, size, tuple(offsets)))
    return events


def compare(events: list[Event], threads: int, blocks: int, space: str) -> None:
    ptx, table = kernel(events, threads, blocks, space)
    expected = brute_force(events, threads, blocks)
    if space == "shared":
        expected = [(a, b) for a, b in expected if a.block == b.block]
    a = np.zeros(64, np.uint8)
    try:
        run(ptx, [a, table], block=threads, grid=blocks)
    except SimulationFault as error:
        found = error.faults[0]
        assert found.kind == "race"
        me = (found.block[0], found.thread[0])
        assert found.other_block is not None
        assert found.other_thread is not None
        you = (found.other_block[0], found.other_thread[0])
        pairs = {frozenset([(x.block, x.thread), (y.block, y.thread)]) for x, y in expected}
        assert frozenset([me, you]) in pairs
        return
    assert not expected


@settings(max_examples=150, deadline=None)
@given(programs(4, 2, [0, 1, 2, 3], [(0,)]))
def test_global_memory(events):
    # A block of four threads is one incomplete warp: its barrier is the whole block's. No fault stops these runs.
    ptx, table = kernel(events, 4, 2, "global")
    ptx = ptx.replace("bar.sync 1, 32;", "bar.sync 0;")
    result = run(ptx, [np.zeros(64, np.uint8), table], block=4, grid=2, stop_on_fault=False)
    assert {f.kind for f in result.faults} <= {"race"}
    assert bool(result.faults) == bool(brute_force(events, 4, 2))


@settings(max_examples=100, deadline=None)
@given(programs(64, 2, [0, 1, 32, 33], [(0, 1)]))
def test_two_warps_two_blocks(events):
    compare(events, 64, 2, "global")


@settings(max_examples=60, deadline=None)
@given(programs(64, 2, [0, 1, 32, 33], [(0, 1)]))
def test_shared_memory(events):
    compare(events, 64, 2, "shared")


@settings(max_examples=150, deadline=None)
@given(programs(96, 1, [0, 1, 32, 64, 65], [(0, 1, 2), (0, 1), (1, 2), (0, 2)]))
def test_barriers_of_some_warps(events):
    compare(events, 96, 1, "global")


def exchange(barrier: str) -> str:
    return entry(f"""
      .shared .align 4 .b32 s[64];
      mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r3, %r1, 4, %r2;
      st.shared.u32 [%r3], %r1;
      {barrier}
      xor.b32 %r4, %r1, 32; mad.lo.u32 %r5, %r4, 4, %r2;
      ld.shared.u32 %r6, [%r5];""")


def test_an_exchange_without_its_barrier():
    assert run(exchange("bar.sync 0;"), block=64, grid=2).ok
    ptx = exchange("")
    found = fault(ptx, block=64, grid=2)
    assert (found.kind, found.code, found.buffer, found.offset) == ("race", "R204", "s", 128)
    assert (found.thread, found.other_thread) == ((0, 0, 0), (32, 0, 0))
    assert (found.block, found.other_block) == ((0, 0, 0), (0, 0, 0))
    assert found.line == line_of(ptx, "ld.shared")
    assert "race on byte 128 of s" in found.message()


def test_a_warp_barrier_orders_its_warp_and_no_other():
    assert run(exchange("bar.warp.sync 0xffffffff;").replace("%r1, 32;", "%r1, 16;"), block=64).ok
    assert fault(exchange("bar.warp.sync 0xffffffff;"), block=64).kind == "race"


def test_two_blocks_that_write_the_same_bytes():
    body = PROLOGUE + "mad.wide.u32 %rd1, %r1, 4, %rd9; st.global.u32 [%rd1], %r1;"
    a = np.zeros(32, np.uint32)
    assert run(entry(body, pointers("A")), [a]).ok
    found = fault(entry(body, pointers("A")), [a], grid=2)
    assert found.kind == "race"
    assert found.block != found.other_block


def test_blocks_race_across_batches_too():
    body = PROLOGUE + """
      setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0; @!%p1 exit;
      @%p2 st.global.u32 [%rd9], 1;
      setp.eq.u32 %p3, %r2, 199; @%p3 ld.global.u32 %r5, [%rd9];"""
    found = fault(entry(body, pointers("A")), [np.zeros(4, np.uint32)], block=1000, grid=200)
    assert (found.kind, found.block, found.other_block) == ("race", (199, 0, 0), (0, 0, 0))


def test_overlap_of_different_widths_is_seen():
    body = PROLOGUE + """
      setp.eq.u32 %p1, %r1, 0;
      @%p1 st.global.v4.b32 [%rd9], {%r1, %r1, %r1, %r1};
      @!%p1 st.global.u8 [%rd9+13], 1;"""
    found = fault(entry(body, pointers("A")), [np.zeros(16, np.uint8)], block=2)
    assert (found.kind, found.offset, found.buffer) == ("race", 13, "A")


def test_races_are_not_looked_for_when_asked():
    assert run(exchange(""), block=64, check_races=False, grid=1).ok


@pytest.mark.parametrize("count", [2, 33, 1000])
def test_two_threads_that_write_one_byte_at_once(count):
    found = fault(entry(PROLOGUE + "st.global.u8 [%rd9], 1;", pointers("A")), [np.zeros(1, np.uint8)], block=count)
    assert found.kind == "race"
    assert found.thread != found.other_thread
