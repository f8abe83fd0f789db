"""Arithmetic on tiles of structures whose fields differ in type: field by field, each in its own type."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ptxspec.compat.warp.elements import fields
from ptxspec.compat.warp.state import kind_of, marked
from ptxspec.compat.warp.types import Element, Struct
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import current
from ptxspec.scalar.expr import Expr
from ptxspec.tiles import RegisterTile, move
from ptxspec.tiles.access import ATOMIC
from ptxspec.tiles.barriers import insert
from ptxspec.tiles.inplace import for_all, into
from ptxspec.tiles.ownership import dealt_out
from ptxspec.tiles.region import Region
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tape import TapedTile
from ptxspec.tiles.views import shared_of


def untyped(value: object) -> Element | None:
    """What the elements of a tile or array are, where they are structures of several types."""
    kind = kind_of(value)
    return kind if kind is not None and kind.struct is not None and kind.scalar.startswith("bits") else None


def parts(view: TensorView, struct: Struct, start: int = 0) -> Iterator[tuple[Element, TensorView]]:
    """Every field of the structures along the last axis of ``view``, in its own type, its components last."""
    for _, kind, part, first in fields(view, struct, start):
        if kind.struct is not None:
            yield from parts(part, kind.struct, first)
        else:
            yield kind, part.sub[(..., slice(first, first + kind.size))]


def binary(name: str, left: object, right: object) -> SharedTile:
    """``left name right``, tiles of one structure, or one of them and a number. Code K234."""
    tracer = current("a tile")
    kinds = [untyped(left), untyped(right)]
    kind = kinds[0] or kinds[1]
    assert kind is not None and kind.struct is not None
    numbers = [v for v in (left, right) if isinstance(v, (Expr, int, float))]
    if (None in kinds and not numbers) or (None not in kinds and kinds[0] != kinds[1]):
        refuse("K234", f"a tile of {kind.struct!r} combines with another one, or a number, not with "
                       f"{said(right if kinds[0] else left)}", tracer.place())
    sides = [v if k is None else shared_of(v, f"`{name}`", tracer) for v, k in zip((left, right), kinds, strict=True)]
    shapes = {tuple(s.shape) for s in sides if isinstance(s, SharedTile)}
    if len(shapes) > 1:
        refuse("K234", f"tiles of {' and '.join(str(list(s)) for s in shapes)} words do not combine element by element",
               tracer.place())

    def combined(mine: list[object]) -> RegisterTile:
        a, b = mine
        return a.ptxspec_binary(name, b, False) if isinstance(a, RegisterTile) \
            else b.ptxspec_binary(name, a, True)    # type: ignore[attr-defined]

    return _made(sides, kind, combined)


def negated(tile: object) -> SharedTile:
    """``-tile``, field by field."""
    kind = untyped(tile)
    assert kind is not None
    shared = shared_of(tile, "`-`", current("a tile"))
    return _made([shared], kind, lambda mine: mine[0].ptxspec_unary("neg"))     # type: ignore[attr-defined]


def _made(sides: list[object], kind: Element, combined: Callable[[list[object]], RegisterTile]) -> SharedTile:
    tracer = current("a tile")
    assert kind.struct is not None
    whole = next(s for s in sides if isinstance(s, SharedTile))
    insert(tracer, "before the shared tile is read, for threads that changed elements of it")
    made = SharedTile.alloc(tracer, tuple(n for n in whole.shape if isinstance(n, int)), kind.scalar)
    words = _read(whole)
    move.store(tracer, made.whole(), words.plan, words.cells())     # the bytes between fields too
    made.filled()
    views = [list(parts(s, kind.struct)) if isinstance(s, SharedTile) else None for s in sides]
    for k, (field, target) in enumerate(parts(made, kind.struct)):
        result = combined([s if v is None else _read(v[k][1]) for s, v in zip(sides, views, strict=True)])
        if result.dtype != field.scalar:
            result = result.astype(field.scalar)
        move.store(tracer, SharedTile(tracer, target).whole(), result.plan, result.cells())
    return marked(made.filled(), kind)


def _read(view: TensorView) -> RegisterTile:
    tracer = current("a tile")
    shape = tuple(n for n in view.shape if isinstance(n, int))
    region: Region = SharedTile(tracer, view).whole()
    plan = dealt_out(tracer, shape, len(shape) - 1, region.bytes)
    return RegisterTile(tracer, shape, view.dtype, plan, move.load(tracer, region, plan, "field"))


def updated(tile: RegisterTile | SharedTile | TapedTile, name: str, other: object) -> None:
    """``tile = tile name other`` for everyone who has the tile."""
    for_all(current("a tile"))
    assert isinstance(tile, (RegisterTile, SharedTile))     # numbers alone have gradients
    home = tile.moved() if isinstance(tile, RegisterTile) else tile
    result = binary(name, marked(home, kind_of(tile)), other)
    into(current("a tile"), home, _read(result))


def atomic_add(a: TensorView, t: object, add: Callable[[TensorView, RegisterTile], object]) -> None:
    """``add(array, tile)`` for each field of a type that memory adds to atomically; others stay as they are (K233)."""
    tracer = current("tile_atomic_add")
    kind = untyped(a)
    assert kind is not None and kind.struct is not None
    if untyped(t) != kind:
        refuse("K233", f"a tile of {said(t)} for an array of {kind.struct!r}", tracer.place())
    shared = shared_of(t, "tile_atomic_add", tracer)
    insert(tracer, "before the shared tile is read, for threads that changed elements of it")
    found = [(array, tile) for (field, array), (_, tile) in zip(parts(a, kind.struct), parts(shared, kind.struct),
                                                                strict=True) if field.scalar in ATOMIC]
    if not found:
        refuse("K235", f"no field of {kind.struct!r} has an atomic addition", tracer.place())
    for array, tile in found:
        add(array, _read(tile))
