"""What a user passes: any strides that the layout names, empty and borrowed memory, exporters, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ptxspec.backend.assemble.sass import disassembler

import ptxspec
from ptxspec import T
from ptxspec.diagnostics import AssembleError, LaunchError, UsageError
from ptxspec.layout import S, TileLayout

M = T.dim("M")
VALUES = np.arange(1, 129, dtype=np.float32)


@T.function
def dense(A: T.Tensor((M, 4), "float32"), B: T.Tensor((M, 4), "float32")):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 31) // 32, block=32))
    i = T.cuda.block_idx("x") * 32 + T.cuda.thread_idx("x")
    if i < M:
        for k in range(4):
            B[i, k] = A[i, k]


def laid_out(row: int, column: int) -> Any:
    """A copy from an array of these strides, in elements, into a dense one."""
    layout = TileLayout(S[(8, 4) : (row, column)])

    @T.function
    def copy(A: T.Tensor((8, 4), "float32", layout=layout), B: T.Tensor((8, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
        i = T.cuda.thread_idx("x")
        for k in range(4):
            B[i, k] = A[i, k]

    return copy


STRIDED: dict[str, tuple[int, int, Callable[[], np.ndarray]]] = {
    "rows apart": (8, 1, lambda: VALUES[:64].reshape(8, 8)[:, :4]),
    "columns apart": (8, 2, lambda: VALUES[:64].reshape(8, 8)[:, ::2]),
    "column-major": (1, 8, lambda: np.asfortranarray(VALUES[:32].reshape(8, 4))),
    "rows backwards": (-4, 1, lambda: VALUES[:32].reshape(8, 4)[::-1]),
    "columns backwards": (4, -1, lambda: VALUES[:32].reshape(8, 4)[:, ::-1]),
    "both backwards": (-4, -1, lambda: VALUES[:32].reshape(8, 4)[::-1, ::-1]),
    "one row for all": (0, 1, lambda: np.broadcast_to(VALUES[:4], (8, 4))),
    "overlapping rows": (1, 1, lambda: np.lib.stride_tricks.as_strided(VALUES, (8, 4), (4, 4))),
}


@pytest.mark.parametrize("name", list(STRIDED))
def test_strides_that_the_layout_names_are_taken_as_they_are(name: str) -> None:
    row, column, make = STRIDED[name]
    array, out = make(), np.zeros((8, 4), np.float32)
    assert array.strides == (4 * row, 4 * column)
    exe = ptxspec.compile(laid_out(row, column), target="sm_90")
    exe(array, out)
    np.testing.assert_array_equal(out, array)
    with pytest.raises(LaunchError) as caught:   # the other way round: a kernel that was proved for dense rows
        ptxspec.compile(dense, target="sm_90")(array, out)
    assert caught.value.code == "R306"


def test_a_backwards_output_is_written_where_it_lies() -> None:
    layout = TileLayout(S[(8, 4) : (-4, 1)])

    @T.function
    def reverse(A: T.Tensor((8, 4), "float32"), B: T.Tensor((8, 4), "float32", layout=layout)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=8))
        i = T.cuda.thread_idx("x")
        for k in range(4):
            B[i, k] = A[i, k]

    source, memory = VALUES[:32].reshape(8, 4), np.zeros((10, 4), np.float32)
    ptxspec.compile(reverse, target="sm_90")(source, memory[8:0:-1])
    np.testing.assert_array_equal(memory[1:9], source[::-1])
    assert not memory[[0, 9]].any()


@pytest.mark.parametrize("empty", [(0, 4), (0, 8)])
def test_empty_arrays_run_nothing(empty: tuple[int, int]) -> None:
    a = np.zeros(empty, np.float32)[:, :: empty[1] // 4]
    exe = ptxspec.compile(dense, target="sm_90")
    exe(a, a)   # no byte is shared where there is none
    exe.bind(a, a)()


class Exporter:
    """An array that only speaks DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> object:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


def test_any_exporter_is_read_and_written_in_place(tmp_path: Path) -> None:
    source = VALUES[:32].reshape(8, 4)
    for make in (
        lambda: np.zeros((8, 4), np.float32),
        lambda: np.memmap(tmp_path / "array", np.float32, "w+", shape=(8, 4)),
        lambda: np.zeros((8, 4), np.float32).view(np.matrix),
        lambda: np.frombuffer(bytearray(128), np.float32).reshape(8, 4),
    ):
        out = make()
        ptxspec.compile(dense, target="sm_90")(source, out)
        np.testing.assert_array_equal(np.asarray(out), source)
        out[:] = 0
        exe = ptxspec.compile(dense, target="sm_90")
        exe(Exporter(source), Exporter(np.asarray(out)))
        np.testing.assert_array_equal(np.asarray(out), source)


