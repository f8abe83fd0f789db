"""Tensors and their views as the kernel's author handles them. No method here moves data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import refuse
from ptxspec.lang.rearrange import rearranged
from ptxspec.lang.reshape import permuted, reinterpreted, relaid, reshaped_to
from ptxspec.lang.select import narrowed, spread, whole_index
from ptxspec.lang.shapes import to_typed
from ptxspec.lang.trace import current
from ptxspec.lang.types import DType
from ptxspec.layout import Layout, show_shape
from ptxspec.layout.spec import flatten
from ptxspec.layout.value import Like
from ptxspec.scalar.expr import Const, Expr, Poly

ShapeItem = int | Expr


class TensorView:
    """A typed window on a tensor. ``t[i, j]`` with integers is an element; with a range it is a region (a view)."""

    __slots__ = ("ir",)

    #: Calls of methods inside kernels go straight to them.
    ptxspec_intrinsic = True

    def __init__(self, view: ir.View) -> None:
        self.ir = view

    # --- queries

    @property
    def shape(self) -> tuple[ShapeItem, ...]:
        """Extent of each axis: a Python int where known, else a kernel value."""
        return tuple(e.const if e.is_const else to_typed(e) for e in self.ir.shape)

    @property
    def dtype(self) -> str:
        """Name of the element type."""
        return self.ir.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.ir.shape)

    @property
    def layout(self) -> Layout:
        """The layout of the storage behind the view."""
        return self.ir.buffer.layout

    @property
    def data_alignment(self) -> int:
        """Bytes that the base address of the storage is a multiple of."""
        return self.ir.buffer.align

    def scope(self) -> str:
        """``global``, ``shared`` or ``local``."""
        return self.ir.buffer.scope

    def __repr__(self) -> str:
        return f"{self.ir.buffer.name}: {self.ir.dtype}{show_shape(self.ir.shape)} in {self.ir.buffer.scope}"

    def __len__(self) -> int:
        extent = self.shape[0] if self.ir.shape else None
        if not isinstance(extent, int):
            refuse("K211", "the extent of this axis is known at launch only, so len() has no value yet",
                   current("len").place(), help="use `.shape[0]`, which is a kernel value")
        return extent

    def __iter__(self) -> Iterator[object]:
        refuse("K216", f"`{self.ir.buffer.name}` cannot be iterated over", current("iteration").place(),
               help="loop over indices: `for i in range(n):` and use `t[i]`")

    # --- views

    @property
    def sub(self) -> SubAccess:
        """``t.sub[i, a:b, ::k]``: integers drop their axis, ranges narrow it, a positive step strides."""
        return SubAccess(self.ir)

    def __getitem__(self, key: object) -> TensorView | ElementRef:
        tracer = current("a tensor")
        span = tracer.place()
        items = spread(self.ir, key, span)
        indices = whole_index(items, self.ir, span)
        if indices is not None:
            return ElementRef(self.ir, indices, span)
        return TensorView(narrowed(self.ir, items, span, drop=False, text=tracer.excerpt()))

    def view(self, *args: Like | str | DType | tuple[Like, ...], layout: Layout | None = None) -> TensorView:
        """``view(4, -1)`` reshapes; ``view(n, m, layout=L)`` lays the same storage out anew; ``view("float64")``
        reads the same bytes as another element type, the last axis scaled."""
        span = current("view").place()
        flat = tuple(flatten(args))
        if len(flat) == 1 and isinstance(flat[0], (str, DType)):
            if layout is not None:
                refuse("K149", "view takes an element type or a layout, not both in one call", span,
                       help="write t.view(\"float64\").view(n, m, layout=L)")
            return TensorView(reinterpreted(self.ir, flat[0], span))
        if layout is not None:
            return TensorView(relaid(self.ir, flat, layout, span))
        return TensorView(reshaped_to(self.ir, flat, span))

    def permute(self, *order: int | tuple[int, ...]) -> TensorView:
        """New axis ``k`` is old axis ``order[k]``."""
        return TensorView(permuted(self.ir, tuple(flatten(order)), current("permute").place()))

    def rearrange(self, pattern: str, **sizes: Like) -> TensorView:
        """Split, permute and merge axes by name: ``t.rearrange("i (b d) -> b (i d)", d=2)``."""
        return TensorView(rearranged(self.ir, pattern, sizes, current("rearrange").place()))

    def ptr_to(self, index: object) -> Pointer:
        """The address of one element, for queries."""
        span = current("ptr_to").place()
        items = spread(self.ir, tuple(flatten((index,))), span)
        indices = whole_index(items, self.ir, span)
        if indices is None:
            refuse("K141", "ptr_to takes one integer for each axis", span)
        return Pointer(ElementRef(self.ir, indices, span))


@dataclass(frozen=True, slots=True)
class SubAccess:
    """``t.sub``, waiting for its subscript."""

    view: ir.View

    def __getitem__(self, key: object) -> TensorView:
        tracer = current("sub")
        span = tracer.place()
        return TensorView(narrowed(self.view, spread(self.view, key, span), span, drop=True, text=tracer.excerpt()))


@dataclass(frozen=True, eq=False, slots=True)
class ElementRef:
    """``t[i, j]`` before it is known whether it is read, written or handed to an instruction as a region."""

    view: ir.View
    index: tuple[Expr, ...]
    span: Span

    def region(self) -> TensorView:
        """The element as a view of extent 1 on every axis."""
        axes = tuple(ir.SubAxis(i, _ONE, 1, True) for i in self.index)
        shape = tuple(_ONE for _ in self.index)
        step = ir.Sub(axes, self.span, self.text)
        return TensorView(ir.View(self.view.buffer, (*self.view.steps, step), shape, self.view.dtype, self.span))

    @property
    def text(self) -> str:
        """The access as the user wrote it, near enough for messages."""
        return f"{self.view.buffer.name}[{', '.join(repr(i) for i in self.index)}]"


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of one element."""

    element: ElementRef

    @property
    def dtype(self) -> str:
        """Element type pointed to."""
        return self.element.view.dtype

    def scope(self) -> str:
        """Space pointed into."""
        return self.element.view.buffer.scope

    @property
    def byte_offset(self) -> int | Expr:
        """Bytes from the base of the storage."""
        from ptxspec.lang.locate import locate
        byte = locate(self.element.view, self.element.index).byte
        return byte.const if byte.is_const else to_typed(byte)


_ONE = Poly(1, ())


def whole(buffer: ir.Buffer, span: Span) -> TensorView:
    """The view of all of ``buffer``."""
    return TensorView(ir.View(buffer, (), buffer.shape, buffer.dtype, span))


def constant_of(value: object) -> int | None:
    """The integer behind a Python int or a constant kernel value."""
    if isinstance(value, Const) and isinstance(value.value, int):
        return int(value.value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None
