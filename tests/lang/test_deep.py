"""Expressions nested deeper than Python's stack: proved, emitted and run like any other."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from loading import written

import ptxspec
from ptxspec import T
from ptxspec.lang import deep
from ptxspec.lang.deep import with_room


def test_the_sum_of_many_elements() -> None:
    @T.function
    def kernel(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=1))
        B[0] = sum([A[k % 64] for k in range(700)])
        if all([A[k] > 0 for k in range(64)] * 5):
            B[1] = 1

    before = sys.getrecursionlimit(), threading.stack_size()
    a, b = np.arange(1, 65, dtype=np.int32), np.zeros(64, np.int32)
    ptxspec.compile(kernel, target="sm_90")(a, b)
    assert b[:2].tolist() == [sum(int(a[k % 64]) for k in range(700)), 1]
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


@pytest.mark.parametrize("read_first", [False, True])
def test_a_sum_written_out_in_the_source(tmp_path: Path, read_first: bool) -> None:
    """The text itself is nested deeper than the stack; however it is read first."""
    terms = " + ".join(f"A[i + {k}]" for k in range(1000))
    kernel = written(tmp_path / "long_sum.py", f"""
from ptxspec import T

@T.function
def total(A: T.Tensor((1064,), "int32"), B: T.Tensor((64,), "int32")):
    T.device_entry(launch=T.cuda.LaunchConfig(block=64))
    i = T.cuda.thread_idx("x")
    B[i] = {terms}
""").total
    if read_first:
        assert kernel.kernel().name == "total"
    a, b = np.arange(1064, dtype=np.int32), np.zeros(64, np.int32)
    ptxspec.compile(kernel, target="sm_90")(a, b)
    assert b.tolist() == [int(a[i:i + 1000].sum()) for i in range(64)]


def test_chains_of_floats_are_kept_in_registers_and_rounded_in_order() -> None:
    """Neither the order of a sum nor its roundings change; what is cut off is proved like any other register."""
    @T.function
    def kernel(A: T.Tensor((64,), "float32"), B: T.Tensor((4,), "float32"), C: T.Tensor((256,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(block=1))
        total, least, place = 0.0, A[0], T.int32(0)
        for k in list(range(200)):
            total = total + A[k % 64] * 0.5
            least = T.min(least, A[k % 64])
            place = place + 1
        B[0], B[1] = total, least
        B[2] = sum([A[k % 64] for k in range(200)])
        B[3] = T.max(*[A[k] for k in range(64)])
        C[place] = 1

    a = np.random.default_rng(6).random(64, dtype=np.float32)
    b, c = np.zeros(4, np.float32), np.zeros(256, np.int32)
    ptxspec.compile(kernel, target="sm_90")(a, b, c)
    total = plain = np.float32(0)
    for k in range(200):
        total = np.float32(total + a[k % 64] * np.float32(0.5))
        plain = np.float32(plain + a[k % 64])
    assert b.tolist() == [total, a.min(), plain, a.max()]
    assert np.flatnonzero(c).tolist() == [200]


def depth(n: int) -> int:
    return 0 if n == 0 else 1 + depth(n - 1)


def endless() -> int:
    return 1 + endless()


def test_results_and_errors_come_back() -> None:
    assert with_room(lambda: depth(5000), None) == 5000

    def fails() -> int:
        depth(5000)
        raise ValueError("after all")

    with pytest.raises(ValueError, match="after all"):
        with_room(fails, None)
    with pytest.raises(ptxspec.KernelError, match="nested too deeply"):
        with_room(lambda: with_room(endless, None), None)


def test_no_memory_for_a_large_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(deep.threading.Thread, "start", start)
    with pytest.raises(ptxspec.KernelError, match="nested too deeply"):
        with_room(lambda: depth(5000), None)
