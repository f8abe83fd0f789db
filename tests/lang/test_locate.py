"""`locate` against NumPy: every chain of view steps on every layout names the byte that NumPy's own views name."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptxspec.diagnostics import KernelError, Span
from ptxspec.lang import ir
from ptxspec.lang.affine import affine
from ptxspec.lang.locate import locate, located_words, storage, storage_elements
from ptxspec.lang.rearrange import rearranged
from ptxspec.lang.reshape import permuted, reinterpreted, relaid, reshaped_to
from ptxspec.lang.select import narrowed, spread
from ptxspec.layout import ComposeLayout, S, TileLayout, laneid, warpid
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import INDEX, Var

HERE = Span("kernel.py", 1)
NUMPY = {"float32": np.dtype("<u4"), "float64": np.dtype("<u8"), "float16": np.dtype("<u2"), "int8": np.dtype("u1")}


def view_of(layout: TileLayout | ComposeLayout, shape: tuple[int, ...], dtype: str = "float32", *,
            scope: str = "shared",
            is_param: bool = False) -> ir.View:
    dims = tuple(ix.constant(e) for e in shape)
    buffer = ir.Buffer("A", dtype, dims, layout, scope, 16, HERE, is_param)
    return ir.View(buffer, (), dims, dtype, HERE)


class Both:
    """A view and the NumPy array of byte offsets that it must agree with, element by element."""

    def __init__(self, shape: list[int], strides: list[int]) -> None:
        self.view = view_of(TileLayout(S[tuple(shape) : tuple(strides)]), tuple(shape))
        low = sum(min(0, (e - 1) * s) for e, s in zip(shape, strides))
        index = np.indices(shape)
        self.bytes = 4 * (sum(i * s for i, s in zip(index, strides)) - low + np.zeros(shape, int))

    def check(self) -> None:
        assert tuple(e.const for e in self.view.shape) == self.bytes.shape
        coordinates = [Var(f"c{k}", INDEX, "word", 0, e - 1) for k, e in enumerate(self.bytes.shape)]
        symbolic = locate(self.view, coordinates)
        linear = affine(self.view)
        for at in np.ndindex(self.bytes.shape):
            found = locate(self.view, at)
            assert found.byte.is_const
            assert found.byte.const == self.bytes[at]
            env = dict(zip(coordinates, at))
            assert evaluate(symbolic.byte, env) == self.bytes[at]
            assert all(0 <= evaluate(c.index, {}) < c.extent.const for c in found.checks)
            assert all(0 <= evaluate(c.index, env) < c.extent.const for c in symbolic.checks)
            if linear is not None:
                assert linear.byte(at).const == self.bytes[at]


@st.composite
def chains(draw: st.DrawFn) -> Both:
    rank = draw(st.integers(1, 3))
    shape = [draw(st.sampled_from([1, 2, 3, 4, 6])) for _ in range(rank)]
    strides = [draw(st.integers(-7, 7)) for _ in shape]
    both = Both(shape, strides)
    for _ in range(draw(st.integers(0, 4))):
        now = both.bytes.shape
        kind = draw(st.sampled_from(["sub", "region", "reshape", "permute", "rearrange"]))
        if kind in ("sub", "region") and prod(now):
            key: list[object] = []
            for e in now:
                if draw(st.booleans()):
                    key.append(draw(st.integers(0, e - 1)))
                else:
                    start = draw(st.integers(0, e - 1))
                    key.append(slice(start, draw(st.integers(start, e)), draw(st.integers(1, 3))))
            if kind == "region" or all(isinstance(k, int) for k in key):
                kept = [slice(k, k + 1) if isinstance(k, int) else k for k in key]
                both.view = narrowed(both.view, spread(both.view, tuple(key), HERE), HERE, drop=False)
                both.bytes = both.bytes[tuple(kept)]
            else:
                both.view = narrowed(both.view, spread(both.view, tuple(key), HERE), HERE, drop=True)
                both.bytes = both.bytes[tuple(key)]
        elif kind == "reshape":
            size = prod(now)
            divisors = [d for d in range(1, size + 1) if size % d == 0] or [1]
            first = draw(st.sampled_from(divisors)) if size else 1
            both.view = reshaped_to(both.view, (first, -1 if size else 0), HERE)
            both.bytes = both.bytes.reshape(first, size // first)
        elif kind == "permute":
            order = draw(st.permutations(range(len(now))))
            both.view = permuted(both.view, tuple(order), HERE)
            both.bytes = both.bytes.transpose(order)
        elif len(now) >= 2:
            names = "abcd"[:len(now)]
            both.view = rearranged(both.view, f"{' '.join(names)} -> {names[-1]} ({' '.join(names[:-1])})", {}, HERE)
            both.bytes = np.moveaxis(both.bytes, -1, 0).reshape(now[-1], prod(now[:-1]))
    return both


@given(chains())
@settings(max_examples=150, deadline=None)
def test_chains_agree_with_numpy(both: Both) -> None:
    both.check()


@given(st.sampled_from(["float16", "int8", "float64"]), st.integers(1, 3), st.integers(1, 4), st.booleans(),
       st.integers(0, 1))
@settings(max_examples=60, deadline=None)
def test_reinterpretation_reads_the_same_bytes(dtype: str, rows: int, pairs: int, narrow_first: bool,
                                               start: int) -> None:
    shape = (rows, 2 * pairs)
    memory = np.arange(prod(shape) * 4, dtype=np.uint8)
    array = memory.view("<u4").reshape(shape)
    view = view_of(TileLayout(S[shape]), shape)
    if narrow_first:
        view = reinterpreted(view, "float16", HERE)
        array = array.view("<u2")
    view = narrowed(view, spread(view, (slice(start * rows // 2, None), slice(None)), HERE), HERE, drop=True)
    array = array[start * rows // 2:]
    view, array = reinterpreted(view, dtype, HERE), array.view(NUMPY[dtype])
    assert tuple(e.const for e in view.shape) == array.shape
    linear = affine(view)
    for at in np.ndindex(array.shape):
        byte = locate(view, at).byte.const
        assert memory[byte:byte + array.itemsize].tobytes() == array[at].tobytes()
        assert linear is None or linear.byte(at).const == byte
        assert locate(view, at).slot.const * 4 + locate(view, at).slot_byte.const == byte


def test_wide_elements_need_dense_neighbours() -> None:
    strided = view_of(TileLayout(S[(4, 4) : (1, 4)]), (4, 4))
    with pytest.raises(KernelError) as caught:
        reinterpreted(strided, "float64", HERE)
    assert caught.value.code == "K146"
    dense = reinterpreted(permuted(strided, (1, 0), HERE), "float64", HERE)
    assert locate(dense, (1, 1)).byte.const == 4 * (4 + 2)
    with pytest.raises(KernelError, match="no whole number"):
        reinterpreted(view_of(TileLayout(S[(4, 3)]), (4, 3)), "float64", HERE)
    swizzled = view_of(ComposeLayout(3, 3, 3, TileLayout(S[(8, 64)])), (8, 64))
    assert reinterpreted(swizzled, "float64", HERE).shape[-1].const == 32
    with pytest.raises(KernelError, match="K146"):
        reinterpreted(view_of(ComposeLayout(0, 3, 3, TileLayout(S[(8, 64)])), (8, 64)), "float64", HERE)


def test_registers_of_threads_have_owner_and_slot() -> None:
    layout = TileLayout(S[(4, 32, 3, 4) : (1 @ warpid, 1 @ laneid, 4, 1)])
    view = view_of(layout, (4, 32, 3, 4), scope="local")
    words = located_words(view, (3, 7), (2,), 4)
    assert [w.slot.const for w in words] == [8, 9, 10, 11]
    assert dict(words[0].axes) == {"warpid": ix.constant(3), "laneid": ix.constant(7)}
    assert storage_elements(view.buffer).const == 12
    flat = reshaped_to(view, (128, 12), HERE)
    assert dict(locate(flat, (103, 9)).axes) == {"warpid": ix.constant(3), "laneid": ix.constant(7)}


def test_negative_strides_start_at_the_lowest_element() -> None:
    reverse = TileLayout(S[4 : -1])
    own, given_ = view_of(reverse, (4,)), view_of(reverse, (4,), scope="global", is_param=True)
    assert [locate(own, (k,)).byte.const for k in range(4)] == [12, 8, 4, 0]
    assert [locate(given_, (k,)).byte.const for k in range(4)] == [0, -4, -8, -12]
    assert tuple(e.const for e in storage(given_.buffer)) == (-3, 1)


def test_a_new_layout_is_held_against_the_storage() -> None:
    pool = view_of(TileLayout(S[64]), (64,))
    part = narrowed(pool, spread(pool, slice(16, 48), HERE), HERE, drop=True)
    grown = relaid(part, (8, 8), TileLayout(S[(8, 8)]), HERE)
    inside, outside = locate(grown, (5, 7)), locate(grown, (6, 0))
    assert inside.byte.const == 4 * (16 + 47)

    def holds(found: ir.Located) -> bool:
        return all(0 <= evaluate(c.index, {}) < c.extent.const for c in found.checks)

    assert holds(inside)
    assert not holds(outside)
    wide = relaid(reinterpreted(pool, "float64", HERE), (4, 9), TileLayout(S[(4, 9)]), HERE)
    assert holds(locate(wide, (3, 4)))
    assert not holds(locate(wide, (3, 5)))
    narrow = relaid(reinterpreted(part, "float16", HERE), (97,), TileLayout(S[97]), HERE)
    assert holds(locate(narrow, (95,)))
    assert not holds(locate(narrow, (96,)))


def test_every_step_has_its_own_checks() -> None:
    view = view_of(TileLayout(S[(64, 4)]), (64, 4), scope="global", is_param=True)
    thread = Var("t", "int32", "tid.x", 0, 63)
    row = narrowed(view, spread(view, (ix.add(thread, 1),), HERE), HERE, drop=True)
    pair = narrowed(row, spread(row, slice(2, 4), HERE), HERE, drop=True)
    found = locate(pair, (1,))
    assert [(repr(c.index), c.extent.const, c.axis) for c in found.checks] == [
        ("1", 2, 0), ("3", 4, 0), ("t + 1", 64, 0), ("3", 4, 1)]
    assert found.byte == ix.add(ix.scale(thread, 16), 28)


def test_symbolic_shapes_stay_out_of_divisions() -> None:
    rows = Var("M", "int32", "dim", 0, (1 << 31) - 1)
    dims = (ix.index(rows), ix.constant(12))
    buffer = ir.Buffer("A", "float32", dims, TileLayout.row_major(dims), "global", 16, HERE, True)
    view = reshaped_to(ir.View(buffer, (), dims, "float32", HERE), (-1, 3, 4), HERE)
    i, j = Var("i", "int32", "loop", 0, None), Var("j", "int32", "loop", 0, 2)
    assert view.shape == (dims[0], ix.constant(3), ix.constant(4))
    assert locate(view, (i, j, 1)).byte == ix.add(ix.scale(i, 48), ix.scale(j, 16), 4)
    merged = rearranged(view, "i j w -> (i j) w", {}, HERE)
    assert merged.shape[0] == ix.scale(rows, 3)
    assert locate(merged, (i, 2)).byte == ix.add(ix.scale(i, 16), 8)


@given(st.integers(0, 3), st.integers(1, 3), st.integers(0, 2), st.booleans())
@settings(max_examples=30, deadline=None)
def test_swizzled_storage_is_one_to_one(per: int, length: int, extra: int, inner: bool) -> None:
    layout = ComposeLayout(per, length, length + extra, TileLayout(S[(8, 24)]), inner)
    view = view_of(layout, (8, 24))
    places = [locate(view, at).byte.const for at in product(range(8), range(24))]
    assert len(set(places)) == 8 * 24
    assert min(places) >= 0
    assert max(places) < 4 * storage_elements(view.buffer).const
