"""Where in a vector the rows of an array begin, worked out by the kernel: pitches may be known at launch only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ptxspec.lang.shapes import to_typed
from ptxspec.lang.trace import Tracer
from ptxspec.layout.value import exact_div
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import INDEX, Expr, Poly, Var, show
from ptxspec.tiles.access import Verb, opcode, widest
from ptxspec.tiles.plan import Plan, Turn
from ptxspec.tiles.region import Region
from ptxspec.tiles.widths import seen_flat

#: Accesses of this many bytes are left as they are. Measured on an H200 for 64 x 64 float32 tiles: rows of 16,382
#: elements at 4,053 GB/s by 8 bytes, 4,048 by phases; rows of 16,381 at 3,764 by single elements, 3,952 by phases.
WIDE_ENOUGH = 8
#: Rows of fewer bytes are left as they are: their ends cost more than vectors save. float16 rows of 128 bytes go at
#: 3,375 GB/s by single elements and 3,138 by phases, of 192 at 3,409 and 3,414, of 256 at 3,486 and 3,750, of 512 at
#: 3,487 and 3,891; uint8 rows of 256 bytes at 2,781 and 3,647.
LONG_ENOUGH = 192


def pays(region: Region, axis: int) -> bool:
    """True where rows along ``axis`` begin at places of their own, and are long enough to be worth the trouble."""
    return region.array.scope() == "global" and region.unit_axis() == axis and not region.claimed \
        and region.words(axis) * region.bytes < WIDE_ENOUGH and region.shape[axis] * region.bytes >= LONG_ENOUGH \
        and region.strides is not None


def phase(region: Region, axis: int, words: int, at: Sequence[Expr]) -> Expr:
    """How many elements the row of tile element ``at`` lies before the next multiple of ``words`` elements."""
    assert region.strides is not None
    base, steps = region.strides
    row = [typed.literal(0, "int32") if k == axis else c for k, c in enumerate(at)]
    total = _left(base, words)
    for index, step in zip(region.element(row), steps, strict=True):
        short = typed.cast(typed.binary("floormod", index, words), "int32")
        total = typed.binary("add", total, typed.binary("mul", short, _left(step, words)))
    return typed.binary("floormod", total, words)


def _left(number: Poly, words: int) -> Expr:
    """``-number % words``, typed; remainders keep everything small."""
    if number.is_const:
        return typed.literal(-number.const % words, "int32")
    rest = typed.cast(typed.binary("floormod", to_typed(number), words), "int32")
    return typed.binary("sub", words, rest)


def even(extent: int, words: int, threads: int) -> bool:
    """True when ``threads`` and the vectors of a row of ``extent`` elements go into each other. Otherwise a thread has
    another place in the row on each trip, which proofs would have to follow."""
    lanes = extent // words
    return extent % words == 0 and lanes > 1 and (threads % lanes == 0 or lanes % threads == 0)


def turned(region: Region, plan: Plan) -> Plan | None:
    """The plan with groups that begin where each row's vectors do; None where that does not pay, or is not possible."""
    axis, extent = plan.axis, plan.shape[plan.axis]
    words = min(widest(region.array) // region.bytes, plan.words)
    begin = places(region, axis, words)
    if begin is None or not pays(region, axis) or words <= region.words(axis) \
            or not even(extent, words, plan.threads) or region.never_whole:
        return None
    return Plan(plan.shape, axis, words, plan.threads, Turn(begin, lambda at: phase(region, axis, words, at)))


def places(region: Region, axis: int, words: int) -> Poly | None:
    """Where in a vector of ``words`` elements each row begins, in the coordinates of the tile; None where unknown."""
    if region.array.data_alignment % (words * region.bytes) or region.unit_axis() != axis \
            or region.strides is None:
        return None
    at: list[Expr | int] = [0 if k == axis else _coordinate(k, e) for k, e in enumerate(region.shape)]
    first = exact_div(region.byte(at), ix.constant(region.bytes))
    assert first is not None    # strides are whole elements
    return Poly(first.const % words, tuple((m, c % words) for m, c in first.terms if c % words))


@cache
def _coordinate(axis: int, extent: int) -> Var:
    """Any coordinate along ``axis``: one variable, so that what is said of it can be compared."""
    return Var(f"c{axis}", INDEX, "word", 0, extent - 1)


def note(tracer: Tracer, verb: Verb, region: Region, axis: int, words: int, *, edges: bool) -> None:
    """Add a note on one end of an operation that goes by rows' own vectors."""
    size, name = words * region.bytes, region.array.ir.buffer.name
    wide, _ = opcode(verb, region.array, region.bytes, words)
    narrow, _ = opcode(verb, region.array, region.bytes, 1)
    assert region.strides is not None
    pitches = ", ".join(f"pitch {_said(ix.scale(p, region.bytes))} bytes along axis {k}"
                        for k, p in enumerate(region.strides[1]) if k != axis and region.shape[k] > 1)
    text = (f"{tracer.place()}: `{name}` goes by {wide}, {size} bytes an access, from each row's own first multiple of "
            f"{size} bytes on ({pitches or 'one row'}), and by {narrow} for the {words} elements of a row before and "
            "behind that")
    if edges:
        text += "; a tile across the array's edge goes element by element"
    text += seen_flat(region, axis, words)
    if text not in tracer.notes:
        tracer.notes.append(text)


def _said(number: Poly) -> str:
    return str(number.const) if number.is_const else f"`{show(number)}`"
