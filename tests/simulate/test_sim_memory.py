"""Regions of memory against plain byte arrays: bounds, alignment, ownership, undefined bytes, placement."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ptxspec.backend.memory import (
    GUARD,
    SPACE_START,
    WINDOWS,
    GlobalMemory,
    MemoryTrap,
    Variable,
    lay_out,
    variable_region,
    window_of,
    window_space,
)


@st.composite
def accesses(draw: st.DrawFn):
    size = draw(st.integers(1, 80))
    residue = draw(st.sampled_from([0, 0, 4, 8, 13, 255]))
    owned = draw(st.one_of(st.none(), st.lists(st.booleans(), min_size=size, max_size=size)))
    width = draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    offsets = draw(st.lists(st.integers(-40, size + 40), min_size=1, max_size=6))
    return size, residue, owned, width, offsets


@settings(max_examples=300, deadline=None)
@given(accesses())
def test_checks_agree_with_a_byte_by_byte_look(case):
    size, residue, owned, width, offsets = case
    memory = GlobalMemory()
    memory.add("before", np.zeros(64, np.uint8))
    mask = None if owned is None else np.array(owned)
    data = np.arange(size).astype(np.uint8)
    region = memory.add("A", data, residue=residue, owned=mask)
    memory.add("after", np.zeros(64, np.uint8))
    address = np.array([region.base + o for o in offsets], np.int64).astype(np.uint64)
    misaligned = [(region.base + o) % width != 0 for o in offsets]
    outside = [not all(0 <= o + k < size and (owned is None or owned[o + k]) for k in range(width)) for o in offsets]
    assert memory.split(address) == [(region, None)]
    if any(misaligned) or any(outside):
        with pytest.raises(MemoryTrap) as caught:
            region.check(address, width, write=False)
        kind, wrong = ("misaligned", misaligned) if any(misaligned) else ("out-of-bounds", outside)
        assert caught.value.kind == kind
        assert caught.value.positions.tolist() == [k for k, w in enumerate(wrong) if w]
        assert caught.value.offset == offsets[wrong.index(True)]
        assert caught.value.buffer == "A"
        return
    index = region.index(region.check(address, width, write=False), None, width)
    got = region.load(index, width)
    assert got.tobytes() == b"".join(data[o:o + width].tobytes() for o in offsets)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.sampled_from([1, 2, 4, 8, 16, 32]), st.integers(0, 31)),
                min_size=1, max_size=12))
def test_writes_define_exactly_their_bytes(history):
    region = variable_region("shared", [Variable("s", 64, 32)], 3, writable=True)
    start = region.places[0].start
    bytes_, defined = np.zeros((3, 64), np.uint8), np.zeros((3, 64), bool)
    for number, (write, row, width, slot) in enumerate(history):
        offset = slot * width % 64
        at = np.array([start + offset], np.uint64)
        rows = np.array([row])
        index = region.index(region.check(at, width, write=write), rows, width)
        if write:
            value = np.random.default_rng(number).integers(0, 256, width).astype(np.uint8)
            bits = value.view(f"u{width}") if width <= 8 else value.view(np.uint64).reshape(1, -1)
            region.store(index, width, bits)
            bytes_[row, offset:offset + width] = value
            defined[row, offset:offset + width] = True
        else:
            missing = region.undefined(index, width)
            assert (missing is None) == bool(defined[row, offset:offset + width].all())
            if missing is None:
                assert region.load(index, width).tobytes() == bytes_[row, offset:offset + width].tobytes()


def test_variables_are_apart_and_aligned():
    places, end = lay_out([Variable("a", 3, 1), Variable("b", 16, 16), Variable("c", 0, 128), Variable("d", 4, 4)])
    assert places[0].start == SPACE_START
    for before, after in pairwise(places):
        assert after.start >= before.start + before.size + GUARD
    assert [p.start % a for p, a in zip(places, (1, 16, 128, 4))] == [0] * 4
    assert end >= places[-1].start + places[-1].size


def test_allocations_are_far_apart_and_above_four_gigabytes():
    memory = GlobalMemory()
    regions = [memory.add(str(k), np.zeros(16, np.uint8)) for k in range(5)]
    bases = np.array([r.base for r in regions], np.uint64)
    assert (bases > 1 << 32).all()
    assert (np.diff(bases) == 1 << 36).all()
    split = memory.split(bases[[3, 0, 3]])
    assert [(r.places[0].name, m.tolist()) for r, m in split if m is not None] == [
        ("0", [False, True, False]), ("3", [True, False, True])]
    with pytest.raises(MemoryTrap, match="out-of-bounds"):
        memory.split(np.array([0], np.uint64))


def test_windows_do_not_overlap_global_memory():
    for name, base in WINDOWS.items():
        assert window_space(int(window_of(np.array([base + 5], np.uint64))[0])) == name
    assert window_space(0) == "global"
    assert window_space(77) == ""


def test_a_store_beyond_the_rows_of_others_leaves_them():
    region = variable_region("local", [Variable("l", 8, 8)], 4, writable=True)
    at = np.full(2, region.places[0].start, np.uint64)
    index = region.index(region.check(at, 8, write=True), np.array([1, 3]), 8)
    region.store(index, 8, np.array([5, 7], np.uint64))
    rows = region.data.reshape(4, -1)[:, region.places[0].start]
    assert rows.tolist() == [0, 5, 0, 7]
