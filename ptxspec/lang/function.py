"""``@T.function``: a kernel, read on first use."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FunctionType
from typing import NoReturn

from ptxspec.diagnostics import Diagnostic, KernelError, Note, PtxspecError, Span
from ptxspec.lang import ir, target
from ptxspec.lang.declare import Tensor, dims_of, make_buffer
from ptxspec.lang.deep import with_room
from ptxspec.lang.errors import placed, raised_at, refuse, said
from ptxspec.lang.reader.calls import Returned
from ptxspec.lang.reader.frame import Frame, outer_names
from ptxspec.lang.reader.source import Source, source_of
from ptxspec.lang.reader.statements import Statements
from ptxspec.lang.tensor import whole
from ptxspec.lang.trace import Tracer, tracing
from ptxspec.lang.types import DType
from ptxspec.scalar.expr import BOOL, Expr, Var, int_range, is_float, is_integer, walk


class KernelFunction:
    """A kernel as its author wrote it. :meth:`kernel` reads it (once) and gives the typed form."""

    ptxspec_kernel = True

    def __init__(self, function: FunctionType, around: Mapping[str, object]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._around = around
        self._kernels: dict[str, ir.Kernel] = {}

    @property
    def file(self) -> str:
        """The file the kernel is written in."""
        return self.function.__code__.co_filename

    @property
    def line(self) -> int:
        """The line the kernel starts on."""
        return self.function.__code__.co_firstlineno

    def kernel(self) -> ir.Kernel:
        """The typed kernel; KernelError with the user's line when it cannot be read.

        Where the choice of an instruction depends on the target, there is one for each; see :mod:`.target`.
        """
        found = self._kernels.get("") or self._kernels.get(target.aimed())
        if found is None:
            with target.noticing() as asked:
                found = with_room(self.read, Span(self.file, self.line))
            self._kernels[target.aimed() if asked else ""] = found
        return found

    def kernel_for(self, sm: str) -> ir.Kernel:
        """The typed kernel as it is for ``sm``."""
        with target.aiming(sm):
            return self.kernel()

    def read(self) -> ir.Kernel:
        """Read the kernel for the target that is aimed at."""
        return _read(self.function, self._around)

    def adjoint(self, *, atomics: bool = True) -> KernelFunction:
        """The kernel that carries gradients backwards: see :func:`ptxspec.tiles.adjoint.adjoint`.

        ``atomics=False`` adds to gradients without atomics where the proof shows that no two threads meet.
        """
        from importlib import import_module
        made = import_module("ptxspec.tiles.adjoint").adjoint(self, atomics=atomics)  # by name: tiles stand above
        assert isinstance(made, KernelFunction)
        return made

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        refuse("K219", f"`{self.__name__}` is a kernel: it is compiled, not called", Span(self.file, self.line),
               help=f"exe = ptxspec.compile({self.__name__}); exe(...)")

    def _repr_html_(self) -> str:
        # By name, and only in notebooks: reports stand above this floor.
        from importlib import import_module
        return str(import_module("ptxspec.report.notebook").kernel(self))

    def __repr__(self) -> str:
        return f"<kernel {self.__name__} at {self.file}:{self.line}>"


def function(definition: Callable[..., object]) -> KernelFunction:
    """Decorator: make a kernel of a function. Parameters are annotated with T.Tensor(...) or a scalar type."""
    if isinstance(definition, KernelFunction):
        return definition
    caller = sys._getframe(1)
    if not isinstance(definition, FunctionType):
        what = f"the class `{definition.__name__}`" if isinstance(definition, type) else said(definition)
        refuse("K200", f"@T.function decorates a function written with `def`, not {what}",
               Span(caller.f_code.co_filename, caller.f_lineno),
               help="decorate each kernel of the class" if isinstance(definition, type) else "")
    around = {} if caller.f_locals is caller.f_globals else dict(caller.f_locals)
    return KernelFunction(definition, around)


def kernel_of(source: object) -> ir.Kernel:
    """The typed kernel of a kernel function, or the kernel itself; KernelError K200 for anything else."""
    if isinstance(source, ir.Kernel):
        return source
    read = getattr(source, "kernel", None)
    found = read() if callable(read) and not isinstance(source, type) else None
    if not isinstance(found, ir.Kernel):
        refuse("K200", f"a kernel is wanted here, not {said(source)}", help="decorate the function with @T.function")
    return found


class Reader(Statements):
    """Reads one kernel."""

    def __init__(self, definition: FunctionType, around: Mapping[str, object]) -> None:
        super().__init__()
        self.definition = definition
        self.around = around
        self.narrow: Mapping[tuple[tuple[int, ...], int], int] = {}

    def read(self) -> ir.Kernel:
        """The typed kernel."""
        source = source_of(self.definition)
        frame = Frame(source, outer_names(self.definition), self.definition.__globals__, self.definition.__name__, None,
                      is_kernel=True)
        self.frames.append(frame)
        span = Span(source.file, source.node.lineno, source.node.col_offset + 1)
        self.tracer = Tracer(self.definition.__name__, source.file, span, self.place, self.excerpt)
        self.tracer.narrow = self.narrow
        with tracing(self.tracer):
            self._parameters(source, frame)
            with suppress(Returned):
                self.exec_body(source.node.body)
            kernel = self.tracer.finish()
        self._check_dims(kernel)
        return kernel

    def _parameters(self, source: Source, frame: Frame) -> None:
        args = source.node.args
        for odd, what in ((args.vararg, "`*args`"), (args.kwarg, "`**kwargs`")):
            if odd is not None:
                self.refuse("K213", f"a kernel takes no {what}: its parameters are fixed", odd)
        for default in [*args.defaults, *args.kw_defaults]:
            if default is not None:
                self.refuse("K213", "a kernel parameter has no default: every launch gives all arguments", default)
        buffers: list[ir.Buffer] = []
        for arg in [*args.posonlyargs, *args.args, *args.kwonlyargs]:
            self.node = arg
            span = self.span(arg)
            kind = self._annotation(arg, span)
            if isinstance(kind, Tensor):
                try:
                    buffer = make_buffer(self.tracer.fresh(arg.arg), kind, span, is_param=True)
                except PtxspecError as error:
                    raise placed(error, span) from error
                buffers.append(self.tracer.add_buffer(buffer))
                self.tracer.params.append(buffer)
                frame.bind(arg.arg, whole(buffer, span), span)
            else:
                low, high = int_range(kind) if is_integer(kind) or kind == BOOL else (None, None)
                var = Var(self.tracer.fresh(arg.arg), kind, "param", low, high, span)
                self.tracer.params.append(var)
                frame.bind(arg.arg, var, span)
        self.tracer.dims = dims_of(buffers)

    def _annotation(self, arg: ast.arg, span: Span) -> Tensor | str:
        """The tensor type or the scalar type's name (K212)."""
        if arg.annotation is None:
            refuse("K212", f"parameter `{arg.arg}` has no type", span,
                   help=f"write {arg.arg}: T.Tensor(shape, dtype) or {arg.arg}: T.int32")
        try:
            kind = self.definition.__annotations__[arg.arg]
            for _ in range(2):   # a quoted annotation under postponed evaluation is text twice over
                if isinstance(kind, str):
                    names = {**self.definition.__globals__, **self.around, **outer_names(self.definition)}
                    kind = eval(compile(kind.strip(), self.frame.source.file, "eval"), names)
        except PtxspecError as error:
            raise placed(error, self.span(arg.annotation)) from error
        except Exception as error:
            said = str(error).replace("module 'ptxspec.lang.t'", "T").replace("module 'ptxspec.t'", "T")
            self.refuse("K212", f"the type of `{arg.arg}` cannot be computed: {type(error).__name__}: {said}",
                        arg.annotation, help="name types and dimensions that exist where the kernel is defined")
        if isinstance(kind, Tensor):
            return kind
        if isinstance(kind, DType) and (is_integer(kind.name) or is_float(kind.name) or kind.name == BOOL):
            return kind.name
        source_text = self.frame.source.text(arg.annotation)
        for plain, ours in ((int, "int32"), (float, "float32"), (bool, "bool")):
            if kind is plain:
                self.refuse("K212", f"`{arg.arg}` is annotated with Python's {plain.__name__}, which has no width",
                            arg.annotation, help=f"write {arg.arg}: T.{ours}")
        self.refuse("K212", f"`{arg.arg}` is annotated with `{source_text}`, which is no kernel type", arg.annotation,
                    help="write T.Tensor(shape, dtype) for an array, T.int32, T.float32, ... for a number")

    def _check_dims(self, kernel: ir.Kernel) -> None:
        """Every dimension in use must be found from an array's shape (K223)."""
        bindable = {m[0][0] for b in ir.buffers_of(kernel.params) for e in b.shape for m in e.terms
                    if len(e.terms) == 1 and len(m[0]) == 1}
        for var in kernel.dims:
            if var not in bindable:
                refuse("K223", f"dimension {var.name} cannot be found from the arrays: no extent is {var.name} or "
                               f"a multiple "
                               "of it", kernel.span, help=f"give one parameter an axis of extent {var.name}")
        seen: set[Expr] = set()
        for expr, span in _expressions(kernel):
            if expr in seen:
                continue
            seen.add(expr)
            for node in walk(expr):
                if isinstance(node, Var) and node.role == "dim" and node not in kernel.dims:
                    refuse("K223", f"dimension {node.name} occurs in no parameter's shape, so a launch cannot know it",
                           span, help=f"use {node.name} in a T.Tensor shape, or pass a scalar parameter")


