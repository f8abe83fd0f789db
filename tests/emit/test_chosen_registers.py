"""Register tensors indexed by what only the running thread knows: same bytes as the same text in Python."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from interpret import Interpreter
from ptxspec.backend.emit import emit
from ptxspec.backend.executable import Executable
from test_random_kernels import N, Writer, traced

import ptxspec
from ptxspec import T
from ptxspec.layout import S, TileLayout


class Chooser(Writer):
    """Random kernels whose registers are often chosen by an expression; ``slots`` of R, so that some go to memory."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.slots = self.rng.choice([4, 4, 7, 32])

    def source(self) -> str:
        text = super().source().replace('R = T.alloc_local((4,)', f'R = T.alloc_local(({self.slots},)')
        fill = f"    for f in range({self.slots}):\n        R[f] = T.{self.kind}(f)\n"
        return text.replace(f"    R[0] = T.{self.kind}(0)\n", fill + f"    R[0] = T.{self.kind}(0)\n", 1)

    def chosen(self, names: list[str]) -> str:
        small = [name for name in names if name in ("i", "n") or name.startswith("j")]
        return f"({self.rng.choice(small)} * {self.rng.randrange(1, 4)} + {self.rng.randrange(8)}) % {self.slots}"

    def expr(self, names: list[str], depth: int = 2) -> str:
        if self.rng.random() < 0.15:
            return f"T.int32(R[{self.chosen(names)}])"
        if self.rng.random() < 0.05:
            return f"S[{self.rng.choice(['i', 'n'])} % 2, {self.rng.choice(['i', '(i // 2)'])} % 2]"
        return super().expr(names, depth)

    def statement(self, depth: int, names: list[str], loops: list[str]) -> None:
        if self.rng.random() < 0.25:
            self.line(depth, f"R[{self.chosen(names)}] = T.{self.kind}({self.expr(names)})")
        elif self.rng.random() < 0.1:
            self.line(depth, f"S[i % 2, {self.rng.randrange(2)}] = i * {self.expr(names, 1)}")
        else:
            super().statement(depth, names, loops)


@pytest.mark.parametrize("seed", range(40))
def test_random_choices(seed: int, tmp_path: Path) -> None:
    writer = Chooser(seed)
    text = writer.source()
    kernel = traced(text, tmp_path)
    rng = np.random.default_rng(seed)
    a = rng.integers(-(1 << 31), 1 << 31, N, dtype=np.int64).astype(np.int32)
    out = np.zeros((N, 2), np.int32)
    n = int(rng.integers(0, 20))
    want = Interpreter(kernel, {"A": a, "O": out}, {"n": n}).run()["O"]
    exe = Executable(emit(kernel), None)
    exe(a, out, n)
    np.testing.assert_array_equal(out, np.frombuffer(want, np.int32).reshape(N, 2), err_msg=text + exe.ptx)


KINDS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float16", "float32", "float64"]


def rotated(kind: str, slots: int) -> object:
    """Each thread writes its row into registers from a place of its own on, and reads them back from zero."""
    @T.function
    def rotate(A: T.Tensor((64, slots), kind), B: T.Tensor((64, slots), kind)):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        r = T.alloc_local((slots,), kind)
        for j in range(slots):
            r[(j + i) % slots] = A[i, j]
        for j in range(slots):
            B[i, j] = r[j]
    return rotate


