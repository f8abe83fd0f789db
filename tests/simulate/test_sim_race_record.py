"""The race recorder alone, on thousands of sparse histories in which one race, if any, is easily missed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from ptxspec.backend.memory import GlobalMemory
from ptxspec.backend.simulate import races

THREADS, BLOCKS = 4, 3
History = list[tuple[str, int, list[tuple[int, int, int]]]]


def tag(block: int, epoch: int, thread: int) -> int:
    return (block + 1) << races.BLOCK_SHIFT | epoch << races.THREAD_BITS | thread


def history(rng: np.random.Generator) -> tuple[History, list[int]]:
    """Accesses (kind, size, [(block, thread, offset)]) and, before each, how many barriers have passed."""
    out: History = []
    epochs: list[int] = []
    epoch = 0
    kinds = [races.READ, races.WRITE, races.STRONG_READ, races.STRONG_WRITE]
    weights = rng.permutation([0.6, 0.1, 0.15, 0.15])
    # A small pool of threads, so that one thread both reads and writes, and often one place for all.
    pool = rng.permutation(THREADS * BLOCKS)[: int(rng.integers(2, 5))]
    narrow = rng.random() < 0.6
    for _ in range(int(rng.integers(2, 7))):
        epoch += int(rng.random() < 0.3)
        size = 4 if narrow else int(rng.choice([1, 2, 4]))
        threads = rng.permutation(pool)[: int(rng.choice([1, 1, 2, 3, 4]))]
        who = [(int(t) // THREADS, int(t) % THREADS, 0 if narrow else int(rng.integers(0, 8 // size)) * size)
               for t in sorted(threads)]
        out.append((str(rng.choice(kinds, p=weights)), size, who))
        epochs.append(epoch)
    return out, epochs


def racing(events: History, epochs: list[int]) -> set[frozenset[tuple[int, int]]]:
    touches = [(kind, size, block, thread, start, epoch)
               for (kind, size, who), epoch in zip(events, epochs) for block, thread, start in who]
    out = set()
    for a, b in combinations(touches, 2):
        if a[2:4] == b[2:4] or a[4] + a[1] <= b[4] or b[4] + b[1] <= a[4]:
            continue
        if a[0].endswith("read") and b[0].endswith("read"):
            continue
        if a[0].startswith("strong") and b[0].startswith("strong"):
            continue
        if a[2] == b[2] and a[5] != b[5]:
            continue
        out.add(frozenset([a[2:4], b[2:4]]))
    return out


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("residue", [0, 4])
def test_recorder_agrees_with_brute_force(seed, residue):
    rng = np.random.default_rng(seed)
    found_some = 0
    for _ in range(500):
        events, epochs = history(rng)
        region = GlobalMemory().add("A", np.zeros(8, np.uint8), residue=residue)
        expected = racing(events, epochs)
        found = None
        for (kind, size, who), epoch in zip(events, epochs):
            tags = np.array([tag(block, epoch, thread) for block, thread, _ in who], np.uint64)
            offset = np.array([start for _, _, start in who], np.uint64)
            race = races.record(region, offset, None, size, tags, kind)
            if race is not None:
                assert offset[race.position] <= race.byte < offset[race.position] + size
                block, thread, _ = who[race.position]
                found = frozenset([(block, thread), races.tag_parts(race.other)])
                break
        if found is None:
            assert not expected, (events, epochs)
        else:
            assert found in expected, (events, epochs)
            found_some += 1
    assert 50 < found_some < 480  # the histories are of both kinds


def test_rows_are_separate_memory():
    from ptxspec.backend.memory import Variable, variable_region

    region = variable_region("shared", [Variable("s", 16, 16)], 2, writable=True)
    start = np.array([region.places[0].start] * 2, np.uint64)
    tags = np.array([tag(0, 0, 0), tag(1, 0, 0)], np.uint64)
    assert races.record(region, start, np.array([0, 1]), 4, tags, races.WRITE) is None
    later = np.array([tag(0, 0, 1), tag(1, 1, 1)], np.uint64)
    race = races.record(region, start + np.uint64(2), np.array([0, 1]), 2, later, races.READ)
    assert race is not None
    assert (race.position, races.tag_parts(race.other), race.byte) == (0, (0, 0), region.places[0].start + 2)
