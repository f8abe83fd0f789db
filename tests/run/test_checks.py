"""Host checks: what the proofs rest on is compared before a kernel starts, and every refusal names its premise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from kernels import scale_rows, transposed_in
from loading import example

import ptxspec
from ptxspec.diagnostics import LaunchError

read_next_row = example("read_next_row").read_next_row

ROWS = np.arange(400, dtype=np.float32).reshape(100, 4)


def fresh() -> np.ndarray:
    return np.zeros((100, 4), np.float32)


REFUSED: dict[str, tuple[str, Callable[[], tuple[object, ...]], str]] = {
    "count": ("R301", lambda: (ROWS, fresh(), 2.0), "takes 4 arguments, 3 were given"),
    "not an array": ("R302", lambda: (5, fresh(), 1.0, 1), "`A` needs an array"),
    "not a number": ("R302", lambda: (ROWS, fresh(), "two", 1), "`factor` needs a number"),
    "float for integer": ("R302", lambda: (ROWS, fresh(), 1.0, 1.5), "`count` needs an integer"),
    "rank": ("R303", lambda: (ROWS.ravel(), fresh(), 1.0, 1), "rank"),
    "dtype": ("R304", lambda: (ROWS.astype(np.float64), fresh(), 1.0, 1), "float64"),
    "shape": ("R305", lambda: (ROWS[:, :2].copy(), fresh(), 1.0, 1), "(100, 2)"),
    "strides": ("R306", lambda: (ROWS[::2], fresh()[:50], 1.0, 1), "(32, 4) bytes"),
    "aliasing": ("R308", lambda: (ROWS, ROWS, 1.0, 1), "share memory"),
    "overlap": ("R308", lambda: (ROWS[:50], ROWS[40:90], 1.0, 1), "share memory"),
    "assumption": ("R309", lambda: (ROWS, fresh(), 1.0, 101), "count <= M"),
    "dimension": ("R310", lambda: (ROWS, fresh()[:50], 1.0, 1), "both 100 and 50"),
    "range": ("R311", lambda: (ROWS, fresh(), 1.0, 1 << 40), "out of range"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_refused_with_its_code(name: str) -> None:
    code, arguments, words = REFUSED[name]
    exe = ptxspec.compile(scale_rows, target="sm_90")
    with pytest.raises(LaunchError) as caught:
        exe(*arguments())
    assert code in {d.code for d in caught.value.diagnostics}
    assert words in str(caught.value)
    assert all(d.span is not None for d in caught.value.diagnostics)


def test_read_only_output_is_refused() -> None:
    out = fresh()
    out.flags.writeable = False
    with pytest.raises(LaunchError) as caught:
        ptxspec.compile(scale_rows, target="sm_90")(ROWS, out, 1.0, 1)
    assert caught.value.code == "R313"


def test_misaligned_view_is_refused_only_where_vectors_need_it() -> None:
    memory = np.zeros(64 * 4 + 1, np.float32)
    shifted = memory[1:].reshape(64, 4)
    out = np.zeros((64, 4), np.float32)
    with pytest.raises(LaunchError) as caught:
        ptxspec.compile(read_next_row, target="sm_90")(shifted, out)
    assert caught.value.code == "R307"
    assert "16 bytes" in str(caught.value)
    rows = np.arange(401, dtype=np.float32)[1:].reshape(100, 4)
    result = fresh()
    ptxspec.compile(scale_rows, target="sm_90")(rows, result, 2.0, 100)   # scalar accesses: 4 bytes are enough
    np.testing.assert_array_equal(result, rows * 2)


def test_all_problems_of_a_call_come_together() -> None:
    with pytest.raises(LaunchError) as caught:
        ptxspec.compile(scale_rows, target="sm_90")(ROWS[::2], fresh()[::2], 1.0, 1)
    assert [d.code for d in caught.value.diagnostics] == ["R306", "R306"]


def test_arguments_by_name() -> None:
    exe, out = ptxspec.compile(scale_rows, target="sm_90"), fresh()
    exe(ROWS, out, count=100, factor=3.0)
    np.testing.assert_array_equal(out, ROWS * 3)
    other = fresh()
    exe.bind(B=other, A=ROWS, count=50, factor=2.0)()
    np.testing.assert_array_equal(other[:50], ROWS[:50] * 2)


@pytest.mark.parametrize(("given", "named", "words"), [
    ((ROWS,), {"factor": 1.0, "count": 1}, ["no argument for `B`"]),
    ((ROWS, ROWS, 1.0), {"n": 1}, ["has no parameter `n`", "parameters: A, B, factor, count"]),
    ((ROWS, ROWS, 1.0, 1), {"A": ROWS, "M": 9}, ["has no parameter `M`", "`A` is given by its place and by its name"]),
    ((ROWS, ROWS, 1.0, 1, 5), {"count": 1}, ["`count` is given by its place and by its name"]),
])
def test_names_that_do_not_fit(given: tuple[object, ...], named: dict[str, object], words: list[str]) -> None:
    exe = ptxspec.compile(scale_rows, target="sm_90")
    for call in (exe, exe.bind):
        with pytest.raises(LaunchError) as caught:
            call(*given, **named)
        assert {d.code for d in caught.value.diagnostics} == {"R301"}
        assert all(w in str(caught.value) for w in words)


def test_dimensions_come_from_the_arrays() -> None:
    exe = ptxspec.compile(scale_rows, target="sm_90")
    for rows in (1, 31, 32, 33, 200):
        a = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
        out = np.zeros_like(a)
        exe(a, out, 3.0, max(rows - 1, 0))
        want = a * np.float32(3)
        want[rows - 1:] = 0
        np.testing.assert_array_equal(out, want)


def test_empty_arrays_launch_nothing() -> None:
    empty = np.zeros((0, 4), np.float32)
    ptxspec.compile(scale_rows, target="sm_90")(empty, empty.copy(), 1.0, 0)


def test_layout_is_the_storage_or_the_strides() -> None:
    """A dense array is the storage that the layout describes; one whose strides are the layout's is taken as it is."""
    exe = ptxspec.compile(transposed_in, target="sm_90")
    out = np.zeros((8, 4), np.float32)
    logical = np.arange(32, dtype=np.float32).reshape(4, 8).T
    exe(logical, out)
    np.testing.assert_array_equal(out, logical)
    storage = np.arange(32, dtype=np.float32).reshape(8, 4)
    exe(storage, out)
    np.testing.assert_array_equal(out, storage.reshape(4, 8).T)


def test_numpy_scalars_are_numbers() -> None:
    out = fresh()
    ptxspec.compile(scale_rows, target="sm_90")(ROWS, out, np.float32(2), np.int64(100))
    np.testing.assert_array_equal(out, ROWS * 2)


def test_dlpack_arrays() -> None:
    from ptxspec.compat import tvm
    a, out = tvm.runtime.tensor(ROWS), tvm.runtime.tensor(fresh())
    ptxspec.compile(scale_rows, target="sm_90")(a, out, 2.0, 100)
    np.testing.assert_array_equal(out.numpy(), ROWS * 2)


def test_unknown_device_word() -> None:
    with pytest.raises(LaunchError) as caught:
        ptxspec.compile(scale_rows, target="sm_90")(ROWS, fresh(), 1.0, 1, device="gpu")   # type: ignore[arg-type]
    assert caught.value.code == "R312"
