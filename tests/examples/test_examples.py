"""The documents' examples, from source text to checked results in the simulator."""

from __future__ import annotations

import re

import numpy as np
from loading import EXAMPLES, example

import ptxspec


def count(ptx: str, opcode: str) -> int:
    """How many instructions of the module have exactly this opcode."""
    return len(re.findall(rf"(?m)(?:^|\s){re.escape(opcode)}\s", ptx))


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def test_strided_load_emits_105_vector_loads_and_copies_exactly() -> None:
    exe = ptxspec.compile(example("strided_load").strided_load, target="sm_90")
    assert exe.report.verdict == "proved"
    assert count(exe.ptx, "ld.global.v4.b32") == 105
    x, out = random(15, 2, 7, 2), np.full(420, np.nan, np.float32)
    exe(x, out)
    np.testing.assert_array_equal(out, x.reshape(-1))


def test_the_loaded_words_go_straight_to_their_registers() -> None:
    """No intermediate tile: the only register moves of the module would be copies, and there are none."""
    exe = ptxspec.compile(example("strided_load").strided_load, target="sm_90")
    assert not re.search(r"(?m)^\s*mov\.[a-z]+\d+ %[a-z]+\d+, %[a-z]+\d+;", exe.ptx)


def test_exchange_rolls_the_rows() -> None:
    exe = ptxspec.compile(example("read_next_row").read_next_row, target="sm_90")
    a, b = random(64, 4), np.full((64, 4), np.nan, np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, np.roll(a, -1, axis=0))


def test_exchange_with_saved_registers() -> None:
    exe = ptxspec.compile(example("read_next_row").read_next_row_saved, target="sm_90")
    a = random(64, 4)
    b, saved, zero = (np.full((64, 4), np.nan, np.float32) for _ in range(3))
    exe(a, b, saved, zero)
    np.testing.assert_array_equal(b, np.roll(a, -1, axis=0))
    np.testing.assert_array_equal(saved, a)
    np.testing.assert_array_equal(zero, np.zeros_like(a))


def test_cta_copy_is_three_loads_and_three_stores_a_thread() -> None:
    exe = ptxspec.compile(example("cta_copy").cta_copy, target="sm_90")
    assert count(exe.ptx, "ld.global.v4.b32") == 3
    assert count(exe.ptx, "st.global.v4.b32") == 3
    a, b = random(4, 32, 3, 4), np.full((4, 32, 3, 4), np.nan, np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a)


def test_tile_copy_moves_whole_vectors() -> None:
    exe = ptxspec.compile(example("tile_copy").tile_copy, target="sm_90")
    assert "ld.global.v4.b32" in exe.ptx
    for shape in ((64, 64), (130, 200), (1, 4)):
        a, b = random(*shape), np.full(shape, np.nan, np.float32)
        exe(a, b)
        np.testing.assert_array_equal(b, a)


def test_every_example_file_is_tried_here() -> None:
    assert {p.stem for p in EXAMPLES.glob("*.py")} == {"strided_load", "read_next_row", "cta_copy", "tile_copy"}
