"""Values of expressions and places of view elements for one thread, worked out without any code of the prover."""

from __future__ import annotations

from collections.abc import Callable

from ptxspec.lang import ir
from ptxspec.layout import ComposeLayout, TileLayout
from ptxspec.scalar.expr import BITS, Const, Expr, Op, Poly, Var, int_range, is_integer

Env = dict[Var, int]


class Wraps(Exception):
    """A typed operation left its type."""


class Undefined(Exception):
    """Division by zero, or a value that nobody knows."""


def calculate(expr: Expr, env: Env, strict: bool, seen: dict[Expr, int] | None = None) -> int:
    """The machine value of an expression; with ``strict`` an integer operation that wraps raises."""
    seen = {} if seen is None else seen
    if expr in seen:
        return seen[expr]
    result = _calculate(expr, env, strict, seen)
    seen[expr] = result
    return result


def _calculate(expr: Expr, env: Env, strict: bool, seen: dict[Expr, int]) -> int:
    if isinstance(expr, Const):
        return int(expr.value)
    if isinstance(expr, Var):
        if expr not in env:
            raise Undefined(expr.name)
        return env[expr]
    if isinstance(expr, Poly):
        total = expr.const
        for monomial, coefficient in expr.terms:
            value = coefficient
            for part in monomial:
                value *= calculate(part, env, strict, seen)
            total += value
        return total
    assert isinstance(expr, Op)
    n, args = expr.name, expr.args
    if n == "select":
        chosen = args[1] if calculate(args[0], env, False) else args[2]
        return calculate(chosen, env, strict, seen)
    if n == "land":
        return int(all(calculate(a, env, False) for a in args))
    if n == "lor":
        return int(any(calculate(a, env, False) for a in args))
    inner = strict and expr.dtype != "bool"
    v = [calculate(a, env, inner, seen if inner == strict else None) for a in args]
    if n == "not" and not expr.dtype.startswith("int"):
        return (1 << BITS[expr.dtype]) - 1 - v[0]
    if n in ("floordiv", "floormod", "truncdiv", "truncmod") and v[1] == 0:
        raise Undefined("division by zero")
    if n in ("shl", "shr") and not 0 <= v[1] < BITS.get(expr.dtype, 64):
        raise Undefined("shift amount")
    value = OPERATIONS[n](v)
    value = int(value)
    if is_integer(expr.dtype):
        low, high = int_range(expr.dtype)
        if not low <= value <= high:
            if strict and n != "cast":
                raise Wraps(str(expr))
            value = (value - low) % (high - low + 1) + low
    return value


#: What operations mean, by name, on the list of their operands.
OPERATIONS: dict[str, Callable[[list[int]], int]] = {
    "add": lambda v: v[0] + v[1],
    "sub": lambda v: v[0] - v[1],
    "mul": lambda v: v[0] * v[1],
    "neg": lambda v: -v[0],
    "abs": lambda v: abs(v[0]),
    "min": min,
    "max": max,
    "floordiv": lambda v: v[0] // v[1],
    "floormod": lambda v: v[0] % v[1],
    "and": lambda v: v[0] & v[1],
    "or": lambda v: v[0] | v[1],
    "xor": lambda v: v[0] ^ v[1],
    "not": lambda v: ~v[0],
    "shl": lambda v: v[0] << v[1],
    "shr": lambda v: v[0] >> v[1],
    "eq": lambda v: v[0] == v[1],
    "ne": lambda v: v[0] != v[1],
    "lt": lambda v: v[0] < v[1],
    "le": lambda v: v[0] <= v[1],
    "gt": lambda v: v[0] > v[1],
    "ge": lambda v: v[0] >= v[1],
    "lnot": lambda v: not v[0],
    "cast": lambda v: v[0],
    "truncdiv": lambda v: abs(v[0]) // abs(v[1]) * (1 if (v[0] < 0) == (v[1] < 0) else -1),
    "truncmod": lambda v: abs(v[0]) % abs(v[1]) * (1 if v[0] >= 0 else -1),
}


def unravel(number: int, extents: list[int]) -> list[int]:
    """Row-major coordinates; the first takes what is left over."""
    result = []
    for extent in reversed(extents[1:]):
        result.append(number % extent)
        number //= extent
    return [number, *reversed(result)] if extents else []


def placed(layout: object, index: list[int], shape: list[int]) -> dict[str, int]:
    """Where a layout puts an index, axis by axis."""
    if isinstance(layout, ComposeLayout):
        at = placed(layout.tile_layout, index, shape)
        m = at["m"]
        mask = (1 << layout.swizzle_len) - 1
        per, atom = layout.per_element, layout.atom_len
        m ^= (m >> per + atom & mask) << per
        return {**at, "m": m}
    assert isinstance(layout, TileLayout)
    if 0 in shape:
        raise NotImplementedError("an array without elements")
    linear = 0
    for i, extent in zip(index, shape, strict=True):
        linear = linear * extent + i
    at = {"m": 0, **{axis: p.const for axis, p in layout.offset}}
    extents = [f.extent.const for f in layout.shard]
    for factor, position in zip(layout.shard, unravel(linear, extents), strict=True):
        at[factor.axis] = at.get(factor.axis, 0) + position * factor.stride.const
    return at


