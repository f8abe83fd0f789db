"""Statements: what becomes code on the device, and what only steers the reading."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from ptxspec.lang import ir
from ptxspec.lang.copies import each_copy
from ptxspec.lang.loops import LoopGrid, LoopRange, loop_var, make_range, reversed_range
from ptxspec.lang.reader.calls import Calls, LocalFunction, Returned
from ptxspec.lang.tensor import ElementRef, TensorView
from ptxspec.lang.types import DType
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const, Expr

_REFUSED: dict[str, tuple[str, str]] = {
    "While": ("`while`", "use `for i in range(n):` with a runtime bound; the trip count must be known before the loop"),
    "Try": ("`try`", "kernels raise no exceptions"), "TryStar": ("`try`", "kernels raise no exceptions"),
    "With": ("`with`", "kernels manage no contexts"), "AsyncWith": ("`async with`", ""), "AsyncFor": ("`async for`",
                                                                                                      ""),
    "AsyncFunctionDef": ("`async def`", ""), "ClassDef": ("`class`", "define it outside the kernel"),
    "Delete": ("`del`", "names need no deletion"), "Global": ("`global`", "pass values as arguments"),
    "Nonlocal": ("`nonlocal`", "return the value instead"), "Import": ("`import`", "import at the top of the file"),
    "ImportFrom": ("`import`", "import at the top of the file"), "Match": ("`match`", "use `if` and `elif`"),
    "TypeAlias": ("`type`", "define it outside the kernel"),
}


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Statements(Calls):
    """Reading of statement nodes."""

    def exec_body(self, body: list[ast.stmt]) -> None:
        for k, node in enumerate(body):
            self.node = node
            if isinstance(node, ast.If) and self._leaves(node):
                if self._early_exit(node, body[k + 1:]):
                    return
                continue
            method = getattr(self, "s_" + type(node).__name__.lower(), None)
            if method is None:
                what, remedy = _REFUSED.get(type(node).__name__, (f"`{type(node).__name__}`", ""))
                self.refuse("K202", f"{what} is not read inside kernels", node, help=remedy)
            method(node)

    def s_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.eval_lazy(node.value)

    def s_pass(self, node: ast.Pass) -> None:
        pass

    # --- binding

    def s_assign(self, node: ast.Assign) -> None:
        value = self._named_value(node.value, node.targets[0])
        for target in node.targets:
            self.assign(target, value)

    def _named_value(self, node: ast.expr, target: ast.expr) -> object:
        self.tracer.name_hint = target.id if isinstance(target, ast.Name) else ""
        value = self.eval(node)
        self.tracer.name_hint = ""
        return value

    def s_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            self.refuse("K220", "a declaration without a value does nothing", node, help="give it a value")
        value = self._named_value(node.value, node.target)
        kind = self.eval(node.annotation)
        if isinstance(kind, DType):
            value = self.convert(value, kind.name, node, f"a name declared {kind!r}")
        self.assign(node.target, value)

    def assign(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            self.frame.bind(target.id, value, self.span(target))
            self.tracer.call(value, target.id)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Subscript):
            self._store(target, value)
        else:
            self.refuse("K220", "attributes cannot be assigned inside kernels", target)

    def _unpack(self, target: ast.Tuple | ast.List, value: object) -> None:
        items = self.iterated(value, target)
        stars = [k for k, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
        wanted = len(target.elts)
        if stars:
            k = stars[0]
            rest = len(items) - (wanted - 1)
            if rest < 0:
                self.refuse("K215", f"{len(items)} values for at least {wanted - 1} names", target)
            items = [*items[:k], items[k:k + rest], *items[k + rest:]]
        if len(items) != wanted:
            self.refuse("K215", f"{len(items)} values for {wanted} names", target)
        for name, item in zip(target.elts, items):
            self.assign(name.value if isinstance(name, ast.Starred) else name, item)

    def _store(self, target: ast.Subscript, value: object) -> None:
        base = self.eval(target.value)
        key = self.subscript(target)
        assign = getattr(base, "ptxspec_assign", None)      # a tile: what it takes to write one element of it
        if assign is not None:
            self.python(lambda: assign(key, partial(self._written, value=value, node=target)), target, "this subscript")
            return
        if isinstance(base, TensorView):
            self.write(self._element(base, key, target), value, target)
            return
        if not isinstance(base, (list, dict)):
            self.refuse("K220", f"{type(base).__name__} cannot be assigned to", target,
                        help="write one element of a tensor: t[i, j] = value")
        if self.on_device:
            self.refuse("K220", "a Python object is changed inside a kernel branch or loop, where it would happen "
                                "once, "
                                "while the kernel is read", target, help="keep the value in a T.alloc_local tensor")
        self.python(lambda: base.__setitem__(key, value), target, "this assignment")  # type: ignore[call-overload]

    def _element(self, base: TensorView, key: object, node: ast.Subscript) -> ElementRef:
        return self._one(self.python(lambda: base[key], node, "this subscript"), node)

    def _written(self, element: object, value: object, node: ast.Subscript) -> None:
        self.write(self._one(element, node), value, node)

    def _one(self, element: object, node: ast.Subscript) -> ElementRef:
        if not isinstance(element, ElementRef):
            name = element.ir.buffer.name if isinstance(element, TensorView) else "the tile"
            self.refuse("K220", f"a region of `{name}` is assigned; one element can be", node,
                        help="loop over the elements, or move the region with T.cuda.tile.apply")
        return element

    def write(self, element: ElementRef, value: object, node: ast.AST) -> None:
        """Emit a store of ``value`` to every copy of the element."""
        span = self.span(node)
        stored = self.convert(value, element.view.dtype, node, f"`{element.view.buffer.name}`")
        for view in each_copy(element.view, span):
            self.tracer.emit(ir.Store(view, element.index, stored, span))

    def s_augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            old = self.settled(self.frame.lookup(node.target.id, node.target), node.target)
            self.frame.bind(node.target.id, self.binary(node.op, old, self.eval(node.value), node),
                            self.span(node.target))
            return
        if not isinstance(node.target, ast.Subscript):
            self.refuse("K220", "attributes cannot be assigned inside kernels", node.target)
        base = self.eval(node.target.value)
        if not isinstance(base, TensorView) or hasattr(base, "ptxspec_assign"):
            self._store(node.target, self.binary(node.op, self.eval(node.target), self.eval(node.value), node))
            return
        element = self._element(base, self.subscript(node.target), node.target)
        old = self.load(element, node.target)
        self.write(element, self.binary(node.op, old, self.eval(node.value), node), node)

    def s_functiondef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            self.refuse("K202", "a decorated function is not read inside kernels", node)
        defaults = tuple(self.eval(d) for d in node.args.defaults)
        named = tuple((a.arg, self.eval(d)) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)
                      if d is not None)
        self.frame.bind(node.name, LocalFunction(node, self.frame.source, self.frame, defaults, named), self.span(node))

    # --- checks and exits

    def s_assert(self, node: ast.Assert) -> None:
        condition = self.truth(self.eval(node.test), node.test)
        if isinstance(condition, Expr):
            self.refuse("K221", "`assert` on a kernel value: the device cannot raise", node,
                        help="state a fact for the proofs with T.assume(...), or branch on it")
        if not condition:
            text = f": {self.eval(node.msg)}" if node.msg is not None else ""
            self.refuse("K221", f"assertion failed while the kernel was read{text}", node)

    def s_raise(self, node: ast.Raise) -> None:
        text = self.frame.source.text(node.exc) if node.exc is not None else "an exception"
        self.refuse("K221", f"the kernel raises {text} while it is read", node)

    def s_return(self, node: ast.Return) -> None:
        if self.frame.depth:
            self.refuse("K205", "`return` inside a branch on a kernel value, or inside a device loop", node,
                        help="give the value with `a if c else b`, or put the rest under `else`; a bare `if c: "
                             "return` is "
                             "understood at the top level of a kernel")
        if self.frame.is_kernel and node.value is not None and not (isinstance(node.value, ast.Constant)
                                                                   and node.value.value is None):
            self.refuse("K205", "a kernel returns nothing", node, help="write results into a tensor argument")
        raise Returned(None if node.value is None else self.eval(node.value))

    def s_break(self, node: ast.Break) -> None:
        self._leave(node, "break")
        raise _Break

    def s_continue(self, node: ast.Continue) -> None:
        self._leave(node, "continue")
        raise _Continue

    def _leave(self, node: ast.AST, what: str) -> None:
        if not self.frame.loops or not self.frame.loops[-1]:
            self.refuse("K202", f"`{what}` is not read inside device loops and branches", node,
                        help="guard the rest of the body with `if`")

    # --- branches

    def _leaves(self, node: ast.If) -> bool:
        return (self.frame.is_kernel and not self.frame.depth and not node.orelse and not self.frame.loops
                and isinstance(node.body[-1], ast.Return) and node.body[-1].value is None)

    def _early_exit(self, node: ast.If, rest: list[ast.stmt]) -> bool:
        """``if c: ...; return`` at the top level: the rest of the kernel runs under the opposite."""
        condition = self.truth(self.eval(node.test), node.test)
        if isinstance(condition, bool):
            if condition:
                self.exec_body(node.body)
            return False
        span = self.span(node)
        with self.kernel_block((condition,)) as then:
            self.exec_body(node.body[:-1])
        with self.tracer.block((condition,)) as other, suppress(Returned):
            self.exec_body(rest)
        self.tracer.emit(ir.If(condition, tuple(then), tuple(other), span))
        return True

    @contextmanager
    def kernel_block(self, guards: tuple[Expr, ...], kind: str = "branch") -> Iterator[list[ir.Statement]]:
        """A block of device code: names bound inside stay there."""
        self.frame.loops.append(False)
        try:
            with self.frame.block(kernel=kind), self.tracer.block(guards) as body:
                yield body
        finally:
            self.frame.loops.pop()

    def s_if(self, node: ast.If) -> None:
        tests = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) \
            else [node.test]
        self._branch(tests, None, node)

    def _branch(self, tests: list[ast.expr], condition: Expr | None, node: ast.If) -> None:
        """``if a and b``: when reading b needs memory it is read under a."""
        for k, test in enumerate(tests):
            if condition is None:
                value = self.truth(self.eval(test), test)
                if value is False:
                    self.exec_body(node.orelse)
                    return
                condition = value if isinstance(value, Expr) else None
                continue
            with self.tracer.block((condition,)) as body:
                more = self.truth(self.eval(test), test)
                if body:
                    self._branch_on(more, tests[k + 1:], node)
            if body:
                other: list[ir.Statement] = []
                if node.orelse:
                    with self.kernel_block((condition,)) as other:
                        self.exec_body(node.orelse)
                self.tracer.emit(ir.If(condition, tuple(body), tuple(other), self.span(node)))
                return
            condition = typed.logical("land", condition, more, self.span(node))
        if condition is None:
            self.exec_body(node.body)
        else:
            self._emit_if(condition, node)

    def _branch_on(self, value: Expr | bool, tests: list[ast.expr], node: ast.If) -> None:
        if isinstance(value, Expr):
            self._branch(tests, value, node)
        elif value:
            self._branch(tests, None, node)
        else:
            self.exec_body(node.orelse)

    def _emit_if(self, condition: Expr, node: ast.If) -> None:
        if isinstance(condition, Const):
            with self.frame.block():
                self.exec_body(node.body if condition.value else node.orelse)
            return
        with self.kernel_block((condition,)) as then:
            self.exec_body(node.body)
        with self.kernel_block((condition,)) as other:
            self.exec_body(node.orelse)
        self.tracer.emit(ir.If(condition, tuple(then), tuple(other), self.span(node)))

    # --- loops

    def s_for(self, node: ast.For) -> None:
        if node.orelse:
            self.refuse("K202", "`else` after a loop is not read inside kernels", node.orelse[0])
        value = self.eval(node.iter)
        if isinstance(value, range):
            span = self.span(node.iter)
            value = make_range((value.start, value.stop, value.step), False, span)
        if isinstance(value, LoopRange):
            self._loop([value], node.target, node.target, node)
        elif isinstance(value, LoopGrid):
            self._grid(value, node)
        else:
            self._unrolled(self.iterated(value, node.iter), node)

    def _unrolled(self, items: list[object], node: ast.For) -> None:
        self.frame.loops.append(True)
        try:
            for item in items:
                self.assign(node.target, item)
                try:
                    self.exec_body(node.body)
                except _Continue:
                    continue
                except _Break:
                    break
        finally:
            self.frame.loops.pop()

    def _grid(self, grid: LoopGrid, node: ast.For) -> None:
        target = node.target
        if isinstance(target, ast.Name) and len(grid.ranges) == 1:
            self._loop(list(grid.ranges), target, target, node)
            return
        if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != len(grid.ranges):
            found = len(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else 1
            self.refuse("K215", f"T.grid has {len(grid.ranges)} extents for {found} names", node.target)
        self._loop(list(grid.ranges), ast.Tuple(target.elts), target, node)

    def _loop(self, ranges: list[LoopRange], target: ast.expr, place: ast.expr, node: ast.For) -> None:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(names) != len(ranges):
            self.refuse("K215", f"a loop has one index, not {len(names)}", place)
        loop, *inner = ranges
        name = names[0]
        if not isinstance(name, ast.Name):
            self.refuse("K220", "a loop index is a name", name)
        span = self.span(node)
        backwards = 0
        first = loop.start
        if isinstance(loop.step, Const) and int(loop.step.value) < 0:
            loop, backwards = reversed_range(loop, span)
        var = loop_var(name.id, loop, self.span(name))
        value: Expr = var
        if backwards:
            value = typed.binary("sub", first, typed.binary("mul", var, -backwards, span), span)
        bounds = tuple(e for e in (loop.start, loop.stop, loop.step) if not isinstance(e, Const))
        with self.kernel_block(bounds, "loop") as body:
            self.frame.bind(name.id, value, self.span(name))
            if inner:
                self._loop(inner, ast.Tuple(list(names[1:])), place, node)
            else:
                self.exec_body(node.body)
        self.tracer.emit(ir.For(var, loop.start, loop.stop, loop.step, tuple(body), loop.unroll, span))
