"""Layouts against plain integer arithmetic, for random factors, strides, offsets and swizzles."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxspec.diagnostics import KernelError
from ptxspec.layout import (
    ComposeLayout,
    R,
    S,
    TileLayout,
    Value,
    bx,
    laneid,
    tx,
    warpid,
)
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import Var

extents = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@st.composite
def factors(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    shape = draw(extents)
    return shape, [draw(st.integers(-9, 9)) for _ in shape]


def m(layout: TileLayout | ComposeLayout, *coord: int) -> int:
    place = layout.apply(*coord)["m"]
    assert place.is_const
    return place.const


@given(factors(), st.integers(-5, 5))
@settings(max_examples=80, deadline=None)
def test_apply_range_and_span_are_exact(parts: tuple[list[int], list[int]], offset: int) -> None:
    shape, strides = parts
    layout = TileLayout(S[tuple(shape) : tuple(strides)] + offset)
    places = [sum(i * s for i, s in zip(index, strides)) + offset for index in product(*map(range, shape))]
    assert [m(layout, *index) for index in product(*map(range, shape))] == places
    low, high = layout.memory_range()
    assert (low.const, high.const) == (min(places), max(places) + 1)
    assert layout.span().const == max(places) - min(places) + 1
    assert layout.size().const == prod(shape)
    if len(shape) > 1:
        assert [m(layout, k) for k in range(prod(shape))] == places


@given(factors())
@settings(max_examples=60, deadline=None)
def test_canonical_form_is_the_same_map(parts: tuple[list[int], list[int]]) -> None:
    shape, strides = parts
    layout = TileLayout(S[tuple(shape) : tuple(strides)])
    canonical = layout.canonicalize()
    assert canonical.size() == layout.size()
    flat = (layout.size(),)
    assert all(layout.apply(k, shape=flat) == canonical.apply(k, shape=flat) for k in range(prod(shape)))
    dense = [m(layout, *i) for i in product(*map(range, shape))] == list(range(prod(shape)))
    assert layout.is_contiguous() == dense


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.booleans(), st.data())
@settings(max_examples=80, deadline=None)
def test_swizzle_is_the_xor_of_bit_groups(per: int, length: int, extra: int, inner: bool, data: st.DataObject) -> None:
    atom = length + extra
    layout = ComposeLayout(per, length, atom, TileLayout(S[(1 << 12,)]), inner)
    mask = (1 << length) - 1
    for _ in range(20):
        value = data.draw(st.integers(0, (1 << 12) - 1))
        block = value >> per
        if inner:
            block ^= (block >> atom) & mask
        else:
            block ^= (block & mask) << atom
        assert m(layout, value) == block << per | value & (1 << per) - 1
    symbol = Var("c", "int32", "loop", 0, (1 << 12) - 1)
    place = layout.apply(symbol)["m"]
    value = data.draw(st.integers(0, (1 << 12) - 1))
    assert evaluate(place, {symbol: value}) == m(layout, value)


def test_swizzle_stays_inside_its_range_and_is_one_to_one() -> None:
    for inner in (True, False):
        layout = ComposeLayout(1, 2, 3, TileLayout(S[(5, 8) : (8, 1)]), inner)
        places = [m(layout, i, j) for i in range(5) for j in range(8)]
        low, high = layout.memory_range()
        assert len(set(places)) == 40
        assert low.const <= min(places)
        assert max(places) < high.const


def test_swizzled_rows_have_tight_bounds() -> None:
    row, column = Var("r", "int32", "loop", 0, 63), Var("c", "int32", "loop", 0, 63)
    place = ComposeLayout(3, 3, 3, TileLayout(S[(64, 64)])).apply(row, column)["m"]
    assert ix.bounds(place) == (0, 64 * 64 - 1)


@given(extents, st.permutations(range(4)))
@settings(max_examples=40, deadline=None)
def test_permuted_dims_follow_numpy(shape: list[int], order: list[int]) -> None:
    order = [k for k in order if k < len(shape)]
    layout = TileLayout(S[tuple(shape)]).permute_dims(order)
    array = np.arange(prod(shape)).reshape(shape).transpose(order)
    assert [m(layout, *i) for i in np.ndindex(array.shape)] == array.ravel().tolist()


def test_grouping_splits_factors() -> None:
    layout, ends = TileLayout(S[(8, 6) : (60, 2)]).group((2, 4, 3, 2))
    assert [i.extent.const for i in layout.shard] == [2, 4, 3, 2]
    assert [i.stride.const for i in layout.shard] == [240, 60, 4, 2]
    assert ends == [0, 1, 2, 3, 4]
    assert TileLayout(S[(8, 6) : (60, 2)]).apply(1, 3, shape=(12, 4))["m"].const == (7 // 6) * 60 + 7 % 6 * 2
    with pytest.raises(KernelError, match="cannot be grouped"):
        TileLayout(S[(4, 6) : (60, 2)]).group((3, 8))


@given(st.sampled_from([(2, 3), (3, 2), (4, 1)]), st.sampled_from([(2, 2), (3, 4)]))
def test_tiled_layout_is_outer_times_inner(outer: tuple[int, int], inner: tuple[int, int]) -> None:
    inside, above = TileLayout(S[inner : (1, inner[0])]), TileLayout(S[outer])
    tiled = inside.tile(above, outer, inner)
    shape = (outer[0] * inner[0], outer[1] * inner[1])
    for i, j in product(range(shape[0]), range(shape[1])):
        expected = m(above, i // inner[0], j // inner[1]) * prod(inner) + m(inside, i % inner[0], j % inner[1])
        assert tiled.apply(i, j, shape=shape)["m"].const == expected


def test_pack_and_unpack_are_inverse() -> None:
    layout = TileLayout(S[(4, 8) : (16, 1)] + 8 + R[2 : 64])
    packed = layout.pack(4)
    assert m(packed, 3, 1) == (3 * 16 + 4 + 8) // 4
    assert packed.unpack(4) == layout
    swizzled = ComposeLayout(3, 3, 3, TileLayout(S[(64, 64)]))
    assert m(swizzled.pack(8), 5, 3) * 8 == m(swizzled, 5, 24)
    for wrong in (TileLayout(S[(4, 8) : (15, 1)]), TileLayout(S[(4, 8) : (1, 4)]), TileLayout(S[(4, 6)])):
        with pytest.raises(KernelError, match="K126"):
            wrong.pack(4)


def test_hardware_axes_offsets_and_replicas() -> None:
    layout = TileLayout(S[(4, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)] + 1 @ laneid + R[2 : 12])
    assert {k: v.const for k, v in layout.apply(3, 5, 2, 1).items()} == {"m": 9, "warpid": 3, "laneid": 6}
    assert layout.axes() == ("warpid", "laneid")
    assert layout.span().const == 24
    assert layout.span("laneid").const == 32
    assert layout.size("laneid").const == 32
    assert not layout.is_contiguous()
    assert repr(layout) == ("TileLayout(S[(4, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)] + R[(2,) : (12,)]"
                            " + 1 @ laneid)")
    assert TileLayout(S[8 : -2 @ tx]).apply(3)["tx"].const == -6
    assert TileLayout(S[8 : 1 @ bx]).axes() == ("bx",)


def test_symbolic_extents_and_strides() -> None:
    rows = Value(Var("M", "int32", "dim", 0, (1 << 31) - 1))
    layout = TileLayout(S[(rows, 4) : (1, rows)])
    i, j = Var("i", "int32", "loop", 0, None), Var("j", "int32", "loop", 0, 3)
    assert layout.apply(i, j)["m"] == ix.add(i, ix.mul(j, rows.expr))
    assert layout.span() == ix.scale(rows.expr, 4)
    dense = TileLayout(S[(rows, 2, 2)])
    assert dense.is_contiguous()
    assert dense.apply(i, j, shape=(rows, 4))["m"] == ix.add(ix.scale(i, 4), j)
    assert layout == TileLayout(S[(rows, 4) : (1, rows)])
    assert rows + 1 != rows


def test_numpys_integers_are_integers() -> None:
    m = Value(Var("M", "int32", "dim"))
    four = np.int64(4)
    assert (m * four, four * m) == (m * 4, 4 * m)
    assert (m + np.int32(31)) // np.uint8(32) == (m + 31) // 32
    assert TileLayout(S[(four, 2) : (np.int16(2), 1)]) == TileLayout(S[4, 2])


@pytest.mark.parametrize(("make", "code"), [
    (lambda: S[(4, 4) : (4,)], "K122"),
    (lambda: S[-4], "K122"),
    (lambda: R[4], "K122"),
    (lambda: S[4:1:2], "K122"),
    (lambda: S[4:1, 2:1], "K122"),
    (lambda: S[4.0], "K120"),
    (lambda: S[True], "K120"),
    (lambda: S[np.array([4, 4]),], "K120"),
    (lambda: TileLayout((4, 4)), "K122"),
    (lambda: S[4] + "m", "K124"),
    (lambda: TileLayout(S[4, 4]).apply(1, 2, 3), "K123"),
    (lambda: TileLayout(S[4, 4]).apply(1, 2, shape=(4, 5)), "K123"),
    (lambda: TileLayout(S[4, 4]).permute_dims((0, 0)), "K123"),
    (lambda: ComposeLayout(3, 3, 2, TileLayout(S[64])), "K127"),
    (lambda: ComposeLayout(-1, 3, 3, TileLayout(S[64])), "K127"),
    (lambda: ComposeLayout(3, 3, 3, S[64]), "K127"),
    (lambda: ComposeLayout(2, 2, 2, TileLayout(S[64])).pack(8), "K126"),
    (lambda: ComposeLayout(2, 2, 2, TileLayout(S[60])).tile(TileLayout(S[2]), (2,), (60,)), "K128"),
    (lambda: bool(Value(Var("M", "int32", "dim"))), "K121"),
    (lambda: Value(Var("M", "int32", "dim")) + 1.5, "K120"),
])
def test_misuse_is_named(make, code) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(KernelError) as caught:
        make()
    assert caught.value.code == code
