"""What the quick race test rests on: swizzles undone, digits of numbers, values that fix others."""

from __future__ import annotations

import random
from itertools import product
from math import gcd
from pathlib import Path
from typing import Any

import pytest
import z3

from ptxspec import T
from ptxspec.layout import ComposeLayout, S, TileLayout
from ptxspec.proof import prove
from ptxspec.proof.determine import Fixed, _whole, digits_of
from ptxspec.proof.encode import Encoder
from ptxspec.proof.injective import differ, fields
from ptxspec.proof.swizzle import before
from ptxspec.proof.tree import Access, steps
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import evaluate, substitute
from ptxspec.scalar.expr import INDEX, Expr, Poly, Var

LINE = TileLayout(S[(1,) : (1,)])
SWIZZLES = [
    (per, length, atom, inner)
    for per, length, atom, inner in product((0, 1, 2, 3), (1, 2, 3), (1, 2, 3, 4), (True, False))
    if atom >= length
]


def proved(claim: z3.BoolRef, *facts: z3.BoolRef) -> bool:
    """True when Z3 proves the claim from the facts."""
    solver = z3.SimpleSolver()
    solver.set("rlimit", 20_000_000)
    solver.add(*facts)
    solver.add(z3.Not(claim))
    return bool(solver.check() == z3.unsat)


@pytest.mark.parametrize(("per", "length", "atom", "inner"), SWIZZLES)
def test_a_swizzle_is_one_to_one_and_moves_whole_groups(per: int, length: int, atom: int, inner: bool) -> None:
    """For every integer: high bits pass through, low bits are permuted, places in a group stay."""
    layout = ComposeLayout(per, length, atom, LINE, swizzle_inner=inner)
    period = 1 << (per + length + atom)
    high = Var("high", INDEX, "param")
    images = []
    for low in range(period):
        image = layout.swizzle(ix.constant(low)).const
        # the part above the period, whatever it is, comes out unchanged beside the image of the part below
        assert layout.swizzle(ix.add(ix.scale(high, period), low)) == ix.add(ix.scale(high, period), image)
        images.append(image)
    assert sorted(images) == list(range(period))
    group = 1 << per
    assert all(images[k] % group == k % group and images[k] // group == images[k - k % group] // group
               for k in range(period))