def _expressions(kernel: ir.Kernel) -> list[tuple[Expr, Span]]:
    """Expressions of the kernel with their places: enough to find every dimension in use."""
    result: list[tuple[Expr, Span]] = [(e, kernel.launch.span or kernel.span) for e in kernel.launch.grid]
    for buffer in kernel.buffers:
        result += [(e, buffer.span) for e in buffer.layout.memory_range()]

    def view(v: ir.View) -> None:
        for step in v.steps:
            if isinstance(step, ir.Sub):
                result.extend((e, step.span) for a in step.axes for e in (a.start, a.extent))
            elif isinstance(step, (ir.Reshape, ir.Relayout)):
                result.extend((e, step.span) for e in step.shape)

    def visit(body: tuple[ir.Statement, ...]) -> None:
        for s in body:
            if isinstance(s, ir.If):
                result.append((s.condition, s.span))
                visit(s.then)
                visit(s.orelse)
            elif isinstance(s, ir.For):
                result.extend((e, s.span) for e in (s.start, s.stop, s.step))
                visit(s.body)
            elif isinstance(s, ir.Assume):
                result.append((s.condition, s.span))
            elif isinstance(s, (ir.Load, ir.Store)):
                view(s.view)
                result.extend((e, s.span) for e in s.index)
                if isinstance(s, ir.Store):
                    result.append((s.value, s.span))
            elif isinstance(s, ir.Apply):
                for operand in (*s.operands, s.pred, s.cache_policy):
                    if isinstance(operand, ir.View):
                        view(operand)
                    elif operand is not None:
                        result.append((operand, s.span))

    visit(kernel.body)
    return result


