"""What is left of numbers that meet: turned rows are turned back, by rules that Z3 and all values confirm."""

from __future__ import annotations

import random
from itertools import product

import pytest
import z3
from bounded_numbers import Access, Bounds, proved

import ptxspec
from ptxspec import T
from ptxspec.lang import ir
from ptxspec.layout import S, TileLayout
from ptxspec.proof.determine import Fixed
from ptxspec.proof.rowwise import box_of
from ptxspec.proof.sift import left_of
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import Expr, Poly, Var


@pytest.mark.parametrize(("around", "width"), [(64, 4), (64, 1), (48, 4), (7, 2)])
def test_rows_turned_alike_meet_where_they_would_unturned(around: int, width: int) -> None:
    """``(p + u) % n``, one place, and ``width`` places from ``p + v`` on meet exactly where ``u`` and ``v`` do."""
    p, u, v = z3.Ints("p u v")
    facts = [u >= 0, u < around, v >= 0, v + width <= around, p + v >= 0, p + v + width <= around]
    one, two = (p + u) % around, p + v
    turned = z3.And(one < two + width, two < one + 1)
    assert proved(turned == z3.And(u < v + width, v < u + 1), *facts)
    assert not proved(turned == z3.And(u < v + width, v < u + 1), *facts[2:])       # u may lie anywhere


@pytest.mark.parametrize("around", [3, 8, 64])
def test_two_turned_places_meet_where_they_would_unturned(around: int) -> None:
    p, u, v = z3.Ints("p u v")
    facts = [u >= 0, u < around, v >= 0, v < around]
    assert proved(((p + u) % around == (p + v) % around) == (u == v), *facts)


@pytest.mark.parametrize("seed", range(300))
def test_what_is_left_is_as_near(seed: int) -> None:
    """Wherever two numbers meet and agree on what is determined, what is left of them is as far apart."""
    rng = random.Random(seed)
    row, lane = Var("row", "int32", "tid.y", 0, 3), Var("lane", "int32", "tid.x", 0, rng.choice([2, 3]))
    unit, around = rng.choice([1, 2]), rng.choice([4, 6, 8])
    begin = ix.floormod(ix.scale(row, rng.randint(1, 3)), rng.choice([2, 3, 4]))
    numbers: list[Poly] = []
    sizes: list[int] = []
    base = rng.choice([0, 0, 5])
    for _ in range(2):
        own = ix.add(begin, ix.scale(lane, rng.choice([1, 1, 2])), rng.choice([0, 0, 1, 3]))
        turned = rng.random() < 0.6
        numbers.append(ix.scale(ix.floormod(own, around) if turned else own, unit))
        sizes.append(unit * rng.choice([1, 1, 2]))
        numbers[-1] = ix.add(numbers[-1], base)
        if rng.random() < 0.2:
            numbers[-1] = ix.add(numbers[-1], rng.choice([ix.scale(row, 9), ix.index(row), ix.constant(1)]))
    fixed = Fixed([ix.index(row)], lambda v: False)
    left = left_of([Access(Bounds())] * 2, numbers, sizes, fixed, [{}, {}])  # type: ignore[arg-type]
    if left is None:
        return
    lanes = range(lane.hi + 1)  # type: ignore[operator]
    for at, first, second in product(range(4), lanes, lanes):
        envs: list[dict[Expr, int]] = [{row: at, lane: first}, {row: at, lane: second}]
        one, two = (evaluate(n, e) for n, e in zip(numbers, envs, strict=True))
        u, v = (evaluate(n, e) for n, e in zip(left, envs, strict=True))
        meets = one < two + sizes[1] and two < one + sizes[0]
        assert meets == (u < v + sizes[1] and v < u + sizes[0]), (numbers, sizes, left)


def test_something_is_left_off() -> None:
    """The rule is used: vectors and the ends of rows that begin at places of their own are told apart by it."""
    row, lane = Var("row", "int32", "tid.y", 0, 3), Var("lane", "int32", "tid.x", 0, 14)
    end = Var("end", "int32", "tid.x", 0, 3)
    begin = ix.floormod(ix.scale(row, 3), 4)
    vectors, ends = ix.add(begin, ix.scale(lane, 4)), ix.floormod(ix.add(begin, end, 60), 64)
    fixed = Fixed([ix.index(row)], lambda v: False)
    found = left_of([Access(Bounds())] * 2, [vectors, ends], [4, 1], fixed, [{}, {}])  # type: ignore[arg-type]
    assert found == [ix.scale(lane, 4), ix.add(end, 60)]
    nothing = Fixed([], lambda v: False)
    assert left_of([Access(Bounds())] * 2, [vectors, ends], [4, 1], nothing, [{}, {}]) is None  # type: ignore[arg-type]


def test_digits_among_known_ones() -> None:
    tid = Var("tid", "int32", "tid.x", 0, 255)
    fixed = Fixed([ix.floormod(ix.floordiv(tid, 12), 8)], lambda v: False)
    assert fixed.holds(ix.floormod(ix.floordiv(tid, 12), 4))
    assert fixed.holds(ix.floormod(ix.floordiv(tid, 24), 4))
    for other in (ix.floormod(ix.floordiv(tid, 12), 16), ix.floormod(ix.floordiv(tid, 12), 3), ix.floordiv(tid, 12),
                  ix.floormod(ix.floordiv(tid, 6), 4), ix.floormod(tid, 12)):
        assert not fixed.holds(other)
    x, y = z3.Ints("x y")
    assert proved((x / 24) % 4 == (y / 24) % 4, (x / 12) % 8 == (y / 12) % 8)
    assert proved((x / 12) % 4 == (y / 12) % 4, (x / 12) % 8 == (y / 12) % 8)


def padded(pitch: int) -> object:
    """Rows of 20 elements, ``pitch`` apart; each block writes one, and a guard keeps its 32 threads inside."""
    @T.function
    def kernel(B: T.Tensor((6, 20), "float32", layout=TileLayout(S[(6, 20) : (pitch, 1)]))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=6, block=32))
        i, j = T.cuda.block_idx("x"), T.cuda.thread_idx("x")
        if j < 20:
            B[i, j] = 1.0

    return kernel


@pytest.mark.parametrize("pitch", [20, 21, 24])
def test_padded_rows_are_compared_axis_by_axis(pitch: int) -> None:
    kernel = padded(pitch).kernel()  # type: ignore[attr-defined]
    assert ptxspec.prove(kernel, sm="sm_90").verdict == "proved"
    (array,) = kernel.params
    box = box_of(ir.View(array, (), array.shape, array.dtype, array.span))
    assert box is not None
    assert box.padded == (pitch > 20)


def test_rows_that_lie_over_each_other_are_not() -> None:
    report = ptxspec.prove(padded(19), sm="sm_90")  # type: ignore[arg-type]
    assert report.verdict == "refuted"
    assert "race-free" in {o.code for o in report.obligations if o.verdict == "refuted"}


def test_padded_rows_and_their_storage_are_different_arrays() -> None:
    """One element of the padded array and another one of its storage, laid out anew, are one place of memory."""
    @T.function
    def kernel(B: T.Tensor((6, 20), "float32", layout=TileLayout(S[(6, 20) : (25, 1)]))):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=20))
        j = T.cuda.thread_idx("x")
        B[1, j] = 1.0
        B.view(6, 20, layout=TileLayout(S[(6, 20) : (20, 1)]))[1, j] = 2.0

    report = ptxspec.prove(kernel, sm="sm_90")
    assert report.verdict == "refuted"
    assert "race-free" in {o.code for o in report.obligations if o.verdict == "refuted"}
