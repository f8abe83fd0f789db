"""Steps that change shape, order, element type or layout, each checked where the answer is known while reading."""

from __future__ import annotations

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import refuse
from ptxspec.lang.locate import element_bytes, locate, rescaled
from ptxspec.lang.select import index_expr
from ptxspec.lang.shapes import Shape, count, launch_time, quotient
from ptxspec.lang.types import dtype_name
from ptxspec.layout import Layout, show_shape
from ptxspec.layout.value import exact_div
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, INDEX, Poly, Var, show


def extents_of(values: tuple[object, ...], span: Span) -> Shape:
    """Extents as exact integers: non-negative, the same for all threads (K151)."""
    result: list[Poly] = []
    for value in values:
        extent = ix.index(index_expr(value, span))
        if extent.is_const and extent.const < 0:
            refuse("K151", f"extent {extent.const} is negative", span)
        if not launch_time(extent):
            refuse("K151", f"extent {show(extent)} is not the same for all threads", span)
        result.append(extent)
    return tuple(result)


def _is_unknown(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value == -1


def reshaped_to(view: ir.View, values: tuple[object, ...], span: Span) -> ir.View:
    """Row-major reshape; one extent may be -1."""
    if not values and view.shape:
        refuse("K149", "view needs a shape, an element type or a layout", span, help="write t.view(4, -1)")
    total = count(view.shape)
    unknown = [k for k, v in enumerate(values) if _is_unknown(v)]
    if len(unknown) > 1:
        refuse("K145", "only one extent of a view can be -1", span)
    known = extents_of(tuple(v for v in values if not _is_unknown(v)), span)
    shape = known
    if unknown:
        rest = quotient(total, count(known)) if count(known) != ix.ZERO else None
        if rest is None:
            refuse("K145", f"the extent -1 cannot be found: {show(total)} elements do not divide by "
                           f"{show(count(known))}", span)
        shape = (*known[:unknown[0]], rest, *known[unknown[0]:])
    if count(shape) != total:
        refuse("K144", f"a view of shape {show_shape(shape)} has {show(count(shape))} elements, but "
                       f"`{view.buffer.name}` "
                       f"of shape {show_shape(view.shape)} has {show(total)}", span,
               help="a view keeps the number of elements; -1 stands for the extent that makes it fit")
    if shape == view.shape:
        return view
    return ir.View(view.buffer, (*view.steps, ir.Reshape(shape, span)), shape, view.dtype, span)


def permuted(view: ir.View, order: tuple[object, ...], span: Span) -> ir.View:
    """Axes in another order."""
    rank = len(view.shape)
    axes = [int(k) % rank for k in order if isinstance(k, int) and not isinstance(k, bool) and -rank <= k < rank]
    if len(order) != rank or sorted(axes) != list(range(rank)):
        refuse("K147", f"permute{order!r} is not an order of the {rank} axes of `{view.buffer.name}`", span,
               help=f"name each of {', '.join(map(str, range(rank)))} once")
    if axes == list(range(rank)):
        return view
    shape = tuple(view.shape[k] for k in axes)
    return ir.View(view.buffer, (*view.steps, ir.Permute(tuple(axes), span)), shape, view.dtype, span)


def reinterpreted(view: ir.View, dtype: object, span: Span) -> ir.View:
    """The same bytes as another element type; the last axis is scaled and must be dense."""
    new = dtype_name(dtype)
    if new == view.dtype:
        return view
    if not view.shape:
        refuse("K146", "a view without axes has no last axis to scale", span)
    old_bits, new_bits = BITS[view.dtype], BITS[new]
    last = view.shape[-1]
    if exact_div(ix.scale(last, old_bits), ix.constant(new_bits)) is None:
        refuse("K146", f"the last axis has {show(last)} {view.dtype} elements, which is no whole number of {new}", span,
               help=f"select a multiple of {new_bits // old_bits} elements first")
    result = ir.View(view.buffer, (*view.steps, ir.Reinterpret(new, span)),
                     (*view.shape[:-1], rescaled(last, view.dtype, new)), new, span)
    if new_bits > old_bits:
        _dense(view, result, new_bits // old_bits, span)
    return result


def _dense(old: ir.View, new: ir.View, ratio: int, span: Span) -> None:
    at: list[Var] = []
    for k, extent in enumerate(new.shape):
        high = extent.const - 1 if extent.is_const else None
        at.append(Var(f"i{k}", INDEX, "word", 0, high))
    if any(e == ix.ZERO for e in new.shape):
        return
    size = element_bytes(old.dtype)
    *lead, last = at
    first = locate(old, [*lead, ix.scale(last, ratio)])
    for word in range(1, ratio):
        next_one = locate(old, [*lead, ix.add(ix.scale(last, ratio), word)])
        distance = ix.sub(next_one.byte, first.byte)
        if distance != ix.constant(word * size) or next_one.axes != first.axes:
            refuse("K146", f"{ratio} neighbours on the last axis of `{old.buffer.name}` are not consecutive there, "
                           f"so they "
                           f"are no {new.dtype}", span,
                   note=f"neighbour {word} lies {show(distance)} bytes on, not {word * size}"
                        if next_one.axes == first.axes else "the neighbours belong to different threads",
                   help="permute the dense axis to the end first, or select along it")


def relaid(view: ir.View, values: tuple[object, ...], layout: object, span: Span) -> ir.View:
    """The storage behind, from the view's first element on, under a new shape and layout."""
    if isinstance(layout, str) and layout == "default":
        return reshaped_to(view, values, span)
    if not isinstance(layout, Layout):
        refuse("K149", f"layout= takes a layout, not {type(layout).__name__}", span, help="write TileLayout(S[...])")
    if view.buffer.layout.axes() and any(isinstance(step, ir.Sub) for step in view.steps):
        refuse("K149", f"a selection of `{view.buffer.name}`, which is spread over "
                       f"{', '.join(view.buffer.layout.axes())}, "
                       "cannot be laid out anew: it would lose whose registers it means", span,
               help="lay out the whole tensor anew, then select from it")
    shape = extents_of(values, span) if values else layout.extents()
    if count(shape) != layout.size():
        refuse("K152", f"shape {show_shape(shape)} has {show(count(shape))} elements, but {layout!r} places "
                       f"{show(layout.size())}", span)
    return ir.View(view.buffer, (*view.steps, ir.Relayout(shape, layout, span)), shape, view.dtype, span)
