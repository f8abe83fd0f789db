"""The IR of a merged access: its registers, its view of memory, its instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ptxspec.diagnostics import Span
from ptxspec.forms.use import use
from ptxspec.lang.ir import Apply, Buffer, Load, Reinterpret, Relayout, Step, Store, Sub, SubAxis, View
from ptxspec.lang.locate import locate
from ptxspec.layout import TileLayout
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Const, Expr, Poly

from .neighbours import Place
from .widths import Width


@dataclass(eq=False, slots=True)
class Vector:
    """``members`` of neighbouring elements, lowest address first, that one instruction is to move; each with its
    position in the block. ``memory`` is the view it addresses, ``again`` has further reads of an element by its number,
    and ``wider`` says why it is not wider."""

    verb: str
    start: Place
    width: Width
    members: list[tuple[int, Load | Store]]
    memory: View
    again: dict[int, list[tuple[int, Load]]]
    wider: str = ""

    def registers(self, number: int) -> Buffer:
        """A register tensor for the elements."""
        shape = (ix.constant(self.width.count),)
        verb = "read" if self.verb == "ld" else "write"
        return Buffer(f"merged {verb} {number} of {self.start.buffer.name}", self.start.dtype, shape,
                      TileLayout.row_major(shape), "local", 0, self.members[0][1].span)


def register_element(registers: Buffer, number: int, span: Span) -> tuple[View, tuple[Expr, ...]]:
    """Element ``number`` of a register tensor: view and index."""
    return View(registers, (), registers.shape, registers.dtype, span), (Const(number, "int32"),)


def vector_view(view: View, index: Sequence[Expr], start: Place, width: Width, span: Span) -> View | None:
    """``width`` elements from ``view[index]`` on, in the lanes of the instruction; None where no view names them.

    Along the last axis that is a range, as a person would write it; elsewhere the storage under a plain layout.
    """
    count = ix.constant(width.count)
    leading = tuple(SubAxis(i, ix.ONE, 1, False) for i in index[:-1])
    ranged: tuple[Step, ...] = (*view.steps, Sub((*leading, SubAxis(index[-1], count, 1, True)), span)) if index else ()
    first: tuple[Step, ...] = (*view.steps, Sub((*leading, SubAxis(index[-1], ix.ONE, 1, True)), span)) if index else ()
    for steps in (ranged, (*first, Relayout((count,), TileLayout.row_major((count,)), span))):
        if not index:
            return None
        found = View(view.buffer, steps, (count,), view.dtype, span)
        if _names(found, start, width.count):
            return in_lanes(found, start.end - start.first, width, span)
    return None


def _names(view: View, start: Place, count: int) -> bool:
    """True when element ``k`` of ``view`` is the ``k``-th neighbour of ``start``."""
    size = start.end - start.first
    return all(locate(view, [k]).byte == Poly(start.first + k * size, start.terms) for k in range(count))


def in_lanes(view: View, element: int, width: Width, span: Span) -> View:
    """``view``, one row of elements, as a row of the instruction's lanes."""
    if width.lane == element:
        return view
    dtype = f"bits{8 * width.lane}"
    return View(view.buffer, (*view.steps, Reinterpret(dtype, span)), (ix.constant(width.bytes // width.lane),), dtype,
                span)


def vector_access(vector: Vector, registers: Buffer, sm: str, ptx: tuple[int, int] | None, span: Span) -> Apply:
    """The load or store itself."""
    form = use(vector.width.opcode, sm=sm, ptx=ptx)
    whole = View(registers, (), registers.shape, registers.dtype, span)
    own = in_lanes(whole, vector.start.end - vector.start.first, vector.width, span)
    operands = (own, vector.memory) if vector.verb == "ld" else (vector.memory, own)
    return Apply(form, "thread", operands, (), (), (), None, False, None, span)
