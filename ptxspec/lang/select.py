"""Selections: what ``t[...]`` and ``t.sub[...]`` mean, axis by axis."""

from __future__ import annotations

from operator import index

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.shapes import Shape, launch_time
from ptxspec.layout import show_shape
from ptxspec.layout.value import Value
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import INDEX, Const, Expr, Poly, is_integer, show

Item = Expr | slice


def spread(view: ir.View, key: object, span: Span) -> list[Item]:
    """One entry for each axis: missing trailing axes and ``...`` are taken whole (K140 for too many)."""
    items = list(key) if isinstance(key, tuple) else [key]
    rank = len(view.shape)
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        refuse("K140", "`...` may stand once in a subscript", span)
    given = len(items) - len(dots)
    if given > rank:
        refuse("K140", f"{given} indices for `{view.buffer.name}`, whose shape here is {show_shape(view.shape)}", span,
               help=f"give at most {rank}")
    missing: list[object] = [slice(None)] * (rank - given)
    if dots:
        items[dots[0]:dots[0] + 1] = missing
    else:
        items += missing
    return [item if isinstance(item, slice) else index_expr(item, span) for item in items]


def index_expr(value: object, span: Span) -> Expr:
    """``value`` as an integer index; booleans and floats are refused (K141)."""
    if isinstance(value, Value):
        value = value.expr
    if isinstance(value, Expr):
        if is_integer(value.dtype) or value.dtype == INDEX:
            return value
        refuse("K141", f"an index is an integer, but `{show(value)}` is {value.dtype}", span,
               help=f"convert it, for example T.int32({show(value)})")
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        refuse("K141", f"an index is an integer or a range, not {said(value)}", span,
               help=f"call it: {getattr(value, '__name__', '')}()" if callable(value) else "")
    return ix.constant(index(value))  # type: ignore[arg-type]


def whole_index(items: list[Item], view: ir.View, span: Span) -> tuple[Expr, ...] | None:
    """The indices when no range occurs: one element. None for a region."""
    if any(isinstance(item, slice) for item in items) or (not items and view.shape):
        return None
    return tuple(item for item in items if isinstance(item, Expr))


def narrowed(view: ir.View, items: list[Item], span: Span, *, drop: bool, text: str = "") -> ir.View:
    """The view on the selected part; with ``drop`` an integer removes its axis, else it stays with extent 1.

    ``text`` is the selection in the user's words.
    """
    axes: list[ir.SubAxis] = []
    for axis, item in enumerate(items):
        if isinstance(item, slice):
            axes.append(_range(item, view.shape[axis], axis, span))
        else:
            axes.append(ir.SubAxis(item, ix.ONE, 1, not drop))
    shape: Shape = tuple(a.extent for a in axes if a.keep)
    if shape == view.shape and all(a.keep and a.step == 1 and a.start == ix.ZERO for a in axes):
        return view
    return ir.View(view.buffer, (*view.steps, ir.Sub(tuple(axes), span, text)), shape, view.dtype, span)


def _range(item: slice, extent: Poly, axis: int, span: Span) -> ir.SubAxis:
    start = ix.ZERO if item.start is None else index_expr(item.start, span)
    stop = extent if item.stop is None else index_expr(item.stop, span)
    step = 1 if item.step is None else _step(item.step, span)
    length = ix.sub(stop, start)
    if length.is_const and length.const < 0:
        refuse("K143", f"the range on axis {axis} runs backwards: its length is {length.const}", span,
               help="negative indices do not count from the end here; write the end itself, for example t.shape[0] - 1")
    if not launch_time(length):
        refuse("K143", f"the length of the range on axis {axis}, {show(length)}, is not the same for all threads", span,
               help="give start and stop a fixed distance, for example t[i:i + 4]")
    if step > 1:
        length = ix.floordiv(ix.add(length, step - 1), step)
    return ir.SubAxis(start, length, step, True)


def _step(value: object, span: Span) -> int:
    if isinstance(value, Const):
        value = value.value
    if isinstance(value, Poly) and value.is_const:
        value = value.const
    if isinstance(value, bool) or not isinstance(value, int):
        refuse("K142", "the step of a range must be known while the kernel is read", span,
               help="use a Python integer, or compute indices yourself")
    if value <= 0:
        refuse("K142", f"the step of a range must be positive, not {value}", span,
               help="a layout with a negative stride can describe a reversed axis")
    return value
