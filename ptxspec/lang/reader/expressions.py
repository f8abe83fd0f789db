"""Expressions: kernel values compute on the device, everything else is plain Python while the kernel is read."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ptxspec.diagnostics import PtxspecError, Span
from ptxspec.lang import ir
from ptxspec.lang.errors import nearest, own_name, placed
from ptxspec.lang.reader.base import ReaderBase, involves_kernel, not_called
from ptxspec.lang.tensor import ElementRef, Pointer, SubAccess, TensorView
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Expr, Poly, Var

Plain = Callable[[Any, Any], object]   # Python's own operators: they take anything and raise TypeError

_BINARY: dict[type[ast.operator], tuple[str, Plain]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv), ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("floormod", operator.mod), ast.LShift: ("shl", operator.lshift), ast.RShift: ("shr", operator.rshift),
    ast.BitAnd: ("and", operator.and_), ast.BitOr: ("or", operator.or_), ast.BitXor: ("xor", operator.xor),
    ast.Pow: ("", operator.pow), ast.MatMult: ("", operator.matmul),
}
_COMPARE: dict[type[ast.cmpop], tuple[str, Plain]] = {
    ast.Eq: ("eq", operator.eq), ast.NotEq: ("ne", operator.ne), ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le), ast.Gt: ("gt", operator.gt), ast.GtE: ("ge", operator.ge), ast.Is: ("", operator.is_),
    ast.IsNot: ("", operator.is_not), ast.In: ("", lambda a, b: operator.contains(b, a)),
    ast.NotIn: ("", lambda a, b: not operator.contains(b, a)),
}
_REFUSED = {
    ast.Lambda: ("a lambda", "write it as a function with `def`"),
    ast.Await: ("`await`", "kernels do not wait for tasks"),
    ast.Yield: ("`yield`", "write a loop"), ast.YieldFrom: ("`yield from`", "write a loop"),
}


#: The attributes kernels may use of our own types.
_USABLE: dict[type, list[str]] = {
    kind: [n for n in dir(kind) if not n.startswith("_") and n not in ("ir", "ptxspec_intrinsic")]
    for kind in (TensorView, Pointer, SubAccess)
}


class Expressions(ReaderBase):
    """Evaluation of expression nodes."""

    def eval(self, node: ast.expr) -> object:
        value = self.eval_lazy(node)
        if isinstance(value, (int, str, TensorView, Var)):
            return value
        return self.settled(value, node)

    def eval_lazy(self, node: ast.expr) -> object:
        method = getattr(self, "e_" + type(node).__name__.lower(), None)
        if method is None:
            what, remedy = _REFUSED.get(type(node), (f"`{type(node).__name__}`", ""))
            self.refuse("K203", f"{what} is not read inside kernels", node, help=remedy)
        return method(node)

    def python(self, call: Callable[[], object], node: ast.AST, what: str) -> object:
        """The result of plain Python; its exceptions become K208 at the user's line."""
        self.node = node
        try:
            return call()
        except PtxspecError as error:
            raise placed(error, self.span(node)) from error
        except RecursionError:
            self.refuse("K209", f"{what} recurses without end", node)
        except Exception as error:
            self.raised(error, node, what)

    # --- leaves and containers

    def e_constant(self, node: ast.Constant) -> object:
        return node.value

    def e_name(self, node: ast.Name) -> object:
        return self.frame.lookup(node.id, node)

    def e_tuple(self, node: ast.Tuple) -> object:
        return tuple(self.items(node.elts))

    def e_list(self, node: ast.List) -> object:
        return self.items(node.elts)

    def e_set(self, node: ast.Set) -> object:
        return self.python(lambda: set(self.items(node.elts)), node, "this set")

    def e_dict(self, node: ast.Dict) -> object:
        result: dict[object, object] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                result.update(self.mapping(self.eval(value), value))
            else:
                result[self.eval(key)] = self.eval(value)
        return result

    def mapping(self, value: object, node: ast.AST) -> dict[object, object]:
        """The mapping behind ``**``."""
        if not isinstance(value, dict):
            self.refuse("K216", f"`**` spreads a dictionary, not {type(value).__name__}", node)
        return value

    def items(self, nodes: list[ast.expr]) -> list[object]:
        """Values of a display, stars spread."""
        result: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                many = self.eval(node.value)
                result.extend(self.iterated(many, node))
            else:
                result.append(self.eval(node))
        return result

    def e_joinedstr(self, node: ast.JoinedStr) -> object:
        parts: list[str] = []
        for part in node.values:
            value = self.eval(part.value) if isinstance(part, ast.FormattedValue) else self.eval(part)
            spec = ""
            if isinstance(part, ast.FormattedValue) and part.format_spec is not None:
                spec = str(self.eval(part.format_spec))
            parts.append(self._formatted(value, spec, node))
        return "".join(parts)

    def _formatted(self, value: object, spec: str, node: ast.AST) -> str:
        return str(self.python(lambda: format(value, spec) if spec else str(value), node, "this f-string"))

    def e_namedexpr(self, node: ast.NamedExpr) -> object:
        value = self.eval(node.value)
        self.frame.bind(node.target.id, value, self.span(node.target))
        return value

    # --- operators

    def e_binop(self, node: ast.BinOp) -> object:
        return self.binary(node.op, self.eval(node.left), self.eval(node.right), node)

    def binary(self, op: ast.operator, left: object, right: object, node: ast.AST) -> object:
        """``left op right``."""
        name, plain = _BINARY[type(op)]
        for side, other, reflected in ((left, right, False), (right, left, True)):
            work = getattr(side, "ptxspec_binary", None)   # a tile: element by element
            if work is not None and name:
                return self.python(partial(work, name, other, reflected), node, f"`{_symbol(op)}`")
        if isinstance(left, (Expr, TensorView)) or isinstance(right, (Expr, TensorView)):
            if not name:
                self.refuse("K222", f"`{_symbol(op)}` is not computed on kernel values", node,
                            help="multiply" if isinstance(op, ast.Pow) else "loop over the elements")
            symbol = f"`{_symbol(op)}`"
            a, b = self.scalar(left, node, symbol), self.scalar(right, node, symbol)
            return self.shallow(self.python(lambda: typed.binary(name, a, b, self.span(node)), node, symbol), node)
        for side in (left, right):
            if not_called(side):
                self.scalar(side, node, f"`{_symbol(op)}`")
        return self.python(lambda: plain(left, right), node, f"`{_symbol(op)}`")

    def e_unaryop(self, node: ast.UnaryOp) -> object:
        value = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            condition = self.truth(value, node)
            return typed.negate(condition, self.span(node)) if isinstance(condition, Expr) else not condition
        work = getattr(value, "ptxspec_unary", None)
        if work is not None and not isinstance(node.op, ast.UAdd):
            return self.python(partial(work, "neg" if isinstance(node.op, ast.USub) else "not"), node, "this operator")
        if isinstance(value, (Expr, TensorView)):
            item = self.scalar(value, node, "this operator")
            if isinstance(node.op, ast.UAdd):
                return item
            name = "neg" if isinstance(node.op, ast.USub) else "not"
            return self.shallow(self.python(lambda: typed.unary(name, item, self.span(node)), node, "this operator"),
                                node)
        unary: dict[type[ast.unaryop], Callable[[Any], object]] = {ast.USub: operator.neg, ast.UAdd: operator.pos,
                                                                   ast.Invert: operator.invert}
        plain = unary[type(node.op)]
        return self.python(lambda: plain(value), node, "this operator")

    def e_compare(self, node: ast.Compare) -> object:
        left = self.eval(node.left)
        result: Expr | bool | None = None
        value: object = True
        for op, right_node in zip(node.ops, node.comparators):
            right = self.eval(right_node)
            value = self._compare(op, left, right, node)
            if len(node.ops) == 1:
                return value
            both = self.truth(value, node)
            if result is None or (isinstance(result, bool) and isinstance(both, bool)):
                result = both if result is None else (result and both)
            else:
                result = typed.logical("land", result, both, self.span(node))
            if result is False:
                return False
            left = right
        return result

    def _compare(self, op: ast.cmpop, left: object, right: object, node: ast.AST) -> object:
        name, plain = _COMPARE[type(op)]
        if name and any(isinstance(side, (Expr, TensorView)) or not_called(side) for side in (left, right)):
            a, b = self.scalar(left, node, "a comparison"), self.scalar(right, node, "a comparison")
            return self.python(lambda: typed.compare(name, a, b, self.span(node)), node, "this comparison")
        if isinstance(op, (ast.In, ast.NotIn)) and (isinstance(left, Expr) or involves_kernel(right)):
            self.refuse("K211", "`in` needs values that are known while the kernel is read", node,
                        help="compare with each value: `x == 1 or x == 2`")
        return self.python(lambda: plain(left, right), node, "this comparison")

    # --- choices

    def e_boolop(self, node: ast.BoolOp) -> object:
        stop_at = isinstance(node.op, ast.Or)
        value = self.eval(node.values[0])
        for following in node.values[1:]:
            if not isinstance(value, Expr):
                if self.truth(value, node) == stop_at:
                    return value
                value = self.eval(following)
                continue
            condition = typed.truth(value, self.span(node))
            known = typed.literal(stop_at, BOOL, self.span(node))

            def rest(n: ast.expr = following) -> object:
                return self.truth(self.eval(n), n)

            def short(k: Expr = known) -> object:
                return k

            first, second = (short, rest) if stop_at else (rest, short)
            value = self.choose(condition, first, second, node)
        return value

    def e_ifexp(self, node: ast.IfExp) -> object:
        condition = self.truth(self.eval(node.test), node.test)
        if isinstance(condition, bool):
            return self.eval(node.body if condition else node.orelse)
        return self.choose(condition, lambda: self.eval(node.body), lambda: self.eval(node.orelse), node)

    def choose(self, condition: Expr, first: Callable[[], object], second: Callable[[], object],
               node: ast.AST) -> object:
        """A value by condition. A side that reads memory runs only where it is chosen: a branch and a register."""
        span = self.span(node)
        with self.tracer.block([condition]) as then:
            a = self.scalar(first(), node, "a conditional expression")
        with self.tracer.block([condition]) as other:
            b = self.scalar(second(), node, "a conditional expression")
        if not then and not other:
            if _is_bool(a) and _is_bool(b):
                return _choose_bool(condition, a, b, span)
            return self.python(lambda: typed.select(condition, a, b, span), node, "a conditional expression")
        if not isinstance(a, Expr) and not isinstance(b, Expr):
            a = typed.literal(a, typed.default_dtype(a if not isinstance(b, float) else b), span)
        x, y, dtype = typed.promote(a, b, span)
        held = "int32" if dtype == BOOL else dtype
        cell = self.hidden_cell(held, node)
        at = (ix.ZERO,)
        then.append(ir.Store(cell.ir, at, typed.cast(x, held, span), span))
        other.append(ir.Store(cell.ir, at, typed.cast(y, held, span), span))
        self.tracer.emit(ir.If(condition, tuple(then), tuple(other), span))
        result = self.load(ElementRef(cell.ir, at, span), node)
        return typed.compare("ne", result, 0, span) if dtype == BOOL else result

    # --- access

    def e_attribute(self, node: ast.Attribute) -> object:
        value = self.eval(node.value)
        name = node.attr
        if isinstance(value, Expr):
            if name == "dtype":
                return value.dtype
            self.refuse("K214", f"a kernel value has no attribute `{name}`", node,
                        help="cast with T.float32(x); use T.min, T.max, T.abs, T.Select")
        if isinstance(value, (TensorView, Pointer, SubAccess)):
            usable = [*_USABLE[next(kind for kind in _USABLE if isinstance(value, kind))],
                      *getattr(value, "ptxspec_more", ())]
            if name not in usable:
                self.refuse("K214", f"a tensor has no attribute `{name}`", node, help=nearest(name, usable))
        self.node = node
        try:
            return getattr(value, name)
        except AttributeError:
            known = [n for n in dir(value) if not n.startswith("_")]
            owner = own_name(getattr(value, "__name__", type(value).__name__))
            self.refuse("K214", f"`{owner}` has no attribute `{name}`", node, help=nearest(name, known))
        except PtxspecError as error:
            raise placed(error, self.span(node)) from error
        except Exception as error:
            self.raised(error, node, f"reading `{name}`")

    def e_slice(self, node: ast.Slice) -> object:
        lower, upper, step = (None if n is None else self.eval(n) for n in (node.lower, node.upper, node.step))
        return slice(lower, upper, step)

    def e_subscript(self, node: ast.Subscript) -> object:
        value = self.eval(node.value)
        key = self.subscript(node)
        if isinstance(value, Expr):
            self.refuse("K222", "a kernel value cannot be subscripted", node)
        plain = not isinstance(value, (TensorView, SubAccess)) and not type(value).__module__.startswith("ptxspec.")
        if plain and involves_kernel(key):
            self.refuse("K211", f"a Python {type(value).__name__} is indexed with a kernel value, which is not "
                                f"known yet",
                        node,
                        help="put the values into a T.alloc_local tensor, or loop over the Python sequence itself")
        return self.python(lambda: value[key], node, "this subscript")  # type: ignore[index]

    def subscript(self, node: ast.Subscript) -> object:
        """The key of a subscript."""
        if isinstance(node.slice, ast.Tuple):
            return tuple(self.items(node.slice.elts))
        return self.eval(node.slice)

    # --- comprehensions

    def e_listcomp(self, node: ast.ListComp) -> object:
        return [self.eval(node.elt) for _ in self._generate(node.generators, node)]

    def e_setcomp(self, node: ast.SetComp) -> object:
        return {self.eval(node.elt) for _ in self._generate(node.generators, node)}

    def e_generatorexp(self, node: ast.GeneratorExp) -> object:
        return [self.eval(node.elt) for _ in self._generate(node.generators, node)]

    def e_dictcomp(self, node: ast.DictComp) -> object:
        return {self.eval(node.key): self.eval(node.value) for _ in self._generate(node.generators, node)}

    def _generate(self, generators: list[ast.comprehension], node: ast.AST) -> Iterator[None]:
        if not generators:
            yield
            return
        first, *rest = generators
        for item in self.iterated(self.eval(first.iter), first.iter):
            with self.frame.block(open=True):
                self.assign(first.target, item)
                if all(self._known_truth(test) for test in first.ifs):
                    yield from self._generate(rest, node)

    def _known_truth(self, node: ast.expr) -> bool:
        condition = self.truth(self.eval(node), node)
        if isinstance(condition, bool):
            return condition
        self.refuse("K211", "a comprehension filters by a value that is not known while the kernel is read", node)

    def iterated(self, value: object, node: ast.AST) -> list[object]:
        """The items of a Python iterable (K216)."""
        if isinstance(value, Expr):
            self.refuse("K216", "a kernel value cannot be iterated over", node,
                        help="loop with `for i in range(n):`")
        self.node = node
        try:
            iterator = iter(value)  # type: ignore[call-overload]
        except TypeError:
            self.refuse("K216", f"{type(value).__name__} cannot be iterated over", node)
        items = self.python(lambda: [self.settled(i, node) for i in iterator], node, "this iteration")
        assert isinstance(items, list)
        return items

    def assign(self, target: ast.expr, value: object) -> None:
        """Bind ``value`` to a target."""
        raise NotImplementedError


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, Expr) and value.dtype == BOOL)


def _choose_bool(condition: Expr, a: object, b: object, span: Span) -> Expr:
    x = a if isinstance(a, Expr) else typed.literal(bool(a), BOOL, span)
    y = b if isinstance(b, Expr) else typed.literal(bool(b), BOOL, span)
    yes = typed.logical("land", condition, x, span)
    if not isinstance(b, Poly) and y == typed.literal(False, BOOL):
        return yes
    if x == typed.literal(True, BOOL):
        return typed.logical("lor", condition, y, span)
    return typed.logical("lor", yes, typed.logical("land", typed.negate(condition, span), y, span), span)


def _symbol(op: ast.operator) -> str:
    return {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<",
            ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Pow: "**",
            ast.MatMult: "@"}[type(op)]
