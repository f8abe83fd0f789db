"""What the parts of the reader share."""

from __future__ import annotations

import ast
from types import FunctionType, MethodType
from typing import NoReturn

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import raised_at, refuse, said
from ptxspec.lang.reader.frame import Frame
from ptxspec.lang.shapes import to_typed
from ptxspec.lang.tensor import ElementRef, TensorView, whole
from ptxspec.lang.trace import Tracer
from ptxspec.lang.types import number
from ptxspec.layout import TileLayout
from ptxspec.layout.value import Value
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Expr, Op, Poly, Var, int_range, is_integer, show

#: Operations inside each other, such as the terms of a sum, that are kept as one expression.
DEEP = 64


def is_kernel(value: object) -> bool:
    """True for values that exist on the device only."""
    return isinstance(value, Expr)


def not_called(value: object) -> bool:
    """One of T's functions, or a tensor's method, where a value of it was meant: the brackets are missing."""
    owner = getattr(value, "__self__", None) if isinstance(value, MethodType) else None
    return callable(value) and not isinstance(value, type) and \
        (isinstance(owner, TensorView) or (isinstance(value, FunctionType) and hasattr(value, "ptxspec_intrinsic")))


def involves_kernel(value: object, depth: int = 3) -> bool:
    """True when a kernel value, a tensor, a tile or a dimension is in ``value``, a few containers deep."""
    if isinstance(value, (Expr, TensorView, ElementRef, Value)) or hasattr(type(value), "ptxspec_binary"):
        return True
    if depth and isinstance(value, (tuple, list, set, frozenset)):
        return any(involves_kernel(v, depth - 1) for v in value)
    if depth and isinstance(value, dict):
        return any(involves_kernel(v, depth - 1) for pair in value.items() for v in pair)
    return isinstance(value, slice) and any(involves_kernel(v, 0) for v in (value.start, value.stop, value.step))