def read_twice(first: Reader, again: Callable[[], Reader]) -> ir.Kernel:
    """The kernel that ``first`` reads; read ``again`` where what it does later asks for another start."""
    kernel = first.read()
    if not first.tracer.wished:
        return kernel
    second = again()
    second.narrow = first.tracer.wished
    with suppress(PtxspecError):    # then the first is as good
        kernel = second.read()
    return kernel


def _read(definition: FunctionType, around: Mapping[str, object]) -> ir.Kernel:
    reader = Reader(definition, around)
    try:
        return read_twice(reader, lambda: Reader(definition, around))
    except PtxspecError:
        raise
    except RecursionError:
        raise       # read again with more room, or refused there
    except Exception as error:
        at = raised_at(error)
        if at is not None:   # a method of the user's own object, called for us
            raise KernelError(Diagnostic("K208", f"an object of the kernel's raised {type(error).__name__}: {error}",
                                         _safe_place(reader), notes=(Note("note", "raised here", at),))) from error
        raise KernelError(Diagnostic("K290", f"this could not be read ({type(error).__name__}: {error}); that is a "
                                             f"defect of "
                                             "ptxspec, not of the kernel", _safe_place(reader))) from error


def _safe_place(reader: Reader) -> Span:
    code = reader.definition.__code__
    return reader.place() if reader.frames else Span(code.co_filename, code.co_firstlineno)


__all__ = ["KernelFunction", "function", "kernel_of", "read_twice"]
