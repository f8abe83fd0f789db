"""Repeated launches: a remembered plan passes the same numbers, and still refuses what it must."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kernels import scale_rows
from loading import example
from ptxspec.backend import fastpath
from ptxspec.backend.arrays import ArrayView

import ptxspec
from ptxspec.diagnostics import LaunchError

read_next_row = example("read_next_row").read_next_row


class Tensor:
    """A stand-in for a device tensor: what the quick look and the full description read."""

    def __init__(self, pointer: int, shape: tuple[int, ...], dtype: str = "float32") -> None:
        self.pointer = pointer
        self.shape = shape
        self.dtype = dtype

    def view(self) -> ArrayView:
        strides = tuple(4 * self.shape[1] if k == 0 else 4 for k in range(2))
        return ArrayView(self.pointer, self.shape, strides, self.dtype, "cuda:0", False, self)


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any], int]]:
    """Every launch as (way, numbers, stream); ``full`` went through all checks."""
    seen: list[tuple[str, list[Any], int]] = []
    described: list[object] = []

    def describe(array: Tensor, stream: int | None = None) -> ArrayView:
        described.append(array)
        return array.view()

    monkeypatch.setattr("ptxspec.backend.checks.describe", describe)
    monkeypatch.setattr(fastpath, "quick", lambda t: ((t.shape, t.dtype), t.pointer) if isinstance(t, Tensor) else None)

    def launch(numbers: list[Any], stream: int) -> None:
        seen.append(("full" if described else "fast", list(numbers), stream))
        described.clear()

    monkeypatch.setattr("ptxspec.backend.executable.Executable._prepare",
                        lambda self, ordinal, grid: SimpleNamespace(launch=launch, grid=grid))
    return seen


def fresh(kernel: Any) -> Any:
    """An executable that no other test has taught."""
    from ptxspec.backend.emit import emit
    from ptxspec.backend.executable import Executable
    return Executable(emit(kernel.kernel()), ptxspec.prove(kernel))


A, B = 0x10000, 0x20000


def test_second_call_is_fast_and_passes_the_new_addresses(launches: list[Any]) -> None:
    exe = fresh(scale_rows)
    exe(Tensor(A, (64, 4)), Tensor(B, (64, 4)), 2.0, 10)
    exe(Tensor(A + 4096, (64, 4)), Tensor(B + 4096, (64, 4)), 3.0, 10)
    exe(Tensor(A, (65, 4)), Tensor(B, (65, 4)), 2.0, 10)
    assert launches == [("full", [A, B, 2.0, 10, 64], 0), ("fast", [A + 4096, B + 4096, 3.0, 10, 64], 0),
                        ("full", [A, B, 2.0, 10, 65], 0)]


def test_scalar_of_an_assumption_is_checked_again(launches: list[Any]) -> None:
    exe = fresh(scale_rows)
    exe(Tensor(A, (64, 4)), Tensor(B, (64, 4)), 2.0, 10)
    with pytest.raises(LaunchError) as caught:
        exe(Tensor(A, (64, 4)), Tensor(B, (64, 4)), 2.0, 65)
    assert caught.value.code == "R309"
    exe(Tensor(A, (64, 4)), Tensor(B, (64, 4)), 2.0, 11)
    assert [way for way, _, _ in launches] == ["full", "full"]


@pytest.mark.parametrize(("arguments", "code"), [
    (lambda: (Tensor(A + 4, (64, 4)), Tensor(B, (64, 4))), "R307"),
    (lambda: (Tensor(A, (64, 4)), Tensor(A + 512, (64, 4))), "R308"),
    (lambda: (Tensor(A, (64, 4)), Tensor(A - 1008, (64, 4))), "R308"),
    (lambda: (Tensor(A, (64, 4)), Tensor(B, (64, 4), "float64")), "R304"),
    (lambda: (Tensor(A, (64, 4)),), "R301"),
])
def test_premises_hold_on_the_fast_way_too(launches: list[Any], arguments: Any, code: str) -> None:
    exe = fresh(read_next_row)
    exe(Tensor(A, (64, 4)), Tensor(B, (64, 4)))
    exe(Tensor(A, (64, 4)), Tensor(A + 1024, (64, 4)))   # neighbours that touch but do not overlap
    with pytest.raises(LaunchError) as caught:
        exe(*arguments())
    assert caught.value.code == code
    assert [way for way, _, _ in launches] == ["full", "fast"]


@pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1, 1.5, "2", None])
def test_bad_scalars_take_the_full_way(launches: list[Any], value: object) -> None:
    exe = fresh(scale_rows)
    exe(Tensor(A, (64, 4)), Tensor(B, (64, 4)), 2.0, 10)
    with pytest.raises(LaunchError):
        exe(Tensor(A, (64, 4)), Tensor(B, (64, 4)), 2.0, value)
    assert len(launches) == 1


def test_explicit_stream_is_passed(launches: list[Any]) -> None:
    exe = fresh(read_next_row)
    for _ in range(2):
        exe(Tensor(A, (64, 4)), Tensor(B, (64, 4)), stream=77)
    assert [(way, stream) for way, _, stream in launches] == [("full", 77), ("fast", 77)]


