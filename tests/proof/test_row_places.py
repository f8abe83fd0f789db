"""Kernels whose rows begin at places of their own, right and wrong ones: the prover against every thread."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import product

import pytest

import ptxspec
from ptxspec import T


@dataclass(frozen=True)
class Rows:
    """Vectors of ``words`` at ``begin(row) + step * lane``, and ends at ``(begin(row) + last + lane) % around``."""

    pitch: int
    lanes: int
    words: int
    step: int
    factor: int
    modulus: int
    vectors: int    # lanes that have one
    last: int
    around: int
    singles: int    # lanes that have one
    rows: int       # of a block
    shift: int      # columns from block to block

    @classmethod
    def some(cls, rng: random.Random) -> Rows:
        """Mostly right: each number is off now and then."""
        def off(value: int, by: tuple[int, ...] = (-1, 1)) -> int:
            return value + rng.choice(by) if rng.random() < 0.07 else value

        words, lanes = rng.choice([2, 4, 4]), rng.choice([4, 8])
        width = words * lanes
        pitch = off(width * 2 + rng.choice([1, 2, 3, 5]), (-3, -6))
        vectors, factor, modulus = off(lanes - 1, (1, -1)), off(-pitch % words), off(words, (-1, words))
        return cls(pitch, lanes, words, off(words), factor, modulus, vectors, off(width - words), off(width, (-1,)),
                   off(words), rng.choice([2, 4]), off(width))

    def kernel(self) -> object:
        """The kernel of two blocks side by side and two below each other."""
        r = self
        shape = (2 * r.rows, r.pitch)

        @T.function
        def store(B: T.Tensor(shape, "float32", align=16)):
            T.device_entry(launch=T.cuda.LaunchConfig(grid=(2, 2), block=r.rows * r.lanes))
            tid = T.cuda.thread_idx("x")
            row, lane = T.cuda.block_idx("y") * r.rows + tid // r.lanes, tid % r.lanes
            left = T.cuda.block_idx("x") * r.shift
            begin = row * r.factor % r.modulus
            v = T.alloc_local((r.words,), "float32")
            for k in T.unroll(r.words):
                v[k] = 1.0
            if lane < r.vectors:
                start = left + begin + lane * r.step
                T.cuda.tile.apply(T.ptx[f"st.global.v{r.words}.f32"], B.sub[row, start : start + r.words], v)
            if lane < r.singles:
                B[row, left + (begin + r.last + lane) % r.around] = 2.0

        return store

    def wrong(self) -> set[str]:
        """What is wrong with it, by going through all threads."""
        found: set[str] = set()
        owner: dict[int, tuple[int, int, int]] = {}
        for across, down, tid in product(range(2), range(2), range(self.rows * self.lanes)):
            row, lane = down * self.rows + tid // self.lanes, tid % self.lanes
            left, begin = across * self.shift, row * self.factor % self.modulus
            written = []
            if lane < self.vectors:
                start = left + begin + lane * self.step
                if (row * self.pitch + start) % self.words:
                    found.add("aligned")
                written += range(start, start + self.words)
            if lane < self.singles:
                written.append(left + (begin + self.last + lane) % self.around)
            for column in written:
                if not 0 <= column < self.pitch:
                    found.add("in-bounds")
                    continue
                if owner.setdefault(row * self.pitch + column, (across, down, tid)) != (across, down, tid):
                    found.add("race-free")
        return found


@pytest.mark.parametrize("seed", range(60))
def test_every_verdict_is_right(seed: int) -> None:
    rows = Rows.some(random.Random(seed))
    report = ptxspec.prove(rows.kernel(), sm="sm_90")
    said = {o.code for o in report.obligations if o.verdict == "refuted"}
    wrong = rows.wrong()
    assert report.verdict == ("refuted" if wrong else "proved"), (rows, wrong, said)
    assert said & wrong or not wrong
    if "in-bounds" not in wrong:    # otherwise an index may be in another row, where it meets what is there
        assert said == wrong


def test_some_are_right_and_some_wrong() -> None:
    """The cases above are of each kind."""
    kinds = [frozenset(Rows.some(random.Random(seed)).wrong()) for seed in range(60)]
    assert kinds.count(frozenset()) >= 15
    assert all(sum(kind in k for k in kinds) >= 2 for kind in ("aligned", "race-free", "in-bounds"))