def _shared_accesses(kernel: object) -> list[Access]:
    walker = Walker(kernel.kernel())  # type: ignore[attr-defined]
    return [a for s in steps(walker.nodes) for a in s.memory if a.buffer.scope == "shared"]


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize(("per", "length", "atom"), [(2, 2, 2), (1, 2, 3), (2, 3, 3), (3, 2, 2)])
@pytest.mark.parametrize("wide", [False, True])
def test_bytes_meet_before_a_swizzle_where_they_meet_behind(
    per: int, length: int, atom: int, width: int, wide: bool
) -> None:
    layout = ComposeLayout(per, length, atom, TileLayout(S[(8, 16) : (16, 1)]))
    opcode = {1: "st.shared.b32", 2: "st.shared.v2.b32", 4: "st.shared.v4.b32"}[width]
    if wide and width == 1:
        opcode, lanes = "st.shared.b64", 1
    else:
        lanes = width
    dtype = "float64" if wide and width == 1 else "float32"

    @T.function
    def kernel(n: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
        tid = T.cuda.thread_idx("x")
        s = T.alloc_shared((8, 16), "float32", align=64, layout=layout)
        q = T.alloc_local((lanes,), dtype)
        v = s.view(dtype)
        T.cuda.tile.apply(T.ptx[opcode], v.sub[tid, lanes * (n & 1) : lanes * (n & 1) + lanes], q)

    (access,) = _shared_accesses(kernel)
    found = before(access)
    if found is None:  # words are not in a row behind the swizzle, or leave their group: nothing is said
        assert (1 << per) < (2 if wide and width == 1 else width) or per < 2
        return
    names = sorted({v for p in (*access.words, found[1]) for v in p.children() for v in _vars(v)}, key=lambda v: v.uid)
    tid = next(v for v in names if v.role.startswith("tid"))
    other = [v for v in names if v is not tid]
    points = []
    for t, n in product(range(8), range(2)):
        env: dict[Expr, int] = {tid: t, **dict.fromkeys(other, n)}
        points.append((evaluate(access.words[0], env), evaluate(found[1], env)))
    for (a, x), (b, y) in product(points, points):
        assert (abs(a - b) < access.size) == (abs(x - y) < access.size)


def _vars(expr: Expr) -> list[Var]:
    from ptxspec.scalar.expr import variables

    return list(variables(expr))


@pytest.mark.parametrize("seed", range(30))
def test_digits_of_a_number(seed: int) -> None:
    """Quotients and remainders by constants, nested: the digits that they are said to be."""
    rng = random.Random(seed)
    x = Var("x", INDEX, "param")
    value: Poly = ix.index(x)
    for _ in range(rng.randint(1, 4)):
        by = rng.choice([2, 3, 4, 6, 8, 12, 32])
        value = ix.floordiv(value, by) if rng.random() < 0.5 else ix.floormod(value, by)
        if value.is_const:
            return
        base, low, high = digits_of(value)
        encoder = Encoder(z3.main_ctx())
        left, number = encoder.integer(value), encoder.integer(base)
        right = number / low if high is None else (number / low) % (high // low)
        assert high is None or high % low == 0
        assert proved(left == right, *encoder.definitions), value


@pytest.mark.parametrize("seed", range(60))
def test_digits_that_leave_one_value(seed: int) -> None:
    rng = random.Random(seed)
    low = rng.randint(-20, 20)
    high = low + rng.choice([1, 7, 31, 32, 63, 255])
    x = ix.index(Var("x", "int32", "param", low, high))
    digits = set()
    at = 1
    for _ in range(rng.randint(1, 4)):
        start = rng.choice([1, at, at, at])
        end = start * rng.choice([2, 4, 8, 3]) if rng.random() < 0.8 else None
        digits.add((start, end))
        at = end or at
    if not _whole(x, digits):
        return
    a, b = z3.Ints("a b")
    facts = [a >= low, a <= high, b >= low, b <= high]
    for start, end in digits:
        left, right = a / start, b / start
        facts.append(left == right if end is None else left % (end // start) == right % (end // start))
    assert proved(a == b, *facts)


@pytest.mark.parametrize("seed", range(300))
def test_fixed_values_are_fixed(seed: int) -> None:
    """Against all pairs of values: where the given numbers are equal, so is everything that is said to be fixed."""
    rng = random.Random(seed)
    sizes = [rng.choice([4, 6, 8, 16]), rng.choice([2, 3, 4]), rng.choice([1, 2])]
    names = [Var(n, "int32", "tid.x", 0, s - 1) for n, s in zip("xyz", sizes, strict=True)]
    linear = ix.add(names[0], ix.scale(names[1], rng.choice([sizes[0], 4, 5])), ix.scale(names[2], rng.choice([1, 16])))

    def part() -> Poly:
        start = rng.choice([linear, *map(ix.index, names)])
        for _ in range(rng.randint(0, 2)):
            by = rng.choice([2, 3, 4, 8])
            moved = ix.add(ix.scale(start, rng.choice([3, 5, 6])), rng.randint(0, 3))
            start = rng.choice([ix.floordiv(start, by), ix.floormod(start, by), ix.binary("xor", start, by - 1),
                                ix.floormod(moved, rng.choice([8, 9, 16, 32]))])
        return start

    given = []
    for _ in range(rng.randint(1, 3)):
        value = part()
        if rng.random() < 0.5:
            value = ix.binary("xor", value, part())
        if rng.random() < 0.5:
            value = ix.add(ix.scale(value, rng.choice([1, 4, 16])), part())
        given.append(value)
    fixed = Fixed(given, lambda v: v is names[2])  # the last variable is common to both
    asked = [*map(ix.index, names), linear, *(part() for _ in range(3))]
    said = [a for a in asked if fixed.holds(a)]
    groups: dict[tuple[int, ...], tuple[int, ...]] = {}
    for point in product(*(range(s) for s in sizes)):
        env: dict[Expr, int] = dict(zip(names, point, strict=True))
        key = (point[2], *(evaluate(g, env) for g in given))
        values = tuple(evaluate(a, env) for a in said)
        assert groups.setdefault(key, values) == values, (given, said)


def test_fixed_understands_fields_and_xor() -> None:
    tid = Var("tid", "int32", "tid.x", 0, 255)
    lane, warp = ix.floormod(tid, 32), ix.floordiv(tid, 32)
    column = ix.add(ix.scale(ix.floormod(warp, 2), 8), ix.floormod(lane, 8))
    row = ix.floordiv(warp, 2)
    given = [column, ix.floordiv(lane, 8), ix.binary("xor", row, column)]
    assert Fixed(given, lambda v: False).holds(tid)
    for left_out in range(3):
        assert not Fixed(given[:left_out] + given[left_out + 1 :], lambda v: False).holds(tid)


@pytest.mark.parametrize(("factor", "modulus"), [(5, 64), (3, 8), (6, 8), (12, 64), (9, 6), (-5, 12), (10, 15)])
def test_a_remainder_of_a_multiple_fixes_the_remainder(factor: int, modulus: int) -> None:
    left = modulus // gcd(factor, modulus)
    x, y, k = z3.Ints("x y k")
    assert proved(x % left == y % left, (factor * x + k) % modulus == (factor * y + k) % modulus)
    tid = Var("tid", "int32", "tid.x", 0, 255)
    common = Var("n", "int32", "param")
    value = ix.floormod(ix.add(ix.scale(tid, factor), common), modulus)
    found = Fixed([value], lambda v: v is common)
    assert found.holds(ix.floormod(tid, left))
    assert not found.holds(tid)


@pytest.mark.parametrize("seed", range(300))
def test_digits_that_are_said_to_differ_never_are_equal(seed: int) -> None:
    rng = random.Random(seed)
    names = [Var(n, "int32", "loop", 0, 15) for n in "ab"]

    def side() -> Poly:
        parts: list[Poly | int] = [rng.randint(-3, 3)]
        for _ in range(rng.randint(1, 3)):
            inner = ix.add(ix.scale(rng.choice(names), rng.choice([1, 1, 2, 3])), rng.randint(0, 5))
            if rng.random() < 0.7:
                inner = ix.floormod(inner, rng.choice([2, 3, 4, 6]))
            parts.append(ix.scale(inner, rng.choice([1, 1, 2, -1])))
        return ix.add(*parts)

    left = side()
    right = ix.add(left, rng.choice([1, 2])) if rng.random() < 0.3 else side()
    if rng.random() < 0.5:  # the next iteration
        right = ix.index(substitute(left, {names[0]: ix.add(names[0], rng.choice([1, 2]))}))
    if not differ(left, right):
        return
    for point in product(range(16), repeat=2):
        env: dict[Expr, int] = dict(zip(names, point, strict=True))
        assert evaluate(left, env) != evaluate(right, env), (left, right)


def test_the_rule_of_remainders_that_differ() -> None:
    """``x % m == y % n`` leaves x and y equal modulo every common divisor of m and n."""
    for m, n, g in ((2, 2, 2), (4, 6, 2), (12, 8, 4), (3, 9, 3)):
        x, y = z3.Ints("x y")
        assert proved((x - y) % g == 0, x % m == y % n)
    k = Var("k", "int32", "loop", 0, 99)
    for depth in (2, 3, 4):
        slot = ix.floormod(k, depth)
        for ahead in range(1, 2 * depth):
            later = ix.floormod(ix.add(k, ahead), depth)
            assert differ(slot, later) == bool(ahead % depth)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_buffers_in_turn_need_no_solver(depth: int) -> None:
    @T.function
    def turn(A: T.Tensor((1000, 64), "float32"), B: T.Tensor((1000, 64), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        tid = T.cuda.thread_idx("x")
        s = T.alloc_shared((depth, 64), "float32")
        for k in T.serial(1000):
            s[k % depth, tid] = A[k, tid]
            T.cuda.cta_sync()
            B[k, tid] = s[k % depth, 63 - tid]

    report = prove(turn, use_cache=False)
    assert report.verdict == "proved", report.text()
    assert report.statistics["z3"] == 0


@pytest.mark.parametrize("count", [8, 32])
def test_work_grows_with_the_statements_and_not_with_their_pairs(count: int, tmp_path: Path) -> None:
    """Stores to places that only two threads compared tell apart, each in a row of its own."""
    lines = [
        "from ptxspec import T", "", "@T.function",
        f"def kernel(B: T.Tensor(({count}, 64), 'float32'), C: T.Tensor((64,), 'int32')):",
        "    T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))",
        "    tid = T.cuda.thread_idx('x')",
    ]
    lines += [f"    B[{k}, tid * tid] = 1.0" for k in range(count)]
    path = tmp_path / "stores.py"
    path.write_text("\n".join(lines) + "\n")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    report = prove(scope["kernel"], use_cache=False)
    assert report.verdict == "proved", report.text()
    assert report.statistics["z3"] <= 2 * count


def test_a_transpose_with_flat_threads_needs_no_solver() -> None:
    """The 64x64 tile with XORed columns: lanes and warps from one thread number."""

    @T.function
    def transpose(A: T.Tensor((128, 192), "float32", align=16), B: T.Tensor((192, 128), "float32", align=16)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(3, 2), block=256))
        tid = T.cuda.thread_idx("x")
        bx = T.cuda.block_idx("x")
        by = T.cuda.block_idx("y")
        lane = tid % 32
        warp = tid // 32
        shared = T.alloc_shared((64, 16, 4), "float32", align=16)
        registers = T.alloc_local((4, 4), "float32")
        words = registers.view(4, 4, 1)
        c = (warp % 2) * 8 + lane % 8
        for k in T.unroll(4):
            r = k * 16 + (warp // 2) * 4 + lane // 8
            T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers.sub[k, :],
                              A.sub[by * 64 + r, bx * 64 + c * 4 : bx * 64 + c * 4 + 4])
        for k in T.unroll(4):
            for w in T.unroll(4):
                r = k * 16 + (warp // 2) * 4 + lane // 8
                T.cuda.tile.apply(T.ptx["st.shared.b32"],
                                  shared.sub[c * 4 + w, (r // 4) ^ c, r % 4 : r % 4 + 1], words.sub[k, w, :])
        T.cuda.cta_sync()
        for k in T.unroll(4):
            q = k * 16 + (warp // 2) * 4 + lane // 8
            T.cuda.tile.apply(T.ptx["ld.shared.v4.b32"], registers.sub[k, :], shared.sub[q, c ^ (q // 4), :])
        for k in T.unroll(4):
            q = k * 16 + (warp // 2) * 4 + lane // 8
            T.cuda.tile.apply(T.ptx["st.global.v4.b32"],
                              B.sub[bx * 64 + q, by * 64 + c * 4 : by * 64 + c * 4 + 4], registers.sub[k, :])

    report = prove(transpose, use_cache=False)
    assert report.verdict == "proved", report.text()
    assert report.statistics["z3"] == 0


def test_swizzled_rows_whose_extents_are_no_powers_of_two_need_no_solver() -> None:
    @T.function
    def kernel(
        A: T.Tensor((1, 3, 32, 3, 1), "float32", align=16),
        B: T.Tensor((1, 3, 32, 3, 1), "float32", align=16,
                    layout=ComposeLayout(1, 2, 2, TileLayout(S[(1, 3, 32, 3, 1) : (288, 96, 3, 1, 1)]))),
    ):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=96))
        tid = T.cuda.thread_idx("x")
        q = T.alloc_local((3, 1), "float32")
        T.cuda.tile.apply(T.ptx["ld.global.b32"], q, A.sub[0, tid // 32, tid % 32])
        T.cuda.tile.apply(T.ptx["st.global.b32"], B.sub[0, tid // 32, tid % 32], q)

    report = prove(kernel, use_cache=False)
    assert report.verdict == "proved", report.text()
    assert report.statistics["z3"] == 0


def test_masks_are_read_as_digits() -> None:
    """``x & 12`` is ``4 * (x // 4 % 4)`` for every x, also below zero; several runs of ones add up."""
    x = Var("x", INDEX, "param")
    for mask in (2, 12, 5, 44, 1 << 20):
        masked = ix.binary("and", x, mask)
        written = fields(masked)
        assert "&" not in repr(written)
        encoder = Encoder(z3.main_ctx())
        left, right = encoder.integer(masked), encoder.integer(written)
        assert proved(left == right, *encoder.definitions)
        assert all(evaluate(masked, {x: v}) == evaluate(written, {x: v}) == v & mask for v in range(-70, 70))


def test_reversed_and_woven_bits_need_no_solver() -> None:
    @T.function
    def reversed_bits(A: T.Tensor((64,), "float32"), B: T.Tensor((64,), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        t = T.cuda.thread_idx("x")
        B[(t & 1) << 5 | (t & 2) << 3 | (t & 4) << 1 | (t & 8) >> 1 | (t & 16) >> 3 | (t & 32) >> 5] = A[t]

    report = prove(reversed_bits, use_cache=False)
    assert report.verdict == "proved", report.text()
    assert report.statistics["z3"] == 0


@pytest.mark.parametrize("before", range(0, 600, 37))
def test_rows_of_runtime_length_are_told_apart_whatever_came_before(before: int) -> None:
    """Pairs that the digits leave open are compared axis by axis: the answer does not hang on the order of terms."""
    for _ in range(before):
        Var("x", "int32", "loop")
    m, n = T.dim("M"), T.dim("N")

    @T.function
    def kernel(B: T.Tensor((m, n), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=(m + 15) // 16, block=64))
        T.assume(n >= 32)
        tid = T.cuda.thread_idx("x")
        by = T.cuda.block_idx("x") * 16
        for k in T.serial(5):
            if by + 3 * k + tid // 32 < m and tid < 64:
                B[by + 3 * k + tid // 32, tid % 32] = 1.0
        if by + 2 + 3 * (tid // 32) < m:
            B[by + 2 + 3 * (tid // 32), 31 - tid % 32] = 2.0

    report = prove(kernel, use_cache=False)
    assert report.verdict == "proved", report.text()
