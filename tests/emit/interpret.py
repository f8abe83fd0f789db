"""A kernel's IR run thread by thread in plain Python: slow, obvious, and independent of emission."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ptxspec.lang import ir
from ptxspec.lang.locate import locate
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import BITS, BOOL, Expr, Var, int_range, is_integer

Env = dict[Expr, int]


class Interpreter:
    """Integer kernels without barriers: threads run one after the other."""

    def __init__(self, kernel: ir.Kernel, arrays: dict[str, np.ndarray], scalars: dict[str, int]) -> None:
        self.kernel = kernel
        self.memory = {p: bytearray(arrays[p.name].tobytes()) for p in kernel.params if isinstance(p, ir.Buffer)}
        self.scalars: Env = {p: scalars[p.name] for p in kernel.params if isinstance(p, Var)}

    def run(self) -> dict[str, bytes]:
        """Contents of every array after the launch."""
        grid = evaluate(self.kernel.launch.grid[0], self.scalars)
        for block in range(grid):
            for thread in range(self.kernel.launch.block[0]):
                env = dict(self.scalars)
                for v in self.kernel.hardware:
                    env[v] = {"tid.x": thread, "ctaid.x": block}.get(v.role, 0)
                self.local = {b: bytearray(4096) for b in self.kernel.buffers if b.scope == "local"}
                self.block(self.kernel.body, env)
        return {b.name: bytes(m) for b, m in self.memory.items()}

    def value(self, expr: Expr, env: Env) -> int:
        return evaluate(expr, env, machine=True)

    def place(self, statement: ir.Load | ir.Store, env: Env) -> tuple[bytearray, int, str]:
        view = statement.view
        index = [self.value(i, env) for i in statement.index]
        byte = evaluate(locate(view, index).byte, env)
        store = self.memory.get(view.buffer)
        return (self.local[view.buffer] if store is None else store), byte, view.dtype

    def block(self, statements: Sequence[ir.Statement], env: Env) -> None:
        for s in statements:
            if isinstance(s, ir.Load):
                memory, byte, dtype = self.place(s, env)
                raw = int.from_bytes(memory[byte:byte + BITS[dtype] // 8], "little")
                if is_integer(dtype):
                    low, high = int_range(dtype)
                    raw = (raw - low) % (high - low + 1) + low
                env[s.result] = bool(raw) if dtype == BOOL else raw
            elif isinstance(s, ir.Store):
                memory, byte, dtype = self.place(s, env)
                size = BITS[dtype] // 8
                memory[byte:byte + size] = (self.value(s.value, env) % (1 << 8 * size)).to_bytes(size, "little")
            elif isinstance(s, ir.If):
                self.block(s.then if self.value(s.condition, env) else s.orelse, dict(env))
            elif isinstance(s, ir.For):
                start, stop, step = (self.value(e, env) for e in (s.start, s.stop, s.step))
                for number in range(start, stop, step):
                    self.block(s.body, env | {s.var: number})
            else:
                assert isinstance(s, ir.Assume), s


