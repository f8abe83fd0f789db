"""Random structured programs: the lockstep machine against one thread after the other in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sim_hand_forms import hand_resolve
from sim_kernels import entry, pointers, run

MASK = 0xFFFFFFFF
REGISTERS = 4
OPS = {"add": lambda a, b: a + b & MASK, "sub": lambda a, b: a - b & MASK, "xor": lambda a, b: a ^ b,
       "mul.lo": lambda a, b: a * b & MASK}
TESTS = {"lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "ge": lambda a, b: a >= b}


class Left(Exception):
    """The thread executed exit."""


@dataclass
class Assign:
    op: str
    into: int
    a: int
    b: int | str

    def text(self, out: list[str], names: list[int]) -> None:
        second = self.b if isinstance(self.b, str) else f"%r{self.b}"
        kind = "b32" if self.op == "xor" else "u32"
        out.append(f"{self.op}.{kind} %r{self.into}, %r{self.a}, {second};")

    def run(self, r: list[int]) -> None:
        r[self.into] = OPS[self.op](r[self.a], int(self.b) if isinstance(self.b, str) else r[self.b])


@dataclass
class Choose:
    test: str
    a: int
    b: str
    yes: list[object]
    no: list[object]
    uniform: bool = False

    def text(self, out: list[str], names: list[int]) -> None:
        names[0] += 1
        here = names[0]
        out.append(f"and.b32 %r9, %r{self.a}, 7; setp.{self.test}.u32 %p1, %r9, {self.b}; @!%p1 bra ELSE{here};")
        for s in self.yes:
            s.text(out, names)
        out.append(f"bra END{here}; ELSE{here}:")
        for s in self.no:
            s.text(out, names)
        out.append(f"END{here}:")

    def run(self, r: list[int]) -> None:
        for s in self.yes if TESTS[self.test](r[self.a] & 7, int(self.b)) else self.no:
            s.run(r)


@dataclass
class Repeat:
    count: int
    body: list[object]
    slot: list[int] = field(default_factory=list)

    def text(self, out: list[str], names: list[int]) -> None:
        names[0] += 1
        here, counter = names[0], 10 + names[0]
        out.append(f"and.b32 %r{counter}, %r{self.count}, 3; LOOP{here}: setp.eq.u32 %p1, %r{counter}, 0;"
                   f"@%p1 bra OUT{here}; sub.u32 %r{counter}, %r{counter}, 1;")
        for s in self.body:
            s.text(out, names)
        out.append(f"bra LOOP{here}; OUT{here}:")

    def run(self, r: list[int]) -> None:
        for _ in range(r[self.count] & 3):
            for s in self.body:
                s.run(r)


@dataclass
class Leave:
    a: int

    def text(self, out: list[str], names: list[int]) -> None:
        out.append(f"and.b32 %r9, %r{self.a}, 15; setp.eq.u32 %p1, %r9, 3; @%p1 exit;")

    def run(self, r: list[int]) -> None:
        if r[self.a] & 15 == 3:
            raise Left


number = st.integers(0, REGISTERS - 1)
assign = st.builds(Assign, st.sampled_from(sorted(OPS)), number, number,
                   st.one_of(number, st.integers(0, 9).map(str)))
statement = st.recursive(
    st.one_of(assign, assign, assign, st.builds(Leave, number)),
    lambda inner: st.one_of(
        st.builds(Choose, st.sampled_from(sorted(TESTS)), number, st.integers(0, 7).map(str),
                  st.lists(inner, max_size=3), st.lists(inner, max_size=3)),
        st.builds(Repeat, number, st.lists(inner, max_size=3))), max_leaves=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(statement, min_size=2, max_size=6), st.integers(1, 70))
def test_every_thread_does_what_it_would_do_alone(program, threads):
    out = ["ld.param.u64 %rd1, [A]; mov.u32 %r0, %tid.x; mov.u32 %r1, 5; mov.u32 %r2, %laneid; add.u32 %r3, %r0, 11;"
           "mad.wide.u32 %rd2, %r0, 16, %rd1;"]
    names = [0]
    for s in program:
        s.text(out, names)
    out.append("st.global.v4.b32 [%rd2], {%r0, %r1, %r2, %r3};")
    a = np.full((threads, REGISTERS), 0xABCD, np.uint32)
    run(entry("\n".join(out), pointers("A")), [a], block=threads)
    for thread in range(threads):
        r = [thread, 5, thread % 32, thread + 11]
        try:
            for s in program:
                s.run(r)
        except Left:
            r = [0xABCD] * REGISTERS
        assert a[thread].tolist() == r, thread


def test_invented_instructions_run_from_their_steps_alone():
    body = """
      ld.param.u64 %rd1, [A]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd2, %r1, 8, %rd1;
      swapadd.u32 {%r2, %r3}, [%rd2], {%r1, 100};
      st.global.v2.u32 [%rd2+256], {%r2, %r3};"""
    a = np.zeros((64, 2), np.uint32)
    a[:32] = np.arange(64).reshape(32, 2)
    run(entry(body, pointers("A")), [a], resolve=hand_resolve)
    before = np.arange(64).reshape(32, 2)
    assert (a[:32] == before + np.stack([np.arange(32), np.full(32, 100)], axis=1)).all()
    assert (a[32:] == before).all()


def test_atomics_are_exact_and_in_thread_order():
    body = """
      ld.param.u64 %rd1, [A]; ld.param.u64 %rd3, [B]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3;
      mad.wide.u32 %rd2, %r2, 4, %rd1; mad.wide.u32 %rd4, %r1, 4, %rd3;
      atom.global.add.u32 %r3, [%rd2], %r1; st.global.u32 [%rd4], %r3;
      atom.global.max.s32 %r4, [%rd1+16], %r1; atom.global.exch.b32 %r5, [%rd1+20], %r1;
      cas.b32 %r6, [%rd1+24], 0, %r1; atom.global.inc.u32 %r7, [%rd1+28], 9;
      redvec.f32 [%rd1+32], {0f3F800000, 0f40000000};"""
    a, b = np.zeros(10, np.uint32), np.zeros(100, np.uint32)
    run(entry(body, pointers("A", "B")), [a, b], block=100, resolve=hand_resolve)
    for k in range(4):
        mine = np.arange(k, 100, 4)
        assert a[k] == mine.sum()
        assert (b[mine] == np.cumsum(mine) - mine).all()
    # cas: thread 0 writes 0, thread 1 writes 1, and then nobody finds a zero.
    assert a[4:8].tolist() == [99, 99, 1, 0]
    assert a[8:].view(np.float32).tolist() == [100.0, 200.0]


def test_exchange_between_lanes():
    body = """
      ld.param.u64 %rd1, [A]; mov.u32 %r1, %tid.x; mul.lo.u32 %r2, %r1, 10; mad.wide.u32 %rd2, %r1, 16, %rd1;
      shfl.bfly.b32 %r3, %r2, 1, 31, 0xffffffff; shfl.down.b32 %r4, %r2, 2, 31, 0xffffffff;
      shfl.up.b32 %r5, %r2, 1, 0, 0xffffffff; shfl.idx.b32 %r6, %r2, 5, 6175, 0xffffffff;
      st.global.v4.b32 [%rd2], {%r3, %r4, %r5, %r6};"""
    a = np.zeros((64, 4), np.uint32)
    run(entry(body, pointers("A")), [a], block=64, resolve=hand_resolve)
    t = np.arange(64)
    lane = t % 32
    assert (a[:, 0] == (t ^ 1) * 10).all()
    assert (a[:, 1] == np.where(lane + 2 < 32, t + 2, t) * 10).all()
    assert (a[:, 2] == np.where(lane > 0, t - 1, t) * 10).all()
    # 6175 = 0x181f: segments of eight lanes.
    assert (a[:, 3] == (t // 8 * 8 + 5) * 10).all()