class ReaderBase:
    """The tracer, the stack of functions being read, and the node being read."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.node: ast.AST | None = None
        self.tracer: Tracer
        self.depths: dict[Expr, int] = {}   # how deeply expressions are nested

    @property
    def frame(self) -> Frame:
        """The function being read."""
        return self.frames[-1]

    @property
    def on_device(self) -> bool:
        """Inside a kernel branch or loop, of any function being read: what happens here happens at run time."""
        return any(frame.depth for frame in self.frames)

    def span(self, node: ast.AST) -> Span:
        """Where ``node`` stands."""
        return self.frame.source.span(node)

    def place(self) -> Span:
        """Where the reader is."""
        return self.span(self.node if self.node is not None else self.frame.source.node)

    def excerpt(self) -> str:
        """The user's text where the reader is."""
        return self.frame.source.excerpt(self.node if self.node is not None else self.frame.source.node)

    def refuse(self, code: str, message: str, node: ast.AST, *, help: str = "", note: str = "") -> NoReturn:
        """Refuse at ``node``."""
        refuse(code, message, self.span(node), help=help, note=note)

    def raised(self, error: Exception, node: ast.AST, what: str) -> NoReturn:
        """Refuse ``what``, the user's own code, for what it raised (K208)."""
        at = raised_at(error)
        text = str(error)
        refuse("K208", f"{what} raised {type(error).__name__}{': ' + text if text else ''}", self.span(node),
               note="raised here" if at else "", where=at)

    def eval(self, node: ast.expr) -> object:
        """The value of an expression; elements are read, dimensions become kernel values."""
        raise NotImplementedError

    def eval_lazy(self, node: ast.expr) -> object:
        """As :meth:`eval`, but an element stays a reference."""
        raise NotImplementedError

    def exec_body(self, body: list[ast.stmt]) -> None:
        """Read statements."""
        raise NotImplementedError

    # --- values

    def settled(self, value: object, node: ast.AST) -> object:
        """``value`` for use in computations."""
        if isinstance(value, ElementRef):
            return self.load(value, node)
        if isinstance(value, Value):
            return value.expr
        if isinstance(value, Poly):
            return value.const if value.is_const else to_typed(value)
        return value

    def load(self, element: ElementRef, node: ast.AST) -> Var:
        """Read an element here."""
        dtype = element.view.dtype
        low, high = int_range(dtype) if is_integer(dtype) or dtype == BOOL else (None, None)
        span = self.span(node)
        text = self.frame.source.excerpt(node)
        result = Var(text if len(text) <= 40 else element.view.buffer.name + "[...]", dtype, "value", low, high, span)
        self.tracer.emit(ir.Load(result, element.view, element.index, span))
        return result

    def scalar(self, value: object, node: ast.AST, what: str) -> Expr | int | float:
        """``value`` as a number or kernel value (K222)."""
        value = number(value)
        if isinstance(value, (Expr, int, float)):
            return value
        if isinstance(value, TensorView):
            self.refuse("K222", f"{what} takes numbers, but `{value.ir.buffer.name}` is a tensor of shape "
                                f"{value.shape}",
                        node, help="select one element with t[i, ...], an index for each axis")
        self.refuse("K222", f"{what} takes numbers, not {said(value)}", node,
                    help=f"call it: {getattr(value, '__name__', '')}()" if callable(value) else "")

    def truth(self, value: object, node: ast.AST) -> Expr | bool:
        """``value`` as a condition."""
        if isinstance(value, Expr):
            return typed.truth(value, self.span(node))
        if isinstance(value, TensorView) or not_called(value):
            self.scalar(value, node, "a condition")
        try:
            return bool(value)
        except Exception as error:
            self.raised(error, node, f"the truth of an object of type {type(value).__name__}")

    def hidden_cell(self, dtype: str, node: ast.AST) -> TensorView:
        """One register of the reader's own."""
        span = self.span(node)
        shape = (ix.ONE,)
        buffer = ir.Buffer(self.tracer.fresh("chosen"), dtype, shape, TileLayout.row_major(shape), "local", 16, span)
        return whole(self.tracer.add_buffer(buffer), span)

    def shallow(self, value: object, node: ast.AST) -> object:
        """``value``; one that is nested very deeply is kept in a register, and is that register from here on."""
        if not isinstance(value, Op):
            return value
        depth = 1 + max((self.depths.get(c, 0) for c in value.args), default=0)
        if depth <= DEEP or self.tracer.launch is None:
            self.depths[value] = depth
            return value
        span, at = self.span(node), (ix.ZERO,)
        held = "int32" if value.dtype == BOOL else value.dtype
        cell = self.hidden_cell(held, node)
        self.tracer.emit(ir.Store(cell.ir, at, typed.cast(value, held, span), span))
        result = self.load(ElementRef(cell.ir, at, span), node)
        return typed.compare("ne", result, 0, span) if value.dtype == BOOL else result

    def convert(self, value: object, dtype: str, node: ast.AST, what: str) -> Expr:
        """``value`` in the element type ``dtype``: numbers that fit, and values of the same kind that widen (K156)."""
        item = self.scalar(value, node, what)
        span = self.span(node)
        if not isinstance(item, Expr):
            if dtype.startswith(("bits", "float8")):
                self.refuse("K156", f"{what} holds {dtype}, which has no numbers", node,
                            help="write through a view with another element type of that width")
            if (isinstance(item, bool) and dtype != BOOL) or (isinstance(item, int) and dtype == BOOL \
                    and not isinstance(item, bool)):
                self.refuse("K156", f"{item!r} is written to {what}, which holds {dtype}", node, help=f"write "
                                                                                                      f"T.{dtype}(...)")
            return typed.literal(item, dtype, span)
        if item.dtype == dtype:
            return item
        if _widens(item.dtype, dtype):
            return typed.cast(item, dtype, span)
        self.refuse("K156", f"`{show(item)}` of type {item.dtype} is written to {what}, which holds {dtype}", node,
                    help=f"convert it: T.{dtype}(...)")


def _widens(a: str, b: str) -> bool:
    if is_integer(a) and is_integer(b):
        low, high = int_range(a)
        least, most = int_range(b)
        return least <= low and high <= most
    floats = {"float16": 1, "bfloat16": 1, "float32": 2, "float64": 3}
    return a in floats and b in floats and floats[a] < floats[b]
