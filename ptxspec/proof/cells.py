"""Values of integer registers along straight code: what a scalar read from ``alloc_local`` storage surely is.

Kernels keep changing scalars in local cells. Where the last write to a cell is known, a read gives that value; where
two branches join, it is a selection. Loops forget the cells that they write.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes, locate
from ptxspec.scalar.expr import BOOL, Expr, Op, Poly, is_integer

Cell = tuple[ir.Buffer, int, int]  # buffer, first byte, bytes


class Cells:
    """The known cells at one point of the walk."""

    def __init__(self, known: dict[Cell, Expr] | None = None) -> None:
        self.known: dict[Cell, Expr] = dict(known or {})

    def copy(self) -> Cells:
        """The same knowledge, to be changed apart."""
        return Cells(self.known)

    def store(self, buffer: ir.Buffer, byte: Poly, width: int, dtype: str, value: Expr) -> None:
        """A scalar write."""
        if buffer.scope != "local":
            return
        if not byte.is_const:
            self.forget({buffer})
            return
        low, high = byte.const, byte.const + width
        self.known = {k: v for k, v in self.known.items() if k[0] is not buffer or k[1] >= high or k[1] + k[2] <= low}
        if dtype and is_integer(dtype) and value.dtype == dtype:
            self.known[(buffer, low, width)] = value

    def load(self, buffer: ir.Buffer, byte: Poly, width: int, dtype: str) -> Expr | None:
        """The value a scalar read gives, where it is known."""
        if buffer.scope != "local" or not byte.is_const:
            return None
        value = self.known.get((buffer, byte.const, width))
        return value if value is not None and value.dtype == dtype else None

    def forget(self, buffers: Set[ir.Buffer]) -> None:
        """Something unknown was written to these buffers."""
        if buffers:
            self.known = {k: v for k, v in self.known.items() if k[0] not in buffers}

    def forget_written(self, body: Sequence[ir.Statement]) -> None:
        """Forget what statements may change: single cells where only those are written, else whole buffers."""
        for statement in body:
            if isinstance(statement, ir.Store):
                view = statement.view
                if view.buffer.scope == "local":
                    byte = locate(view, statement.index).byte
                    self.store(view.buffer, byte, element_bytes(view.dtype), "", statement.value)
            elif isinstance(statement, ir.If):
                self.forget_written((*statement.then, *statement.orelse))
            elif isinstance(statement, ir.For):
                self.forget_written(statement.body)
            elif isinstance(statement, ir.Apply):
                self.forget({v.buffer for v in statement.operands if isinstance(v, ir.View)})

    def join(self, condition: Expr, yes: Cells, no: Cells) -> None:
        """After a branch: what both arms agree on, or a selection between them."""
        self.known = {}
        for key, a in yes.known.items():
            b = no.known.get(key)
            if b is None or a.dtype != b.dtype:
                continue
            self.known[key] = a if a == b else Op("select", (condition, a, b), a.dtype)


def same(result: Expr, value: Expr) -> Expr:
    """``result == value`` with machine meaning."""
    return Op("eq", (result, value), BOOL)
