"""Declarations: tensor types of parameters, and storage allocated inside kernels."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import nearest, refuse, said
from ptxspec.lang.locate import element_bytes
from ptxspec.lang.shapes import Shape, count
from ptxspec.lang.tensor import TensorView, whole
from ptxspec.lang.trace import Tracer, current, intrinsic
from ptxspec.lang.types import DType, dtype_name
from ptxspec.layout import ComposeLayout, Layout, TileLayout, show_shape, to_poly
from ptxspec.layout.spec import flatten
from ptxspec.layout.value import Like
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Var, show, variables

SCOPES = ("global", "shared", "local")
#: Base alignment in bytes that proofs may use where none is declared; the host checks what they did use.
PARAM_ALIGN = 64
OWN_ALIGN = 16
MAX_ALIGN = 1 << 20

ShapeLike = Like | tuple[Like, ...] | list[Like]


@dataclass(frozen=True, slots=True)
class Tensor:
    """The type of a tensor: ``A: T.Tensor((M, 4), "float32", align=16, layout=L)``.

    ``shape`` in elements, symbolic dimensions allowed; ``align`` in bytes, 0 for what proofs need up to 64; ``layout``
    defaults to row-major.
    """

    shape: ShapeLike
    dtype: str | DType = "float32"
    scope: str = "global"
    align: int = 0
    layout: Layout | str | None = None


intrinsic(Tensor)


def make_buffer(name: str, ty: Tensor, span: Span, *, is_param: bool) -> ir.Buffer:
    """The checked storage of ``ty``; KernelError K150 to K155."""
    dtype = dtype_name(ty.dtype)
    shape = _shape(ty.shape, span)
    scope = ty.scope
    if scope not in SCOPES:
        refuse("K154", f"{said(scope)} is not a place for tensors", span, help=nearest(str(scope), list(SCOPES)))
    if is_param and scope != "global":
        refuse("K154", f"parameter `{name}` is {scope}, but arguments lie in global memory", span)
    if not is_param and scope == "global":
        refuse("K154", f"`{name}` cannot be allocated in global memory by a kernel", span,
               help="pass it as a parameter")
    layout = _layout(ty.layout, shape, name, span)
    if is_param:
        _param_layout(name, layout, span)
    elif not all(e.is_const for e in layout.memory_range()):
        refuse("K151", f"the size of `{name}` is not known while the kernel is read: {show(layout.span())} elements",
               span,
               help="registers and shared memory have static sizes; loop over the symbolic extent in tiles")
    if scope != "local" and not is_param and layout.axes():
        refuse("K155", f"`{name}` lies in {scope} memory, so its layout cannot use {', '.join(layout.axes())}", span,
               help="hardware axes distribute registers; memory is one for all threads")
    return ir.Buffer(name, dtype, shape, layout, scope, _align(ty.align, scope, is_param, span), span, is_param)


def _shape(value: object, span: Span) -> Shape:
    shape = tuple(to_poly(e, "an extent") for e in flatten((value,)))
    for extent in shape:
        if extent.is_const and extent.const < 0:
            refuse("K151", f"shape {show_shape(shape)} has a negative extent", span)
        for var in variables(extent):
            if var.role != "dim":
                refuse("K151", f"extent {show(extent)} uses `{var.name}`, which is no dimension", span,
                       help="a symbolic extent is made of T.dim(...) values")
    return shape


def _layout(value: object, shape: Shape, name: str, span: Span) -> Layout:
    if value is None or (isinstance(value, str) and value == "default"):
        return TileLayout.row_major(shape)
    if not isinstance(value, Layout):
        refuse("K152", f"the layout of `{name}` is {said(value)}, which is no layout", span,
               help="write layout=TileLayout(S[(8, 4) : (4, 1)]), or layout=\"default\"")
    if value.size() != count(shape):
        refuse("K152", f"`{name}` of shape {show_shape(shape)} has {show(count(shape))} elements, but {value!r} places "
                       f"{show(value.size())}", span)
    return value


def _param_layout(name: str, layout: Layout, span: Span) -> None:
    if layout.axes():
        refuse("K155", f"parameter `{name}` lies in memory, so its layout cannot use {', '.join(layout.axes())}", span)
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    if isinstance(tile, TileLayout) and dict(tile.offset).get("m", ix.ZERO) != ix.ZERO:
        refuse("K155", f"the layout of parameter `{name}` starts at an offset", span,
               help="pass the array that starts at the first element instead")
    if isinstance(layout, ComposeLayout) and (layout.memory_range() != layout.tile_layout.memory_range()):
        refuse("K155", f"the swizzle of parameter `{name}` reaches past the array: its span is no multiple of "
                       f"{layout.block} elements", span)


def _align(align: object, scope: str, is_param: bool, span: Span) -> int:
    if isinstance(align, bool) or not isinstance(align, int) or align < 0 or align > MAX_ALIGN or align & (align - 1):
        refuse("K153", f"align is a power of two in bytes, not {said(align)}", span)
    return align or (PARAM_ALIGN if is_param else OWN_ALIGN)


def _allocate(tracer: Tracer, ty: Tensor, fallback: str) -> TensorView:
    span = tracer.place()
    tracer.require_launch("an allocation")
    name = tracer.fresh(tracer.name_hint or fallback)
    return whole(tracer.add_buffer(make_buffer(name, ty, span, is_param=False)), span)


def alloc_local(shape: ShapeLike, dtype: str | DType = "float32", layout: Layout | str | None = None,
                align: int = 0) -> TensorView:
    """Registers of each thread, or a distributed register tensor when ``layout`` uses hardware axes."""
    return _allocate(current("T.alloc_local"), Tensor(shape, dtype, "local", align, layout), "local")


def alloc_shared(shape: ShapeLike, dtype: str | DType = "float32", align: int = 0,
                 layout: Layout | str | None = None) -> TensorView:
    """Shared memory of the block, one for all its threads."""
    return _allocate(current("T.alloc_shared"), Tensor(shape, dtype, "shared", align, layout), "shared")


def alloc_tensor(*, ty_args: list[Tensor] | tuple[Tensor, ...]) -> TensorView:
    """Storage of one declared type: ``T.alloc_tensor(ty_args=[T.Tensor(shape, dtype, scope="local")])``."""
    tracer = current("T.alloc_tensor")
    types = list(ty_args) if isinstance(ty_args, (list, tuple)) else [ty_args]
    if len(types) != 1 or not isinstance(types[0], Tensor):
        refuse("K149", "alloc_tensor takes one tensor type: ty_args=[T.Tensor(...)]", tracer.place())
    return _allocate(tracer, types[0], "tensor")


intrinsic(alloc_local)
intrinsic(alloc_shared)
intrinsic(alloc_tensor)


def dims_of(buffers: list[ir.Buffer]) -> dict[Var, str]:
    """The dimensions in the shapes of parameters, with the parameter each is first met in."""
    result: dict[Var, str] = {}
    for buffer in buffers:
        for extent in buffer.shape:
            for var in variables(extent):
                result.setdefault(var, buffer.name)
    return result


def bytes_of(view: TensorView) -> int:
    """Bytes of the elements of a view of known shape."""
    return prod(e.const for e in view.ir.shape) * element_bytes(view.dtype)