@pytest.mark.parametrize("slots", [3, 8, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_every_type(kind: str, slots: int) -> None:
    exe = Executable(emit(rotated(kind, slots).kernel()), None)  # type: ignore[attr-defined]
    assert ("st.local" in exe.ptx) == (slots > 16)
    assert ("// r lies in local memory: its elements are chosen at run time" in exe.ptx) == (slots > 16)
    a = np.random.default_rng(0).integers(0, 100, (64, slots)).astype(kind)
    b = np.zeros_like(a)
    exe(a, b)
    np.testing.assert_array_equal(b, np.stack([np.roll(row, i % slots) for i, row in enumerate(a)]))


def test_a_proved_kernel_runs() -> None:
    """The prover follows a register that is chosen by a steady index; no comparison is wasted on other slots."""
    @T.function
    def own(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64,), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        r = T.alloc_local((4,), "float32")
        for j in T.unroll(4):
            r[j] = A[i, j]
        B[i] = r[i % 4] + r[2 * (i % 2)]
    exe = ptxspec.compile(own, "sm_90")
    assert exe.ptx.count("setp.eq") == 6    # four for i % 4, two for 2 * (i % 2)
    assert "local" not in exe.ptx
    a, b = np.random.default_rng(1).random((64, 4), np.float32), np.zeros(64, np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, [row[i % 4] + row[2 * (i % 2)] for i, row in enumerate(a)])


@pytest.mark.parametrize("rows", [4, 32])
def test_registers_of_an_instruction(rows: int) -> None:
    @T.function
    def pick(A: T.Tensor((64, 2), "float32"), B: T.Tensor((64, 2), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        r = T.alloc_local((rows, 2), "float32")
        T.cuda.tile.apply(T.ptx["ld.global.v2.b32"], r.sub[i % rows], A.sub[i])
        T.cuda.tile.apply(T.ptx["st.global.v2.b32"], B.sub[63 - i], r.sub[i % rows])
    exe = ptxspec.compile(pick, "sim")
    assert ("ld.local" in exe.ptx) == (rows == 32)
    a, b = np.random.default_rng(1).random((64, 2), np.float32), np.zeros((64, 2), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(b, a[::-1])


def test_predicated_load_into_a_chosen_register() -> None:
    """What the false predicate keeps, the chosen register keeps; the others are never touched."""
    @T.function
    def keep(A: T.Tensor((64, 1), "int32"), B: T.Tensor((64, 4), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        r = T.alloc_local((4, 1), "int32")
        for j in T.unroll(4):
            r[j, 0] = j * 10
        T.cuda.tile.apply(T.ptx["ld.global.b32"], r.sub[i % 4], A.sub[i], pred=i >= 32, preserve_dst=True)
        for j in T.unroll(4):
            B[i, j] = r[j, 0]
    exe = Executable(emit(keep.kernel()), None)
    a, b = np.arange(1000, 1064, dtype=np.int32).reshape(64, 1), np.zeros((64, 4), np.int32)
    exe(a, b)
    want = np.tile(np.arange(0, 40, 10, dtype=np.int32), (64, 1))
    want[np.arange(32, 64), np.arange(32, 64) % 4] = a[32:, 0]
    np.testing.assert_array_equal(b, want)


def test_one_tensor_as_registers_and_as_local_memory() -> None:
    @T.function
    def both(A: T.Tensor((64, 4), "float32"), B: T.Tensor((64, 4), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        r = T.alloc_local((4,), "float32", align=16)
        s = T.alloc_local((4,), "float32")
        T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], r, A.sub[i])
        r[1] = r[0] + 1.0
        T.cuda.tile.apply(T.ptx["ld.local.v4.b32"], s, r)
        T.cuda.tile.apply(T.ptx["st.global.v4.b32"], B.sub[i], s)
    exe = ptxspec.compile(both, "sim")
    a, b = np.random.default_rng(1).random((64, 4), np.float32), np.zeros((64, 4), np.float32)
    exe(a, b)
    want = a.copy()
    want[:, 1] = a[:, 0] + 1
    np.testing.assert_array_equal(b, want)


def test_loop_of_runtime_bounds_chooses() -> None:
    @T.function
    def count(B: T.Tensor((64, 8), "int32"), n: T.int32):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        r = T.alloc_local((8,), "int32")
        for j in range(8):
            r[j] = 0
        for k in range(n):
            r[k % 8] = r[k % 8] + i
        for j in range(8):
            B[i, j] = r[j]
    exe = Executable(emit(count.kernel()), None)
    b = np.zeros((64, 8), np.int32)
    exe(b, 21)
    np.testing.assert_array_equal(b, np.arange(64)[:, None] * np.array([3, 3, 3, 3, 3, 2, 2, 2]))


def test_one_slot_for_each_lane() -> None:
    """A register tensor whose memory axis follows the lanes: each thread uses a slot of its own."""
    @T.function
    def lanes(A: T.Tensor((32, 1), "float32"), B: T.Tensor((32, 1), "float32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=32))
        q = T.alloc_local((32, 1), "float32", layout=TileLayout(S[(32, 1) : (1, 1)]))
        T.cuda.tile.apply(T.ptx["ld.global.b32"], q, A, scope="warp")
        T.cuda.tile.apply(T.ptx["st.global.b32"], B, q, scope="warp")
    exe = Executable(emit(lanes.kernel()), None)
    a, b = np.random.default_rng(1).random((32, 1), np.float32), np.zeros((32, 1), np.float32)
    exe(a, b)
    np.testing.assert_array_equal(a, b)


def test_every_choice_is_asked() -> None:
    """All candidates of a data-dependent index, in a seed-independent order."""
    rng = random.Random(0)
    index = np.array([rng.randrange(16) for _ in range(64)], np.int32)

    @T.function
    def gather(I: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
        T.device_entry(launch=T.cuda.LaunchConfig(grid=1, block=64))
        i = T.cuda.thread_idx("x")
        r = T.alloc_local((16,), "int32")
        for j in range(16):
            r[j] = j * j
        B[i] = r[I[i] & 15]
    exe = Executable(emit(gather.kernel()), None)
    b = np.zeros(64, np.int32)
    exe(index, b)
    np.testing.assert_array_equal(b, index * index)