def lowest(layout: TileLayout) -> int:
    """The lowest memory element of a layout."""
    low = dict(layout.offset)["m"].const if "m" in dict(layout.offset) else 0
    return low + sum(min(0, (f.extent.const - 1) * f.stride.const) for f in layout.shard if f.axis == "m")


def highest(layout: TileLayout) -> int:
    """The highest memory element of a layout."""
    low = dict(layout.offset)["m"].const if "m" in dict(layout.offset) else 0
    return low + sum(max(0, (f.extent.const - 1) * f.stride.const) for f in layout.shard if f.axis == "m")


class Place:
    """A byte of a buffer, the hardware axes of its owner, and whether every index on the way was inside."""

    def __init__(self, byte: int, axes: dict[str, int], inside: bool) -> None:
        self.byte, self.axes, self.inside = byte, axes, inside


#: Places found before; the views are kept, so that their numbers stay theirs.
_found: dict[tuple[int, tuple[int, ...], tuple[int, ...]], Place] = {}
_views: dict[int, ir.View] = {}
MEMORY = 100_000


def starts(view: ir.View, env: Env) -> tuple[int, ...]:
    """Where the slices of a view start for one thread: all that differs between threads."""
    return tuple(calculate(a.start, env, True) for step in view.steps if isinstance(step, ir.Sub) for a in step.axes)


def find(view: ir.View, index: list[int], env: Env) -> Place:
    """Undo the steps of a view for one concrete index."""
    return find_from(view, starts(view, env), index)


def find_from(view: ir.View, begin: tuple[int, ...], index: list[int]) -> Place:
    """The same with the starts of the slices worked out; each place is looked for once."""
    key = (id(view), begin, tuple(index))
    found = _found.get(key)
    if found is None:
        if len(_found) > MEMORY:
            _found.clear()
            _views.clear()
        _views[id(view)] = view
        found = _found[key] = _find(view, index, begin)
    return found


def _find(view: ir.View, index: list[int], begin: tuple[int, ...]) -> Place:
    shapes: list[tuple[list[int], str]] = []
    shape, dtype = [e.const for e in view.buffer.shape], view.buffer.dtype
    for step in view.steps:
        shapes.append((shape, dtype))
        if isinstance(step, ir.Sub):
            shape = [a.extent.const for a in step.axes if a.keep]
        elif isinstance(step, (ir.Reshape, ir.Relayout)):
            shape = [e.const for e in step.shape]
        elif isinstance(step, ir.Permute):
            shape = [shape[k] for k in step.order]
        else:
            shape = [*shape[:-1], shape[-1] * BITS[dtype] // BITS[step.dtype]]
            dtype = step.dtype
    inside = all(0 <= i < e for i, e in zip(index, shape, strict=True))
    at, within = list(index), 0
    left = list(begin)
    for number in reversed(range(len(view.steps))):
        step, (before, old) = view.steps[number], shapes[number]
        if isinstance(step, ir.Sub):
            rest = iter(at)
            first = left[len(left) - len(step.axes):]
            del left[len(left) - len(step.axes):]
            at = [b + (next(rest) * a.step if a.keep else 0) for a, b in zip(step.axes, first, strict=True)]
            inside = inside and all(0 <= i < e for i, e in zip(at, before, strict=True))
        elif isinstance(step, ir.Reshape):
            linear = 0
            for i, e in zip(at, [x.const for x in step.shape], strict=True):
                linear = linear * e + i
            at = unravel(linear, before)
        elif isinstance(step, ir.Permute):
            moved = [0] * len(at)
            for k, source in enumerate(step.order):
                moved[source] = at[k]
            at = moved
        elif isinstance(step, ir.Reinterpret):
            new_size, old_size = BITS[dtype] // 8, BITS[old] // 8
            start = at[-1] * new_size
            at[-1], within = start // old_size, within + start % old_size
            dtype = old
            if new_size > old_size:  # the last of the elements that make up the wide one must be there, too
                below = ir.View(view.buffer, view.steps[:number], tuple(Poly(e, ()) for e in before), old, view.span)
                last = [*at[:-1], at[-1] + new_size // old_size - 1]
                inside = inside and _find(below, last, tuple(left)).inside
        else:
            raise NotImplementedError("relayout")
    axes = placed(view.buffer.layout, at, [e.const for e in view.buffer.shape])
    m = axes.pop("m")
    if not view.buffer.is_param:
        m -= lowest(view.buffer.layout) if isinstance(view.buffer.layout, TileLayout) else 0
    return Place(m * (BITS[view.buffer.dtype] // 8) + within, axes, inside)
