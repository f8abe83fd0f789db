"""Calls: T's functions directly, the user's functions read inline, anything else as plain Python."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType

from ptxspec.diagnostics import Diagnostic, Note, PtxspecError, Span
from ptxspec.lang import scalars
from ptxspec.lang.errors import nearest, placed, said
from ptxspec.lang.loops import make_range
from ptxspec.lang.reader.base import involves_kernel
from ptxspec.lang.reader.expressions import Expressions
from ptxspec.lang.reader.frame import Frame, outer_names
from ptxspec.lang.reader.source import Source, source_of
from ptxspec.lang.tensor import ElementRef, SubAccess, TensorView
from ptxspec.lang.tile import Ptx
from ptxspec.layout import Layout, Spec
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Expr, is_integer

#: Calls of user functions inside each other.
DEPTH = 64
#: Builtins that only arrange values and may hold kernel values.
_ARRANGING = (tuple, list, dict, set, zip, enumerate, reversed, isinstance, type, id, repr, str, hasattr, callable,
              slice,
              format, iter, next, map, filter)


#: Methods of containers that change nothing.
_READING = ("get", "items", "keys", "values", "index", "count", "copy")


class Returned(Exception):
    """A helper function's return, with its value."""

    def __init__(self, value: object) -> None:
        self.value = value
        super().__init__()


@dataclass(frozen=True, slots=True)
class LocalFunction:
    """A function defined inside a kernel."""

    node: ast.FunctionDef
    source: Source
    frame: Frame
    defaults: tuple[object, ...]
    kw_defaults: tuple[tuple[str, object], ...]


