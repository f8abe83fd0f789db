"""Barriers of clusters: who waits for whom, and what they order."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sim_kernels import PROLOGUE, entry, fault, pointers, run

BLOCKS, CLUSTER, THREADS = 4, 2, 64
LANES = (0, 1, 32)
SYNC = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"


def crossing(between: str) -> str:
    """Every thread writes its word and reads that of the same thread in the other block of its cluster."""
    return entry(PROLOGUE + f"""
      st.global.u32 [%rd1], %r4; {between}
      xor.b32 %r5, %r2, 1; mad.lo.u32 %r6, %r5, %r3, %r1; mad.wide.u32 %rd2, %r6, 4, %rd9;
      ld.global.u32 %r7, [%rd2]; {between.replace("st.", "//")}
      st.global.u32 [%rd1+{4 * 256}], %r7;""", pointers("A"))


def test_blocks_of_a_cluster_exchange_data():
    a = np.zeros(512, np.uint32)
    run(crossing(SYNC), [a], block=64, grid=4, cluster=(2, 1, 1))
    assert (a[256:].reshape(2, 2, 64) == np.arange(256).reshape(2, 2, 64)[:, ::-1]).all()


def test_without_the_barrier_it_is_a_race():
    for between in ("", "bar.sync 0;"):
        found = fault(crossing(between), [np.zeros(512, np.uint32)], block=64, grid=4, cluster=(2, 1, 1))
        assert found.kind == "race"


def test_blocks_of_two_clusters_are_not_ordered():
    assert fault(crossing(SYNC), [np.zeros(512, np.uint32)], block=64, grid=4).kind == "race"


def test_arriving_alone_orders_nothing():
    half = "barrier.cluster.arrive;"
    assert fault(crossing(half), [np.zeros(512, np.uint32)], block=64, grid=4, cluster=(2, 1, 1)).kind == "race"


def test_clusters_along_another_axis():
    body = PROLOGUE.replace("%ctaid.x", "%cluster_ctarank") + f"""
      setp.eq.u32 %p1, %r2, 0; mov.u32 %r5, %ctaid.x; mad.wide.u32 %rd1, %r5, 4, %rd9; setp.eq.u32 %p2, %r1, 0;
      @!%p2 bra J; @%p1 st.global.u32 [%rd1], 7; J: {SYNC} @%p1 exit; ld.global.u32 %r6, [%rd1];"""
    assert run(entry(body, pointers("A")), [np.zeros(3, np.uint32)], grid=(3, 2, 1), cluster=(1, 2, 1)).ok


@pytest.mark.parametrize("body, said", [
    ("barrier.cluster.wait;", "without having arrived"),
    ("barrier.cluster.arrive; barrier.cluster.arrive;", "twice"),
])
def test_misuse(body, said):
    found = fault(entry(body), grid=2, cluster=(2, 1, 1))
    assert found.kind == "trap"
    assert said in found.message()


def test_a_block_that_does_not_come():
    body = f"mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; @%p1 bra L; {SYNC} bra.uni J; L: bar.sync 0; exit; J:"
    # Exited threads are not waited for.
    assert run(entry(body), grid=2, cluster=(2, 1, 1)).ok
    some = "mov.u32 %r2, %tid.x; setp.eq.u32 %p2, %r2, 0; @%p2 bra J; bar.sync 0; J:"
    other = body.replace("bar.sync 0; exit; J:", some)
    assert fault(entry(other), grid=2, cluster=(2, 1, 1)).kind == "divergent-barrier"


def kernel(events: list[tuple[str, list[int]]]) -> tuple[str, np.ndarray]:
    table = np.full((len(events), BLOCKS * THREADS), 0xFFFFFFFF, np.uint32)
    lines = [f"ld.param.u64 %rd1, [A]; ld.param.u64 %rd2, [B]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;"
             f"mad.lo.u32 %r3, %r2, {THREADS}, %r1; mad.wide.u32 %rd3, %r3, 4, %rd2;"]
    for k, (kind, offsets) in enumerate(events):
        if kind in ("arrive", "wait"):
            lines.append(f"barrier.cluster.{kind}.aligned;")
        elif kind == "bar":
            lines.append("bar.sync 0;")
        else:
            table[k] = offsets
            lines.append(f"ld.global.u32 %r4, [%rd3+{k * BLOCKS * THREADS * 4}]; setp.ne.u32 %p1, %r4, 0xffffffff;"
                         "cvt.u64.u32 %rd4, %r4; add.u64 %rd4, %rd1, %rd4;")
            lines.append("@%p1 ld.global.u32 %r5, [%rd4];" if kind == "read" else "@%p1 st.global.u32 [%rd4], 1;")
    return entry("\n".join(lines), pointers("A", "B")), table


def racing(events: list[tuple[str, list[int]]]) -> bool:
    """Brute force over all pairs of accesses."""
    touches = [(k, kind, n // THREADS, n, offset) for k, (kind, offsets) in enumerate(events)
               for n, offset in enumerate(offsets) if offset != 0xFFFFFFFF]
    for a, b in combinations(touches, 2):
        if a[3] == b[3] or a[4] != b[4] or a[1] == b[1] == "read":
            continue
        between = [kind for kind, _ in events[a[0]:b[0]]]
        if a[2] == b[2] and "bar" in between:
            continue
        if a[2] // CLUSTER == b[2] // CLUSTER and "arrive" in between and "wait" in between[between.index("arrive"):]:
            continue
        return True
    return False


@pytest.mark.parametrize("seed", range(6))
def test_random_kernels_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    seen = {True: 0, False: 0}
    for _ in range(40):
        events: list[tuple[str, list[int]]] = []
        arrived = False
        for _ in range(int(rng.integers(2, 8))):
            kind = str(rng.choice(["read", "write", "bar", "cluster"], p=[0.4, 0.15, 0.1, 0.35]))
            offsets = [0xFFFFFFFF] * (BLOCKS * THREADS)
            if kind == "cluster":
                kind = "wait" if arrived else "arrive"
                arrived = not arrived
            if kind in ("read", "write"):
                for _ in range(int(rng.integers(1, 4)) if kind == "read" else 1):
                    block = int(rng.integers(0, 2)) if rng.random() < 0.8 else int(rng.integers(0, BLOCKS))
                    offsets[block * THREADS + int(rng.choice(LANES))] = 0
            events.append((kind, offsets))
        if arrived:
            events.append(("wait", [0xFFFFFFFF] * (BLOCKS * THREADS)))
        ptx, table = kernel(events)
        result = run(ptx, [np.zeros(4, np.uint8), table], block=THREADS, grid=BLOCKS, cluster=(2, 1, 1),
                     stop_on_fault=False)
        assert {f.kind for f in result.faults} <= {"race"}
        expected = racing(events)
        assert bool(result.faults) == expected, events
        seen[expected] += 1
    assert min(seen.values()) > 4
