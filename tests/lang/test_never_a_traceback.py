"""Random damage to kernels: whatever a person may write, the answer is a kernel or a diagnostic at their line."""

from __future__ import annotations

import ast
import linecache
import random

import pytest

from ptxspec.diagnostics import KernelError
from ptxspec.lang import t as T
from ptxspec.lang.show import text

BASE = '''
from functools import partial
from ptxspec.lang import t as T
from ptxspec.layout import S, R, TileLayout, ComposeLayout, laneid, warpid
M = T.dim("M")
rows = TileLayout(S[(2, 32, 1, 4) : (1 @ warpid, 1 @ laneid, 4, 1)])

def clamp(x, low=0, high=63):
    return T.min(T.max(x, low), high)

@T.function
def kernel(A: T.Tensor((64, 4), "float32", align=16), B: T.Tensor((M, 8), "int32"), n: T.int32, w: T.float32):
    T.device_entry(launch=T.cuda.LaunchConfig(grid=(M + 63) // 64, block=64))
    tid = T.cuda.thread_idx("x")
    bid = T.cuda.block_idx("x")
    i = bid * T.cuda.block_dim() + tid
    registers = T.alloc_local((4,), "float32", layout="default")
    shared = T.alloc_shared((64, 4), "float32", align=16)
    spread = T.alloc_local((2, 32, 1, 4), "float32", layout=rows)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], registers, A.sub[tid, :], pred=tid < n)
    T.cuda.tile.apply(T.ptx["ld.global.v4.b32"], spread, A.view(2, 32, 1, 4).sub[:, :, :, :], scope="cta")
    T.cuda.tile.apply(T.ptx["st.shared.v4.b32"], shared.sub[tid, :], registers)
    T.cuda.cta_sync()
    T.assume(n % 4 == 0)
    tuples = [(0, 1.5), (1, 2.5)]
    total = 0.0
    for k, weight in tuples:
        total = total + weight * registers[k]
    for j in T.serial(tid, n, 64):
        if i < M and j >= 0 and B[i, j % 8] > 0:
            B[i, clamp(j, high=7)] += T.int32(w) + (1 if j > 3 else 2)
        elif not (j == 2):
            B[0, 0] = -j
        else:
            A[tid, j & 3] = total if w > 0.5 else shared[(tid + 1) % 64, j ^ 1]
    for a, b in T.grid(2, 3):
        registers[a + (b >> 1)] = w * 2
    x = A.rearrange("(p q) r -> q (p r)", p=8).permute(1, 0)
    y = shared.view(16, 16)[tid // 4, 0:4]
    z = B.view("int64").sub[::2, 1]
    if i >= M:
        return
    B[i, 0] = T.Select(i > 5, i, n)
'''
POOL = [ast.parse(e, mode="eval").body for e in (
    "tid", "n", "w", "A", "B", "registers", "shared", "x", "0", "1", "-1", "2.5", "True", "None", "'x'", "'float64'",
    "()", "(1, 2)", "[]", "[tid]", "{}", "T", "T.cuda", "T.int32", "T.ptx", "A.sub", "A.shape", "A[0, 0]", "A[tid]",
    "B.sub[tid]", "rows", "clamp", "lambda q: q", "M", "range(3)", "range(n)", "T.serial(n)", "T.grid(2, n)", "n + w",
    "tid < n", "slice(1)", "print", "len", "min", "...", "f'{n}'", "A.view", "kernel", "T.alloc_local((2,))",
    "1 @ laneid", "S[4]", "i", "missing", "tid // 0", "n << 40", "2 ** 70", "float('nan')", "float('inf')",
    "A.ptr_to([0, 0])", "[q for q in range(2)]", "type(n)")]
_operators: list[ast.operator] = [ast.Add(), ast.Sub(), ast.Mult(), ast.Div(), ast.FloorDiv(), ast.Mod(), ast.Pow(),
                                  ast.LShift(), ast.BitAnd(), ast.MatMult()]


class Damage(ast.NodeTransformer):
    """Replaces one chosen node of the kernel."""

    def __init__(self, pick: random.Random, target: ast.AST) -> None:
        self.pick = pick
        self.target = target

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if node is self.target:
            return self.damaged(node)
        return super().generic_visit(node)

    def damaged(self, node: ast.AST) -> ast.AST:
        pick = self.pick
        if isinstance(node, ast.operator):
            return pick.choice(_operators)
        if isinstance(node, ast.expr):
            return pick.choice(POOL)
        if isinstance(node, ast.stmt):
            return pick.choice([
                ast.Pass(), ast.Break(), ast.Continue(), ast.Return(pick.choice(POOL)), ast.Return(None),
                ast.Expr(pick.choice(POOL)), ast.While(pick.choice(POOL), [ast.Pass()], []),
                ast.Assign([ast.Name("tid", ast.Store())], pick.choice(POOL)),
                ast.If(pick.choice(POOL), [node], []), ast.If(pick.choice(POOL), [node], [ast.Return(None)]),
                ast.For(ast.Name("q", ast.Store()), pick.choice(POOL), [node], []),
                ast.Assign([ast.Subscript(pick.choice(POOL), pick.choice(POOL), ast.Store())], pick.choice(POOL)),
                ast.AugAssign(ast.Name("n", ast.Store()), pick.choice(_operators), pick.choice(POOL))])
        return node


def damaged(seed: int) -> str:
    """The base kernel with one to three nodes replaced."""
    pick = random.Random(seed)
    while True:
        tree = ast.parse(BASE)
        for _ in range(pick.randint(1, 3)):
            kernel = tree.body[-1]
            assert isinstance(kernel, ast.FunctionDef)
            where = [n for s in kernel.body for n in ast.walk(s) if isinstance(n, (ast.expr, ast.stmt, ast.operator))]
            tree = Damage(pick, pick.choice(where)).visit(tree)
        try:
            source = ast.unparse(ast.fix_missing_locations(tree))
            compile(source, "<check>", "exec")
        except (SyntaxError, ValueError, TypeError, RecursionError):
            continue
        return source


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("block", range(5))
def test_damage_is_answered(block: int) -> None:
    read = 0
    for seed in range(block * 30, block * 30 + 30):
        source = damaged(seed)
        file = f"<damaged {seed}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        names: dict[str, object] = {}
        exec(compile(source, file, "exec"), names)
        kernel = names["kernel"]
        assert isinstance(kernel, T.KernelFunction)
        try:
            read += bool(text(kernel.kernel()))
        except KernelError as error:
            for diagnostic in error.diagnostics:
                assert diagnostic.code != "K290", (seed, diagnostic.render())
                assert diagnostic.span is not None, (seed, diagnostic.render())
                assert diagnostic.span.file == file
                rendered = diagnostic.render()
                assert "Traceback" not in rendered
                assert " at 0x" not in rendered, (seed, rendered)
        finally:
            del linecache.cache[file]
    assert 0 < read < 30


def test_the_undamaged_kernel_reads() -> None:
    linecache.cache["<base>"] = (len(BASE), None, BASE.splitlines(keepends=True), "<base>")
    names: dict[str, object] = {}
    exec(compile(BASE, "<base>", "exec"), names)
    kernel = names["kernel"]
    assert isinstance(kernel, T.KernelFunction)
    assert text(kernel.kernel()).count("\n") > 40