def test_a_prepared_call_is_checked_at_once_and_runs_when_called() -> None:
    source, out = VALUES[:32].reshape(8, 4).copy(), np.zeros((8, 4), np.float32)
    exe = ptxspec.compile(dense, target="sm_90")
    prepared = exe.bind(source, out)
    assert not out.any()
    for _ in range(2):
        source += 1
        prepared()
        np.testing.assert_array_equal(out, source)
    for arguments, code in (((source,), "R301"), ((source, source), "R308"), ((source, out[:4]), "R310")):
        with pytest.raises(LaunchError) as caught:
            exe.bind(*arguments)
        assert caught.value.code == code


REFUSED: dict[str, tuple[Callable[[], object], str, str]] = {
    "a list": (lambda: [[0.0] * 4] * 8, "R302", "a list is no array"),
    "nothing": (lambda: None, "R302", "NoneType"),
    "text": (lambda: np.array([["a"] * 4] * 8), "R302", "<U1"),
    "objects": (lambda: np.zeros((8, 4), object), "R302", "object"),
    "dates": (lambda: np.zeros((8, 4), "M8[s]"), "R302", "datetime64"),
    "records": (lambda: np.zeros((8, 4), [("x", "f4")]), "R302", "have no place"),
    "another byte order": (lambda: VALUES[:32].reshape(8, 4).astype(">f4"), "R302", "byte order"),
    "masked values": (lambda: np.ma.masked_greater(VALUES[:32].reshape(8, 4), 3), "R302", "mask"),
    "a read-only output": (lambda: np.broadcast_to(VALUES[:32].reshape(8, 4), (8, 4)), "R313", "read-only"),
    "a read-only exporter": (lambda: Exporter(np.broadcast_to(VALUES[:32].reshape(8, 4), (8, 4))), "R313", "read-only"),
    "between elements": (lambda: np.frombuffer(bytearray(130), np.uint8)[1:129].view(np.float32).reshape(8, 4), "R307",
                         "alignment"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_refused_with_words(name: str) -> None:
    make, code, words = REFUSED[name]
    with pytest.raises(LaunchError) as caught:
        ptxspec.compile(dense, target="sm_90")(VALUES[:32].reshape(8, 4).copy(), make())
    assert caught.value.code == code
    assert words in str(caught.value)


def test_a_masked_array_without_a_mask_is_an_array() -> None:
    out = np.zeros((8, 4), np.float32)
    ptxspec.compile(dense, target="sm_90")(np.ma.array(VALUES[:32].reshape(8, 4)), out)
    np.testing.assert_array_equal(out, VALUES[:32].reshape(8, 4))


@pytest.mark.parametrize("version", ["8.0", 8.0, (8,), (8, 0, 1), [8, 0], (8, 0.5)])
def test_a_ptx_version_is_two_numbers(version: Any) -> None:
    with pytest.raises(UsageError) as caught:
        ptxspec.compile(dense, target="sm_90", ptx=version)
    assert caught.value.code == "U102"


def test_streams_and_devices_of_host_arrays() -> None:
    exe, source, out = ptxspec.compile(dense, target="sm_90"), VALUES[:32].reshape(8, 4), np.zeros((8, 4), np.float32)
    exe(source, out, stream=5)   # the simulator has no streams
    np.testing.assert_array_equal(out, source)
    for keywords, code in (({"stream": "x"}, "R106"), ({"stream": -1}, "R106"), ({"device": "gpu"}, "R312"),
                           ({"device": 0}, "R312")):
        with pytest.raises(LaunchError) as caught:
            exe(source, out, **keywords)
        assert caught.value.code == code


def test_artefacts_are_there() -> None:
    exe = ptxspec.compile(dense, target="sm_90")
    assert exe.ptx.startswith("//") and ".entry" in exe.ptx
    assert exe.cubin.startswith(b"\x7fELF")
    if not disassembler():
        with pytest.raises(AssembleError) as caught:
            _ = exe.sass
        assert caught.value.code == "A110"
    else:
        assert "STG" in exe.sass
    assert exe.report is not None and exe.report.verdict == "proved"
    assert 0 < exe.registers < 64
    assert exe.cubin is exe.cubin, "assembled once"

