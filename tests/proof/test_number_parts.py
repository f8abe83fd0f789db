"""Numbers compared in parts: the rule, the code against all values, and the kernels that need it."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import product
from math import gcd

import pytest
import z3
from bounded_numbers import Access, Bounds, proved

import ptxspec
from ptxspec import T
from ptxspec.lang import ir
from ptxspec.layout import S, TileLayout
from ptxspec.proof.congruence import residue, unfolded
from ptxspec.proof.determine import Fixed
from ptxspec.proof.injective import _sifted
from ptxspec.proof.parts import cut
from ptxspec.proof.rowwise import box_of
from ptxspec.proof.sift import one_name
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import Expr, Poly, Var


@pytest.mark.parametrize(("unit", "one", "two"), [
    (1, 1, 1), (2, 1, 1), (16, 4, 4), (64, 16, 16), (64, 16, 4), (65524, 4, 8), (7, 3, 3)])
def test_multiples_above_small_parts_are_equal(unit: int, one: int, two: int) -> None:
    """Two stretches, from ``unit * h + low`` on, that meet have one ``h`` where ``low`` and sizes span ``unit``."""
    h, k, low, other, least = z3.Ints("h k low other least")
    first, second = unit * h + low, unit * k + other
    meet = [first < second + two, second < first + one]
    facts = [low >= least, other >= least, low + one <= least + unit, other + two <= least + unit]
    assert proved(h == k, *facts, *meet)
    if one > 1:     # the bound is sharp
        wider = [low >= least, other >= least, low + one <= least + unit + 1, other + two <= least + unit + 1]
        assert not proved(h == k, *wider, *meet)


@pytest.mark.parametrize("seed", range(200))
def test_rows_are_equal_wherever_the_numbers_meet(seed: int) -> None:
    rng = random.Random(seed)
    names = [Var(n, "int32", "loop", low := rng.choice([0, 0, -2]), low + rng.choice([1, 2, 3])) for n in "abc"]
    unit = rng.choice([1, 2, 3])
    coefficients = sorted({unit * rng.choice([1, 2, 3, 4, 6, 8, 12]) for _ in range(3)})
    numbers: list[dict[int, Poly]] = []
    constants: list[int] = []
    for _ in range(2):
        chosen = rng.sample(names, len(coefficients))
        numbers.append({c: ix.index(v) for c, v in zip(coefficients, chosen, strict=True) if rng.random() < 0.8})
        constants.append(rng.choice([0, 0, unit * rng.randint(-6, 12), rng.randint(-5, 30)]))
    sizes = [rng.choice([1, 1, 2, 4]) for _ in range(2)]
    found = cut([Access(Bounds())] * 2, numbers, constants, sizes)  # type: ignore[arg-type]
    values: list[list[tuple[int, tuple[int, ...], int]]] = []
    for k in range(2):
        points = []
        for point in product(*(range(v.lo, v.hi + 1) for v in names)):  # type: ignore[arg-type,operator]
            env: dict[Expr, int] = dict(zip(names, point, strict=True))
            total = constants[k] + sum(c * evaluate(d, env) for c, d in numbers[k].items())
            points.append((total, tuple(evaluate(row[k], env) for row in found.rows), evaluate(found.rests[k], env)))
        values.append(points)
    for (one, parts, rest), (two, others, left) in product(*values):
        if one < two + sizes[1] and two < one + sizes[0]:
            assert parts == others, (numbers, constants, sizes, found)
            assert one - two == rest - left


def test_some_rows_are_found() -> None:
    """The case that lower digits alone cannot tell apart: one access per batch, and one for what is left over."""
    repeat, batch, high = (Var(n, "int32", "loop", 0, h) for n, h in (("repeat", 2), ("batch", 9), ("q", None)))
    bit = Var("bit", "int32", "tid.x", 0, 1)
    many = {1: ix.index(bit), 2: ix.index(repeat), 6: ix.index(batch), 64: ix.index(high)}
    rest = {1: ix.index(bit), 64: ix.index(high)}
    rows = cut([Access(Bounds())] * 2, [many, rest], [0, 62], [1, 1]).rows  # type: ignore[arg-type]
    assert (ix.index(bit), ix.index(bit)) in rows
    assert (ix.scale(high, 64), ix.scale(high, 64)) in rows


def test_quotient_and_remainder_by_a_runtime_number_fix_a_number() -> None:
    tid, by = Var("tid", "int32", "tid.x", 0, 255), Var("n", "int32", "param", 1, None)
    quotient, remainder = ix.floordiv(tid, by), ix.floormod(tid, by)
    assert Fixed([quotient, remainder], lambda v: v is by).holds(tid)
    assert not Fixed([quotient, remainder], lambda v: False).holds(tid)     # each thread has a divisor of its own
    assert not Fixed([quotient], lambda v: v is by).holds(tid)
    assert not Fixed([remainder], lambda v: v is by).holds(tid)
    x, y, q, r, d = z3.Ints("x y q r d")
    assert proved(x == y, d != 0, x == q * d + r, y == q * d + r)


@pytest.mark.parametrize("seed", range(100))
def test_the_lowest_digits_of_a_sum_are_fixed(seed: int) -> None:
    """Where higher terms share a coefficient only their sum is fixed, but what lies below them is fixed as well."""
    rng = random.Random(seed)
    names = [Var(n, "int32", "tid.x", 0, rng.choice([1, 2, 3])) for n in "abcd"]
    value = ix.add(*(ix.scale(v, rng.choice([1, -1, 2, 3, 4, 8, -8, 12])) for v in names))
    fixed = Fixed([value], lambda v: False)
    said = [v for v in names if fixed.holds(v)]
    groups: dict[int, tuple[int, ...]] = {}
    for point in product(*(range(v.hi + 1) for v in names)):  # type: ignore[operator]
        env: dict[Expr, int] = dict(zip(names, point, strict=True))
        found = tuple(env[v] for v in said)
        assert groups.setdefault(evaluate(value, env), found) == found, (value, said)


def test_a_block_is_fixed_below_multiples_of_the_grid() -> None:
    block, trip = Var("block", "int32", "ctaid.x", 0, 263), Var("trip", "int32", "loop", 0, 255)
    more, other = ix.floordiv(ix.sub(63, block), 264), Var("other", "int32", "loop", 0, 255)
    fixed = Fixed([ix.add(block, ix.scale(trip, -264), ix.scale(more, 264))], lambda v: False)
    assert fixed.holds(block)
    assert fixed.holds(trip)        # once the block is known, so is its quotient
    fixed = Fixed([ix.add(block, ix.scale(trip, -264), ix.scale(other, 264))], lambda v: False)
    assert fixed.holds(block)
    assert not fixed.holds(trip)


@dataclass(frozen=True)
class _Twin:
    """Two threads of one block that share nothing."""

    one_block: bool = True

    def shared(self, var: Var) -> bool:
        return False


@dataclass(frozen=True)
class _Threads:
    tid: tuple[Var, ...]
    block: tuple[int, ...]


def rotated(rng: random.Random, thread: Var) -> tuple[Poly, int]:
    """An address of lanes in rows that begin at places of their own, and the bytes of an access there."""
    lanes, words = rng.choice([2, 4, 8]), rng.choice([2, 4])
    row, lane = ix.floordiv(thread, lanes), ix.floormod(thread, lanes)
    begin = ix.floormod(ix.scale(row, rng.randint(1, 5)), rng.choice([words, words, 2 * words]))
    pitch = words * lanes + rng.choice([0, 1, words - 1, words, 3 * words])
    return ix.add(ix.scale(row, pitch), ix.scale(lane, rng.choice([words, words, words - 1])), begin), words


@pytest.mark.parametrize("seed", range(300))
def test_what_is_determined_is_taken_off(seed: int) -> None:
    """Whatever is said to keep threads apart does: compared with every pair of them."""
    thread = Var("t", "int32", "tid.x", 0, 31)
    number, words = rotated(random.Random(seed), thread)
    said = _sifted([Access(Bounds())], [number], [words], _Twin(), _Threads((thread,), (32,)), [], [{}])  # type: ignore
    starts = [evaluate(number, {thread: t}) for t in range(32)]
    apart = all(abs(a - b) >= words for k, a in enumerate(starts) for b in starts[:k])
    assert not said or apart


@pytest.mark.parametrize("seed", range(300))
def test_loops_of_two_accesses_by_one_name(seed: int) -> None:
    """Two accesses, each in a loop of its own: whatever is said to keep threads apart does, for all trips of both."""
    rng = random.Random(seed)
    thread = Var("t", "int32", "tid.x", 0, 7)
    trips = rng.choice([2, 3])
    loops = [Var(f"loop{k}", "int32", "loop", 0, trips - 1 - (rng.random() < 0.1)) for k in range(2)]
    lanes, inner, outer = rng.choice([2, 4]), rng.choice([1, 2, 3]), rng.choice([1, 2, 3, 4])
    row, lane = ix.floordiv(thread, lanes), ix.floormod(thread, lanes)
    begin, around = ix.scale(row, rng.randint(0, 3)), rng.choice([6, 8, 12, 16])
    numbers = [ix.add(ix.scale(row, rng.choice([around, around, 16])),
                      ix.floormod(ix.add(ix.scale(v, inner), ix.scale(lane, outer), begin), around)) for v in loops]
    if rng.random() < 0.3:
        numbers[1] = ix.add(numbers[1], rng.randint(0, 2))
    names = one_name(numbers, _Twin().shared)
    said = _sifted([Access(Bounds())] * 2, numbers, [1, 1], _Twin(), _Threads((thread,), (8,)), [], names)  # type: ignore
    places = [(t, evaluate(n, {thread: t, v: k})) for n, v in zip(numbers, loops, strict=True)
              for t in range(8) for k in range(v.hi + 1)]  # type: ignore[operator]
    apart = all(a != b or t == u for t, a in places for u, b in places)
    assert not said or apart


def test_a_remainder_of_several_digits_fixes_them() -> None:
    word, thread = Var("word", "int32", "loop", 0, 3), Var("t", "int32", "tid.x", 0, 15)
    known = Var("known", "int32", "param", None, None)
    value = ix.floormod(ix.add(word, ix.scale(thread, 4), known), 64)
    assert Fixed([value], lambda v: v is known).holds(thread)
    assert not Fixed([value], lambda v: False).holds(thread)
    short = ix.floormod(ix.add(word, ix.scale(thread, 4), known), 32)       # wraps around within the threads
    assert not Fixed([short], lambda v: v is known).holds(thread)


def test_rows_with_places_of_their_own_are_told_apart() -> None:
    """Not only safe: what a thread's row determines is taken off, so its lane is seen."""
    thread = Var("t", "int32", "tid.x", 0, 255)
    row, lane = ix.floordiv(thread, 16), ix.floormod(thread, 16)
    begin = ix.floormod(ix.scale(row, 3), 4)
    for places, kept in ((begin, True), (ix.floormod(ix.scale(lane, 3), 4), False)):
        number = ix.add(ix.scale(row, 16381), ix.scale(lane, 4), places)
        given = [Access(Bounds())], [number], [4], _Twin(), _Threads((thread,), (256,)), [], [{}]
        assert _sifted(*given) == kept  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(200))
