"""A function of numbers applied element by element: one reading of it, repeated for what each thread owns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.trace import Tracer, current
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Expr, Op, Var, is_float, show
from ptxspec.tiles.computed import ComputedTile
from ptxspec.tiles.elementwise import At, computed, read
from ptxspec.tiles.shared import from_shared
from ptxspec.tiles.tape import TapedTile
from ptxspec.tiles.tile import RegisterTile

#: Gives the value of the user's function for these arguments, by reading it here.
Function = Callable[[list[object]], object]
Change = Callable[[Expr], Expr]


def tile_map(function: Function, arguments: Sequence[object]) -> RegisterTile:
    """The tile of ``function(arguments)`` for each element: tiles of one shape, the first one among them, and numbers,
    which are the same for all. Conditions become bytes of 0 and 1. Codes K230, K234, K243; K241 in an adjoint."""
    tracer = current("tile_map")
    span = tracer.place()
    tiles = [tiled(a, tracer) for a in arguments]
    first = tiles[0] if tiles else None
    if first is None:
        refuse("K230", "tile_map takes a function and a tile first, not "
                       f"{said(arguments[0]) if arguments else 'nothing'}", span)
    for tile in tiles:
        if tile is not None and tuple(tile.shape) != tuple(first.shape):
            refuse("K234", f"tiles of {list(first.shape)} and {list(tile.shape)} elements do not combine element by "
                           "element", span)
    if any(isinstance(t, TapedTile) for t in tiles):
        return _taped(tracer, function, arguments, tiles)  # type: ignore[return-value]
    mine = [t for t in tiles if isinstance(t, RegisterTile)]
    plan = mine[0].plan
    cells = [t.under(plan) if isinstance(t, RegisterTile) else None for t in tiles]

    def value(at: At) -> Expr:
        return number_of(function([a if c is None else read(tracer, c, at)
                                   for a, c in zip(arguments, cells, strict=True)]), span)

    made = computed(tracer, plan, value, careful=True)
    return RegisterTile(tracer, plan.shape, made.dtype, plan, made)


def tiled(value: object, tracer: Tracer) -> RegisterTile | TapedTile | None:
    """``value`` as a tile in registers; None for what is no tile (K234 for one of untyped bits)."""
    value = from_shared(value, tracer)
    if isinstance(value, ComputedTile):
        value = value.registers()
    if isinstance(value, RegisterTile):
        value.numbers(tracer.place())
        return value
    return value if isinstance(value, TapedTile) else None


def number_of(value: object, span: Span | None, what: str = "the function of tile_map gives") -> Expr:
    """What a mapped function gave, or ``what`` else gives it, as a value that registers hold (K243)."""
    if isinstance(value, (bool, int, float)):
        value = typed.literal(value, typed.default_dtype(value), span)
    if not isinstance(value, Expr):
        refuse("K243", f"{what} {'nothing' if value is None else said(value)}, not a number", span,
               help="give one number for each element")
    return typed.cast(value, "uint8", span) if value.dtype == BOOL else value


# --- gradients

def _taped(tracer: Tracer, function: Function, arguments: Sequence[object],
           tiles: Sequence[RegisterTile | TapedTile | None]) -> TapedTile:
    """The gradient of a function that is linear in its tiles: read once, with names for the elements."""
    span = tracer.place()
    if any(isinstance(t, RegisterTile) for t in tiles):
        refuse("K241", "the gradient of tile_map over a tile of integers is not known", span,
               help="convert the tile to floats before it is used")
    mine = [t for t in tiles if isinstance(t, TapedTile)]
    plan = mine[0].plan
    names: dict[int, tuple[Var, TapedTile]] = {
        k: (Var("element", t.dtype, "value", None, None, span), t.under(plan))
        for k, t in enumerate(tiles) if isinstance(t, TapedTile)}
    scratch: list[ir.Statement] = []
    tracer.settle()
    saved, tracer.blocks = tracer.blocks, [*tracer.blocks, scratch]
    try:
        result = number_of(function([names[k][0] if k in names else a for k, a in enumerate(arguments)]), span)
    finally:
        tracer.blocks = saved
    if scratch or not is_float(result.dtype):
        refuse("K241", "the function of tile_map reads memory, branches or gives integers, so its gradient is not "
                       "known", span,
               help="functions of sums, negation, and products or quotients with numbers have a gradient")
    elements = dict(names.values())
    changes = {var: _derived(result, var, elements, span) for var in elements}
    made = TapedTile(mine[0].tracer, mine[0].shape, result.dtype, plan)

    def reverse() -> None:
        for var, tile in elements.items():
            change = changes[var]
            if change is not None:
                tile.add(made.cells, change)

    made.tracer.record(reverse)
    return made


def _derived(value: Expr, var: Var, elements: Mapping[Var, TapedTile], span: Span | None) -> Change | None:
    """The gradient of ``var`` by that of ``value``; None where ``value`` does not depend on it (K241)."""
    if value == var:
        return lambda g: g
    if isinstance(value, Var) or not _holds(value, elements):
        return None
    parts = value.args if isinstance(value, Op) else ()
    name = value.name if isinstance(value, Op) else ""
    if name in ("add", "sub"):
        left, right = (_derived(part, var, elements, span) for part in parts)
        if name == "sub" and right is not None:
            right = _then(lambda g: typed.unary("neg", g, span), right)
        if left is None or right is None:
            return left or right
        return lambda g, a=left, b=right: typed.binary("add", a(g), b(g), span)  # type: ignore[misc]
    if name == "neg":
        return _then(lambda g: typed.unary("neg", g, span), _derived(parts[0], var, elements, span))
    if name == "cast" and is_float(value.dtype) and is_float(parts[0].dtype):
        kind = parts[0].dtype
        return _then(lambda g: typed.cast(g, kind, span), _derived(parts[0], var, elements, span))
    if name in ("mul", "div"):
        a, b = parts if name == "div" or _holds(parts[0], elements) else parts[::-1]
        if not _holds(b, elements):
            return _then(lambda g: typed.binary(name, g, b, span), _derived(a, var, elements, span))
    refuse("K241", f"`{show(value)}` in the function of tile_map is not linear, so its gradient needs the tile's "
                   "values", span,
           help="functions of sums, negation, and products or quotients with numbers have a gradient")


def _then(first: Change, following: Change | None) -> Change | None:
    return None if following is None else lambda g: following(first(g))


def _holds(value: Expr, elements: Mapping[Var, TapedTile]) -> bool:
    return value in elements if isinstance(value, Var) else any(_holds(c, elements) for c in value.children())
