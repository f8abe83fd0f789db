"""Small kernels put together by hand, so that emission is tested without the tracer."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.diagnostics import Span
from ptxspec.forms.use import use
from ptxspec.lang import ir
from ptxspec.layout import TileLayout
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Const, Expr, Var

HERE = Span("kernel.py", 1)


def line(number: int) -> Span:
    return Span("kernel.py", number)


def buffer(name: str, shape: Sequence[int | Expr], dtype: str = "float32", scope: str = "global", align: int = 16,
           layout: TileLayout | None = None) -> ir.Buffer:
    extents = tuple(ix.index(e) for e in shape)
    return ir.Buffer(name, dtype, extents, layout or TileLayout.row_major(extents), scope, align, HERE,
                     is_param=scope == "global")


def whole(b: ir.Buffer) -> ir.View:
    return ir.View(b, (), b.shape, b.dtype, HERE)


def row(b: ir.Buffer, start: Expr | int) -> ir.View:
    first = start if isinstance(start, Expr) else Const(start, "int32")
    axes = [ir.SubAxis(first, ix.ONE, 1, False)]
    axes += [ir.SubAxis(Const(0, "int32"), e, 1, True) for e in b.shape[1:]]
    return ir.View(b, (ir.Sub(tuple(axes), HERE),), b.shape[1:], b.dtype, HERE)


def apply(opcode: str, *operands: ir.View | Expr, repeat: Sequence[int] = (), pred: Expr | None = None,
          preserve: bool = False, policy: Expr | None = None, span: Span = HERE) -> ir.Apply:
    return ir.Apply(use(opcode), "thread", operands, (), (), tuple(repeat), pred, preserve, policy, span)


def tid(extent: int, axis: str = "x") -> Var:
    return Var(f"threadIdx.{axis}", "int32", f"tid.{axis}", 0, extent - 1)


def block_id(axis: str = "x", grid: Expr | None = None, extent: int | None = None) -> Var:
    return Var(f"blockIdx.{axis}", "int32", f"ctaid.{axis}", 0, (1 << 31) - 2 if extent is None else extent - 1,
               hi_expr=grid)


def kernel(params: Sequence[ir.Buffer | Var], body: Sequence[ir.Statement], *, block: int = 32, grid: int | Expr = 1,
           hardware: Sequence[Var] = (), buffers: Sequence[ir.Buffer] = (), dims: Sequence[Var] = (),
           name: str = "k") -> ir.Kernel:
    one = Const(1, "int32")
    blocks = grid if isinstance(grid, Expr) else Const(grid, "int32")
    launch = ir.Launch((blocks, one, one), (block, 1, 1))
    return ir.Kernel(name, tuple(params), tuple(dims), tuple(hardware), launch, tuple(buffers), tuple(body), HERE,
                     "kernel.py")