def test_remainders_go_into_the_modulus(seed: int) -> None:
    """``c * (x % m) == c * x`` modulo ``c * m``, inside products and each other too."""
    rng = random.Random(seed)
    x, y = (Var(n, "int32", "loop", -20, 20) for n in "xy")
    value = ix.index(rng.choice([x, y]))
    for _ in range(rng.randint(1, 4)):
        value = ix.floormod(ix.add(ix.scale(value, rng.randint(1, 6)), rng.randint(0, 9)), rng.choice([2, 3, 4, 8, 16]))
        value = ix.mul(value, rng.choice([ix.index(y), ix.floormod(y, 4), ix.constant(4), ix.constant(3)]))
        value = ix.add(value, ix.scale(rng.choice([x, y]), rng.randint(-8, 8)))
    rest, modulus = unfolded(value)
    known = residue(value, {})
    for at in product((-20, -7, -1, 0, 1, 2, 5, 13, 20), repeat=2):
        env: dict[Expr, int] = dict(zip((x, y), at, strict=True))
        exact = evaluate(value, env)
        assert (exact - evaluate(rest, env)) % modulus == 0 if modulus else exact == evaluate(rest, env)
        assert (exact - known.rest) % known.modulus == 0 if known.modulus else exact == known.rest


def test_the_phase_of_a_row_aligns_it() -> None:
    row, pitch = Var("row", "int32", "loop", 0, 99), Var("pitch", "int32", "dim", 1, None)
    for step, modulus in ((ix.constant(65524), 16), (ix.scale(pitch, 4), 16)):
        words = ix.constant(step.const // 4) if step.is_const else ix.index(pitch)
        begin = ix.floormod(ix.mul(ix.floormod(row, 4), ix.sub(4, ix.floormod(words, 4))), 4)
        found = residue(ix.add(ix.mul(ix.index(row), step), ix.scale(begin, 4)), {})
        assert found.modulus % modulus == 0
        assert found.rest % modulus == 0
        wrong = residue(ix.add(ix.mul(ix.index(row), step), ix.scale(begin, 4), 4), {})
        assert wrong.rest % modulus == 4


def striding(n: int, m: int, block: int, grid: int, step: int = 64) -> object:
    """Tiles shared out over ``grid`` blocks, one after another; ``step`` apart (64: side by side)."""
    columns = -(-m // 64)
    count = columns * -(-n // 64)

    @T.function
    def copy(A: T.Tensor((n, m), "float32", align=16), B: T.Tensor((n, m), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=grid, block=block))
        for t in T.serial(T.cuda.block_idx("x"), count, grid):
            i, j = t // columns * 64, t % columns * step
            T.tile_store(B, T.tile_load(A, shape=(64, 64), offset=(i, j)), offset=(i, j))

    return copy


@pytest.mark.parametrize(("n", "m", "block", "grid", "backwards"), [
    *((*case, way) for way in (False, True) for case in (
        (1024, 1024, 128, 7), (1022, 1020, 128, 7), (1023, 1021, 128, 7), (1023, 1021, 512, 264))),
    (1023, 1021, 96, 100, False)])
def test_tiles_dealt_out_to_a_fixed_grid(n: int, m: int, block: int, grid: int, backwards: bool) -> None:
    kernel = striding(n, m, block, grid)
    report = ptxspec.prove(kernel.adjoint() if backwards else kernel, sm="sm_90")  # type: ignore[attr-defined]
    assert report.verdict == "proved"


def test_tiles_that_overlap_are_refuted_on_a_fixed_grid() -> None:
    report = ptxspec.prove(striding(1023, 1021, 128, 7, 60), sm="sm_90")  # type: ignore[arg-type]
    assert report.verdict == "refuted"
    assert any(o.code == "race-free" for o in report.obligations if o.verdict == "refuted")


def vectors(n: int, m: int, apart: int = 16) -> object:
    """Tiles of three-element vectors, two side by side in a loop: the last two axes are seen as one."""
    @T.function
    def copy(A: T.Tensor((n, m, 3), "float32", align=16), B: T.Tensor((n, m, 3), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(-(-m // 32), -(-n // 8)), block=64))
        i, j = T.cuda.block_idx("y") * 8, T.cuda.block_idx("x") * 32
        for k in T.unroll(2):
            at = (i, j + k * apart, 0)
            T.tile_store(B, T.tile_load(A, shape=(8, 16, 3), offset=at, storage="shared"), offset=at)

    return copy


def test_axes_that_are_seen_as_one() -> None:
    for n, m in ((8, 32), (14, 60), (13, 44)):
        assert ptxspec.prove(vectors(n, m), sm="sm_90").verdict == "proved", (n, m)  # type: ignore[arg-type]
    assert ptxspec.prove(vectors(14, 60, 20), sm="sm_90").verdict == "refuted"  # type: ignore[arg-type]


def reshaped(t):
    return t.view(4, 32)


def laid_out(t):
    return t.view(4, 32, layout=TileLayout(S[(4, 32) : (32, 1)]))


def laid_out_again(t):
    return laid_out(t.view(2, 64))


@pytest.mark.parametrize("view", [reshaped, laid_out, laid_out_again])
@pytest.mark.parametrize(("width", "guard", "codes"), [
    (40, 32, set()),            # a guard keeps the index in its axis, not its formula
    (40, 40, {"in-bounds"}),    # past the axis is out of bounds, though it is inside the storage
])
def test_each_axis_of_a_view_has_its_bounds(view: object, width: int, guard: int, codes: set[str]) -> None:
    @T.function
    def kernel(B: T.Tensor((8, 16), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=3, block=width))
        i, j = T.cuda.block_idx("x"), T.cuda.thread_idx("x")
        if j < guard:
            view(B)[i, j] = 1.0

    report = ptxspec.prove(kernel, sm="sm_90")
    found = {o.code for o in report.obligations if o.verdict == "refuted"}
    assert (report.verdict == "proved") == (not codes)
    assert codes <= found


def test_boxes_of_views() -> None:
    across = TileLayout(S[(8, 16) : (1, 8)])

    @T.function
    def kernel(B: T.Tensor((8, 16), "float32"), C: T.Tensor((8, 16), "float32", layout=across)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=1))
        B[0, 0] = C[0, 0]

    b, c = (ir_view(p) for p in kernel.kernel().params)
    lines = ix.constant(4), ix.constant(32)
    laid = ir.Relayout(lines, TileLayout(S[(4, 32) : (32, 1)]), b.span)
    other = ir.Relayout(lines, TileLayout(S[(4, 32) : (1, 4)]), b.span)
    reshaped = ir.Reshape(lines, b.span)
    chosen = ir.Sub(tuple(ir.SubAxis(ix.ZERO, e, 1, True) for e in (ix.constant(4), ix.constant(8))), b.span)

    def box(view: ir.View, *steps: ir.Step) -> tuple[int, int] | None:
        found = box_of(replace(view, steps=steps))
        return None if found is None else (len(found.shape) and found.shape[1].const, found.steps)

    assert box(b) == (16, 0)
    assert box(c) is None
    assert box(b, laid) == box(c, laid) == (32, 1)
    assert box(b, reshaped) == (32, 1)
    assert box(c, reshaped) is None     # C's elements lie in another order
    assert box(b, chosen) == (16, 0)
    assert box(b, chosen, reshaped) is None     # a part under other coordinates
    assert box(b, other) is None
    assert box(b, other, laid) == (32, 2)


def ir_view(parameter: object) -> ir.View:
    """A whole array as a view without steps."""
    assert isinstance(parameter, ir.Buffer)
    return ir.View(parameter, (), parameter.shape, parameter.dtype, parameter.span)


def test_gcd_of_no_numbers_is_no_unit() -> None:
    """A cut above the last coefficient is never taken: its unit would be nothing."""
    assert gcd() == 0
    assert cut([Access(Bounds())] * 2, [{}, {}], [0, 0], [1, 1]).rows == []  # type: ignore[arg-type]