class Calls(Expressions):
    """Evaluation of call nodes."""

    def e_call(self, node: ast.Call) -> object:
        function = self.eval(node.func)
        lazy = getattr(function, "ptxspec_lazy", False)
        args: list[object] = []
        spans: list[Span] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                many = self.items([arg])
                args += many
                spans += [self.span(arg)] * len(many)
            else:
                args.append(self.eval_lazy(arg) if lazy else self.eval(arg))
                spans.append(self.span(arg))
        kwargs: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is None:
                kwargs.update({str(k): v for k, v in self.mapping(value, keyword.value).items()})
            else:
                kwargs[keyword.arg] = value
        self.tracer.argument_spans = tuple(spans)
        said = node.args and function is scalars.assume
        self.tracer.argument_text = self.frame.source.text(node.args[0]) if said else ""
        return self.shallow(self.call(function, args, kwargs, node), node)

    def call(self, function: object, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """The result of ``function(*args, **kwargs)``."""
        local = isinstance(function, LocalFunction)
        if isinstance(function, (Expr, TensorView)) or not (local or callable(function)):
            brackets = isinstance(function, (SubAccess, Ptx, TensorView))
            self.refuse("K206", f"{_a(function)} cannot be called", node,
                        help="write square brackets: `[...]`" if brackets else "")
        name = _name(function)
        if isinstance(function, functools.partial):
            return self.call(function.func, [*function.args, *args], {**function.keywords, **kwargs}, node)
        if isinstance(function, LocalFunction):
            return self._inline_local(function, args, kwargs, node)
        owner = getattr(function, "__self__", None)
        if getattr(function, "ptxspec_intrinsic", False) or getattr(type(owner), "ptxspec_intrinsic", False) \
                or isinstance(owner, (Layout, Spec)) or (isinstance(function, type) and issubclass(function, Layout)):
            return self._direct(function, args, kwargs, node, name)
        if getattr(function, "ptxspec_kernel", False):
            self.refuse("K206", f"`{name}` is a kernel; a kernel cannot be called from a kernel", node,
                        help="move the shared part into a plain function and call it from both")
        kernel = involves_kernel(args) or involves_kernel(kwargs)
        known = _BUILTINS.get(function) if _hashable(function) else None
        if known is not None and (kernel or function is range):
            return known(self, args, kwargs, node)
        if function is print and kernel:
            self.refuse("K206", "kernels do not print", node, help="store the value into a tensor argument")
        if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
            args, function = [function.__self__, *args], function.__func__
        if isinstance(function, FunctionType) and not (function.__module__ or "").startswith("ptxspec.") \
                and (kernel or _speaks_t(function)):
            return self._inline(function, args, kwargs, node)
        assert callable(function)
        if isinstance(owner, (list, dict, set)):
            if self.on_device and getattr(function, "__name__", "") not in _READING:
                self.refuse("K220", f"`{name}` changes a Python object inside a kernel branch or loop, where it would "
                                    "happen once, while the kernel is read", node,
                            help="keep the value in a T.alloc_local tensor")
        elif kernel and not (_hashable(function) and function in _ARRANGING):
            self.refuse("K206", f"`{name}` is called with a kernel value, but is no function that can be read", node,
                        help="use T's functions, or a plain Python function written with `def`")
        return self.python(lambda: function(*args, **kwargs), node, f"`{name}(...)`")

    def _direct(self, function: object, args: list[object], kwargs: dict[str, object], node: ast.AST,
                name: str) -> object:
        assert callable(function)
        self.node = node
        try:
            return function(*args, **kwargs)
        except PtxspecError as error:
            raise placed(error, self.span(node)) from error
        except TypeError as error:
            wrong = _misfit(function, args, kwargs)
            if not wrong:
                self.raised(error, node, f"`{name}(...)`")
            self.refuse("K207", f"`{name}` is called wrongly: {wrong}", node, help=_usage(function, name))
        except Exception as error:
            self.raised(error, node, f"`{name}(...)`")

    # --- the user's functions

    def _inline(self, function: FunctionType, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        source = source_of(function, self.span(node))
        bound = self._bound(inspect.signature(function), args, kwargs, node, function.__name__)
        frame = Frame(source, outer_names(function), function.__globals__, function.__name__, self.span(node),
                      is_kernel=False)
        return self._enter(frame, source.node, bound, node)

    def _inline_local(self, function: LocalFunction, args: list[object], kwargs: dict[str, object],
                      node: ast.AST) -> object:
        signature = _signature(function)
        bound = self._bound(signature, args, kwargs, node, function.node.name)
        seen: dict[str, object] = dict(function.frame.outer)
        for block in function.frame.blocks:
            seen.update(block.names)
        frame = Frame(function.source, seen, function.frame.module, function.node.name, self.span(node),
                      is_kernel=False)
        return self._enter(frame, function.node, bound, node)

    def _bound(self, signature: inspect.Signature, args: list[object], kwargs: dict[str, object], node: ast.AST,
               name: str) -> dict[str, object]:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            self.refuse("K207", f"`{name}{signature}` is called wrongly: {error}", node)
        bound.apply_defaults()
        return dict(bound.arguments)

    def _enter(self, frame: Frame, definition: ast.FunctionDef, bound: dict[str, object], node: ast.AST) -> object:
        if len(self.frames) >= DEPTH:
            self.refuse("K209", f"`{frame.name}` is called more than {DEPTH} calls deep", node,
                        help="kernels are read completely, so recursion must end while reading")
        for name, value in bound.items():
            frame.bind(name, value, frame.source.span(definition))
        self.frames.append(frame)
        try:
            self.exec_body(definition.body)
        except Returned as returned:
            return returned.value
        except PtxspecError as error:
            raise _called_from(error, frame) from error
        finally:
            self.frames.pop()
            self.node = node
        return None

    # --- builtins with kernel values

    def b_range(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """range: of integers it stays Python's, of kernel values it is a device loop."""
        if involves_kernel(args):
            self.node = node
            return self.python(lambda: make_range(tuple(args), False, self.span(node)), node, "range")
        if len(args) == 3 and args[2] == 0:
            self.refuse("K210", "the step of a loop is zero", node)
        return self.python(lambda: range(*args), node, "range")  # type: ignore[call-overload]

    def b_min(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """min and max of kernel values."""
        return self._extreme("min", args, node)

    def b_max(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """As :meth:`b_min`."""
        return self._extreme("max", args, node)

    def _extreme(self, name: str, args: list[object], node: ast.AST) -> object:
        values = args
        if len(args) == 1 and isinstance(args[0], (tuple, list)):
            values = list(args[0])
        return self.python(lambda: scalars.fold_pairs(name, tuple(values)), node, name)

    def b_abs(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """abs of a kernel value."""
        value = self.scalar(args[0], node, "abs")
        return self.python(lambda: typed.unary("abs", value, self.span(node)), node, "abs")

    def b_len(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """len of a tensor or of a container."""
        if isinstance(args[0], Expr):
            self.refuse("K222", "a kernel value has no length", node)
        return self.python(lambda: len(args[0]), node, "len")  # type: ignore[arg-type]

    def b_sum(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """sum of a Python sequence of kernel values."""
        start: object = args[1] if len(args) > 1 else kwargs.get("start", 0)
        values = [*([] if isinstance(start, int) and start == 0 else [start]), *self.iterated(args[0], node)]
        if all(isinstance(v, Expr) and is_integer(v.dtype) for v in values):
            return scalars.balanced(values, lambda a, b: self.binary(ast.Add(), a, b, node), 0)
        total: object = 0
        for k, value in enumerate(values):
            total = self.binary(ast.Add(), total, value, node) if k else value
        return total

    def b_number(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """int(), float() and bool() of a kernel value."""
        self.refuse("K211", "a kernel value has no Python number yet", node,
                    help="convert on the device: T.int32(x), T.float32(x), T.bool(x)")

    def b_pow(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """pow, round, divmod."""
        self.refuse("K206", "this builtin is not computed on kernel values", node)

    def b_any(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """any of a Python sequence of conditions."""
        return self._quantified("lor", False, args, node)

    def b_all(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """all of a Python sequence of conditions."""
        return self._quantified("land", True, args, node)

    def _quantified(self, name: str, start: bool, args: list[object], node: ast.AST) -> object:
        def joined(a: Expr | bool, b: Expr | bool) -> Expr | bool:
            if isinstance(a, bool) and isinstance(b, bool):
                return (a or b) if name == "lor" else (a and b)
            return typed.logical(name, a, b, self.span(node))

        total = scalars.balanced([self.truth(value, node) for value in self.iterated(args[0], node)], joined, start)
        return total if isinstance(total, bool) or total.dtype == BOOL else bool(total)


_Handler = Callable[[Calls, list[object], dict[str, object], ast.AST], object]
_BUILTINS: dict[object, _Handler] = {
    range: Calls.b_range, min: Calls.b_min, max: Calls.b_max, abs: Calls.b_abs, len: Calls.b_len, sum: Calls.b_sum,
    int: Calls.b_number, float: Calls.b_number, bool: Calls.b_number, pow: Calls.b_pow, round: Calls.b_pow,
    divmod: Calls.b_pow, any: Calls.b_any, all: Calls.b_all,
}


def _hashable(value: object) -> bool:
    return type(value).__hash__ is not None and not isinstance(value, (ElementRef, TensorView, functools.partial))


def _a(value: object) -> str:
    """What ``value`` is, in words."""
    if isinstance(value, Expr):
        return "a kernel value"
    if isinstance(value, TensorView):
        return f"the tensor `{value.ir.buffer.name}`"
    if isinstance(value, (SubAccess, Ptx)):
        return "`.sub`" if isinstance(value, SubAccess) else "`T.ptx`"
    return said(value)


def _name(function: object) -> str:
    known = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function)
    return str(known).rpartition("<locals>.")[2]


def _speaks_t(function: FunctionType) -> bool:
    """True when the function's own code mentions T: it belongs to a kernel even without kernel arguments."""
    spaces = {**function.__globals__, **outer_names(function)}
    return any(_is_t(spaces.get(n)) for n in function.__code__.co_names + function.__code__.co_freevars)


_SPOKEN = ("ptxspec.t", "ptxspec.lang.t", "ptxspec.lang.cuda", "ptxspec.compat.warp")


def _is_t(value: object) -> bool:
    return (isinstance(value, ModuleType) and value.__name__ in _SPOKEN) \
        or bool(getattr(value, "ptxspec_intrinsic", False)) or isinstance(value, TensorView)


def _misfit(function: Callable[..., object], args: list[object], kwargs: dict[str, object]) -> str:
    """Why the arguments do not suit the signature; empty where they do, so that a TypeError came from inside."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    except ValueError:   # a function of Python's own that has no signature
        pass
    return ""


def _usage(function: object, name: str) -> str:
    try:
        known = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return nearest(name, [])
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in known]
    return f"its signature is {name}({', '.join(map(str, bare))})"


def _signature(function: LocalFunction) -> inspect.Signature:
    args = function.node.args
    parameters: list[inspect.Parameter] = []
    positional = [*args.posonlyargs, *args.args]
    first_default = len(positional) - len(function.defaults)
    for k, arg in enumerate(positional):
        kind = inspect.Parameter.POSITIONAL_ONLY if k < len(args.posonlyargs) \
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = function.defaults[k - first_default] if k >= first_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(arg.arg, kind, default=default))
    if args.vararg is not None:
        parameters.append(inspect.Parameter(args.vararg.arg, inspect.Parameter.VAR_POSITIONAL))
    known = dict(function.kw_defaults)
    for arg in args.kwonlyargs:
        parameters.append(inspect.Parameter(arg.arg, inspect.Parameter.KEYWORD_ONLY,
                                            default=known.get(arg.arg, inspect.Parameter.empty)))
    if args.kwarg is not None:
        parameters.append(inspect.Parameter(args.kwarg.arg, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(parameters)


def _called_from(error: PtxspecError, frame: Frame) -> PtxspecError:
    note = Note("note", f"while reading `{frame.name}`, called from here", frame.caller)
    return type(error)(*(Diagnostic(d.code, d.message, d.span, d.severity, (*d.notes, note))
                         for d in error.diagnostics))
