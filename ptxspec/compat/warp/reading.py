"""How kernels under Warp's names are read where that differs: elements that are vectors, rows, tiles changed in
place, functions applied to tiles."""

from __future__ import annotations

import ast
from functools import partial

from ptxspec.compat.warp import elements, mapping, structures
from ptxspec.compat.warp.builtins import ThreadIndex, tile_map
from ptxspec.compat.warp.moving import change, picks, tile_astype, tile_extract, tile_slice_indexed
from ptxspec.compat.warp.names import Variables
from ptxspec.compat.warp.state import inner, kind_of, marked
from ptxspec.compat.warp.types import Element
from ptxspec.compat.warp.values import Composite, Fields
from ptxspec.lang.errors import said
from ptxspec.lang.tensor import ElementRef, TensorView
from ptxspec.lang.types import TYPES
from ptxspec.scalar.expr import Expr
from ptxspec.tiles import RegisterTile
from ptxspec.tiles.inplace import tile_assign
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tape import TapedTile

_CASTS = {int: TYPES["int32"], float: TYPES["float32"], bool: TYPES["bool"]}
_UPDATES: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div",
                                           ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}


class ElementReader(Variables):
    """Elements, rows, in-place arithmetic, ``wp.tile_map``, ``wp.tid()``."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)
        self._unpacked: tuple[ast.expr | None, int] = (None, 1)

    # --- elements and rows

    def e_subscript(self, node: ast.Subscript) -> object:
        """``t[i]``: a number, a vector, or a row; ``t[i][k]``: component k of element i."""
        node = self._component(node)
        value = self.eval(node.value)
        if isinstance(value, (RegisterTile, TensorView)):
            key = self.subscript(node)
            return self.python(lambda: self._at(value, key, node), node, "this subscript")
        return super().e_subscript(_known(node, value))

    def _at(self, base: RegisterTile | TensorView, key: object, node: ast.AST) -> object:
        if picks(key) or (isinstance(key, tuple) and any(map(picks, key))):
            return tile_slice_indexed(base, key)
        items, outer = self._items(base, key)
        kind, rank = kind_of(base), len(base.shape)
        row = len(items) < outer or any(isinstance(i, slice) or i is Ellipsis for i in items)
        if not row and len(items) == rank:
            return base[items]
        if isinstance(base, RegisterTile):
            base = marked(base.seen_by_all(), kind)
        if isinstance(base, SharedTile):
            base.settled()
        part = base.sub[items]
        if row:
            return base.seen_as(part) if isinstance(base, SharedTile) else part
        assert kind is not None
        if len(items) > outer:
            kind = Element(kind.scalar, kind.trailing[len(items) - outer:])
        return elements.read(part, kind, partial(self._loaded, node=node))

    def _loaded(self, element: ElementRef, node: ast.AST) -> Expr:
        return self.load(element, node)

    def _items(self, base: RegisterTile | TensorView, key: object) -> tuple[tuple[object, ...], int]:
        """The subscript item by item, those that count from the end made to count from the beginning; and how many
        of them pick an element."""
        items = key if isinstance(key, tuple) else (key,)
        shape = base.shape
        if not any(i is Ellipsis for i in items) and len(items) <= len(shape):
            items = tuple(_forward(i, n) for i, n in zip(items, shape, strict=False))
        return items, len(shape) - len(inner(base))

    def _store(self, target: ast.Subscript, value: object) -> None:
        target = self._component(target)
        base = self.eval(target.value)
        if not isinstance(base, (RegisterTile, TensorView, TapedTile)):
            super()._store(_known(target, base), value)
            return
        key = self.subscript(target)
        if isinstance(base, TapedTile):
            super()._store(_known(target, base, key), value)
            return
        items, outer = self._items(base, key)
        row = len(items) < outer or any(isinstance(i, slice) or i is Ellipsis for i in items)
        if row and isinstance(base, (RegisterTile, SharedTile)):
            self.python(lambda: tile_assign(base, items, value), target, "this assignment")
        elif not row and outer <= len(items) < len(base.shape):
            kind = kind_of(base)
            assert kind is not None
            self.python(lambda: self._write_element(base, items, kind, outer, value, target), target, "this assignment")
        else:
            super()._store(_known(target, base, items if len(items) != 1 else items[0]), value)

    def _write_element(self, base: RegisterTile | TensorView, items: tuple[object, ...], kind: Element, outer: int,
                       value: object, node: ast.AST) -> None:
        if len(items) > outer:
            kind = Element(kind.scalar, kind.trailing[len(items) - outer:])

        def store(element: ElementRef, number: object) -> None:
            self.write(element, number, node)

        if isinstance(base, (RegisterTile, SharedTile)):
            first = (0,) * len(items)
            base.ptxspec_assign(items, lambda part: elements.write(_view(part).sub[first], kind, value, store))
        else:
            elements.write(base.sub[items], kind, value, store)

    def _component(self, node: ast.Subscript) -> ast.Subscript:
        under = node.value
        if not isinstance(under, ast.Subscript) or not isinstance(under.value, ast.Name) \
                or not isinstance(self.frame.lookup(under.value.id, under.value), (RegisterTile, TensorView)):
            return node
        items = [item for key in (under.slice, node.slice)
                 for item in (key.elts if isinstance(key, ast.Tuple) else [key])]
        if any(isinstance(item, ast.Slice) for item in items):
            return node
        key = ast.copy_location(ast.Tuple(items, ast.Load()), node)
        return ast.copy_location(ast.Subscript(under.value, key, node.ctx), node)

    # --- arithmetic

    def binary(self, op: ast.operator, left: object, right: object, node: ast.AST) -> object:
        """``left op right``; a tile and a vector meet element by element."""
        tiles = [s for s in (left, right) if isinstance(s, (RegisterTile, SharedTile, TapedTile))]
        if tiles and any(isinstance(s, (Composite, Fields)) for s in (left, right)):
            turned = isinstance(left, (Composite, Fields))      # the tile comes first

            def combined(values: list[object]) -> object:
                a, b = values[::-1] if turned else values
                return super(ElementReader, self).binary(op, a, b, node)

            return self.map(combined, [right, left] if turned else [left, right], node)
        if any(structures.untyped(t) is not None for t in tiles) and type(op) in _UPDATES:
            return self.python(lambda: structures.binary(_UPDATES[type(op)], left, right), node, "this operator")
        result = super().binary(op, left, right, node)
        return marked(result, next((k for k in map(kind_of, tiles) if k is not None), None)) if tiles else result

    def e_unaryop(self, node: ast.UnaryOp) -> object:
        """``-t``: the elements stay what they are."""
        value = self.eval(node.operand)
        if isinstance(node.op, ast.USub) and structures.untyped(value) is not None:
            return self.python(lambda: structures.negated(value), node, "this operator")
        known = ast.copy_location(ast.UnaryOp(node.op, _constant(value, node.operand)), node)
        return marked(super().e_unaryop(known), kind_of(value))

    def s_augassign(self, node: ast.AugAssign) -> None:
        """``t += u`` changes the tile; ``t[i] += v`` writes an element."""
        if isinstance(node.target, ast.Name):
            tile = self.frame.lookup(node.target.id, node.target)
            name = _UPDATES.get(type(node.op), "")
            if isinstance(tile, (RegisterTile, SharedTile, TapedTile)) and name:
                other = self.eval(node.value)
                self.node = node
                self.python(lambda: change(tile, name, other), node, f"`{ast.unparse(node.target)} ...= `")
                return
        elif isinstance(node.target, ast.Subscript):
            self._store(node.target, self.binary(node.op, self.eval(node.target), self.eval(node.value), node))
            return
        super().s_augassign(node)

    # --- calls

    def s_assign(self, node: ast.Assign) -> None:
        """Names on the left say how many indices ``wp.tid()`` gives."""
        target = node.targets[0]
        self._unpacked = node.value, len(target.elts) if isinstance(target, (ast.Tuple, ast.List)) else 1
        super().s_assign(node)

    def e_call(self, node: ast.Call) -> object:
        """A call; ``wp.tid()`` becomes its indices."""
        value = super().e_call(node)
        if isinstance(value, ThreadIndex):
            count = self._unpacked[1] if node is self._unpacked[0] else 1
            self.node = node
            indices = value.take(count)
            return indices if count > 1 else indices[0]
        return value

    def call(self, function: object, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """Casts such as ``float(i)`` are 32 bits wide; ``wp.tile_map`` reads the function that it applies."""
        if function in (int, float, bool) and len(args) == 1 and not kwargs:
            value = self.settled(args[0], node)
            if isinstance(value, Expr):
                assert isinstance(function, type)
                return _CASTS[function](value)
            args = [value]
        if function is tile_map:
            return self._mapped(args, kwargs, node)
        if function is tile_extract and len(args) > 1 and not kwargs and \
                isinstance(args[0], (RegisterTile, TensorView)):
            base, at = args[0], tuple(args[1:])
            return self.settled(self.python(lambda: self._at(base, at, node), node, "`tile_extract(...)`"), node)
        owner = getattr(function, "__self__", None)
        if kind_of(owner) is not None and getattr(function, "__name__", "") == "astype":
            return super().call(tile_astype, [owner, *args], kwargs, node)
        return super().call(function, args, kwargs, node)

    def _mapped(self, args: list[object], kwargs: dict[str, object], node: ast.AST) -> object:
        """``wp.tile_map(op, a, ...)``: ``op`` is read here, as if it were called in a loop over the elements."""
        names = {"op": 0, "a": 1, "b": 2}
        given = dict(enumerate(args)) | {names[n]: v for n, v in kwargs.items() if n in names}
        if not given or len(given) != len(args) + len(kwargs) or sorted(given) != list(range(len(given))):
            self.refuse("K207", "`tile_map` is called wrongly", node, help="its signature is tile_map(op, a, ...)")
        op, *rest = [given[k] for k in sorted(given)]
        if not callable(op) or isinstance(op, (TensorView, RegisterTile)):
            self.refuse("K243", f"tile_map applies a function, not {said(op)}", node,
                        help="give a function decorated with @wp.func, or one of Warp's own such as wp.add")
        return self.map(lambda values: self.settled(self.call(op, values, {}, node), node), rest, node)

    def map(self, function: mapping.Function, arguments: list[object], node: ast.AST) -> object:
        """The tile of ``function(arguments)`` for each element."""
        def inside(values: list[object]) -> object:
            self.frame.loops.append(False)
            try:
                with self.frame.block(kernel="loop"):
                    return function(values)
            finally:
                self.frame.loops.pop()

        def write(element: ElementRef, number: object) -> None:
            self.write(element, number, node)

        self.node = node
        return self.python(lambda: mapping.tile_map(inside, arguments, partial(self._loaded, node=node), write), node,
                           "`tile_map(...)`")


def _forward(item: object, extent: object) -> object:
    """A number that counts from the end of an axis of known extent, counted from its beginning."""
    if not isinstance(extent, int):
        return item
    if isinstance(item, int) and not isinstance(item, bool) and item < 0:
        return item + extent
    if isinstance(item, slice) and all(i is None or isinstance(i, int) for i in (item.start, item.stop, item.step)) \
            and (item.step is None or item.step > 0):
        return slice(*item.indices(extent))
    return item


def _known(node: ast.Subscript, value: object, *key: object) -> ast.Subscript:
    """The same subscript of ``value``, which has been evaluated (and so has its key, where it is given)."""
    chosen = _constant(key[0], node.slice) if key else node.slice
    return ast.copy_location(ast.Subscript(_constant(value, node.value), chosen, node.ctx), node)


def _constant(value: object, node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Constant(value), node)  # type: ignore[arg-type]


def _view(part: object) -> TensorView:
    assert isinstance(part, TensorView)
    return part
