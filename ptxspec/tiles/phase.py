"""Rows that begin anywhere in memory: whole vectors from each row's own first boundary on, its ends element by element.

Where a pitch is no multiple of a vector, rows begin at different places of one. If both arrays have each row at the
same place, a row of ``n`` elements still goes by ``n / words - 1`` whole vectors, the first of them at the row's
*phase* (0 to ``words - 1`` elements in), and ``words`` single elements: those before the first vector, and those behind
the last. The phase is computed by the kernel, so pitches may be known at launch only.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.lang.shapes import to_typed
from ptxspec.lang.trace import Tracer
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import INDEX, Expr, Poly, Var, show
from ptxspec.tiles.access import LD, ST, Verb, opcode, unit, widest
from ptxspec.tiles.build import registers, when
from ptxspec.tiles.move import Body, each, transfer
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region

#: Accesses of this many bytes are left as they are. Measured on an H200 for 64 x 64 float32 tiles: rows of 16,382
#: elements at 4,053 GB/s by 8 bytes, 4,048 by phases; rows of 16,381 at 3,764 by single elements, 3,952 by phases.
WIDE_ENOUGH = 8
#: Rows of fewer bytes are left as they are: their ends cost more than vectors save. float16 rows of 128 bytes go at
#: 3,375 GB/s by single elements and 3,138 by phases, of 192 at 3,409 and 3,414, of 256 at 3,486 and 3,750, of 512 at
#: 3,487 and 3,891; uint8 rows of 256 bytes at 2,781 and 3,647.
LONG_ENOUGH = 192


def vector(source: Region, target: Region, plan: Plan) -> int:
    """Elements of the vectors by which the rows of a copy can go from their phase on; 1 where they do not.

    Both ends need every row at the same place of a vector, and rows so long that vectors pay, and that no thread has
    more than one single element beside its vector.
    """
    axis, extent, size = plan.axis, plan.shape[plan.axis], source.bytes
    if plan.words * size >= WIDE_ENOUGH or extent * size < LONG_ENOUGH or any(
            r.array.scope() != "global" or r.unit_axis() != axis or r.claimed or strides(r) is None
            for r in (source, target)):
        return 1
    words = min(widest(source.array), widest(target.array)) // size
    while words > plan.words:
        if extent % words == 0 and words * words <= extent and _alike(source, target, words * size):
            return words
        words //= 2
    return 1


def _alike(source: Region, target: Region, size: int) -> bool:
    """Every row lies at the same place of a vector of ``size`` bytes in both arrays."""
    if source.array.data_alignment % size or target.array.data_alignment % size:
        return False
    at = [Var(f"c{k}", INDEX, "word", 0, extent - 1) for k, extent in enumerate(source.shape)]
    return source.known.multiple(ix.sub(source.byte(at), target.byte(at)), size)


def strides(region: Region) -> tuple[Poly, tuple[Poly, ...]] | None:
    """Place of the array's first element and its strides, in elements; None where it has none, or parts of elements."""
    at: list[Poly] = [ix.index(Var(f"c{k}", INDEX, "word", 0, None)) for k in range(len(region.shape))]
    zero = [ix.ZERO] * len(at)
    base = region.located(zero)
    steps = []
    for k in range(len(at)):
        one = list(zero)
        one[k] = ix.ONE
        steps.append(ix.sub(region.located(one), base))
    whole = ix.add(base, *(ix.mul(c, s) for c, s in zip(at, steps, strict=True)))
    if region.located(at) != whole or any(
            number % region.bytes for p in (base, *steps) for number in (p.const, *(c for _, c in p.terms))):
        return None
    first, *rest = (_over(p, region.bytes) for p in (base, *steps))
    return first, tuple(rest)


def _over(number: Poly, size: int) -> Poly:
    return Poly(number.const // size, tuple((m, c // size) for m, c in number.terms))


def phase(region: Region, axis: int, words: int, at: Sequence[Expr]) -> Expr:
    """How many elements the row of tile element ``at`` lies before the next multiple of ``words`` elements."""
    found = strides(region)
    assert found is not None
    base, steps = found
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


def stream(tracer: Tracer, source: Region, target: Region, plan: Plan, words: int) -> None:
    """The copy of a tile that lies inside both arrays: each thread has one vector of a row, or one of its ends' last
    place, and at most one single element beside it."""
    axis, extent, size = plan.axis, plan.shape[plan.axis], source.bytes
    count = extent // words
    lanes = Plan(tuple(count if k == axis else e for k, e in enumerate(plan.shape)), axis, 1, plan.threads)
    bits = unit(size, words)
    vectors = registers(tracer, (lanes.repeats, 8 * size * words // bits),
                        source.array.dtype if bits == 8 * size else f"bits{bits}", "vector")
    ends = registers(tracer, (lanes.repeats, 1), source.array.dtype, "end")

    def whole(verb: Verb, region: Region) -> Body:
        def body(repeat: Expr, at: tuple[Expr, ...]) -> None:
            lane = at[axis]
            start = typed.binary("add", typed.binary("mul", lane, words), phase(source, axis, words, at))
            with when(tracer, typed.compare("lt", lane, count - 1)):
                transfer(tracer, verb, region, (vectors.sub[repeat, :],), _put(at, axis, start), axis, words)
        return body

    def single(verb: Verb, region: Region) -> Body:
        def body(repeat: Expr, at: tuple[Expr, ...]) -> None:
            lane = at[axis]
            behind = typed.binary("add", phase(source, axis, words, at), typed.binary("add", lane, extent - words))
            with when(tracer, typed.compare("lt", lane, words)):
                place = typed.binary("floormod", behind, extent)
                transfer(tracer, verb, region, (ends.sub[repeat, :],), _put(at, axis, place), axis, 1)
        return body

    each(tracer, lanes, whole(LD, source), single(LD, source), whole(ST, target), single(ST, target), ahead=1)


def _put(at: tuple[Expr, ...], axis: int, value: Expr) -> tuple[Expr, ...]:
    return tuple(value if k == axis else c for k, c in enumerate(at))


def note(tracer: Tracer, verb: Verb, region: Region, axis: int, words: int, *, edges: bool) -> None:
    """Add a note on one end of a copy that goes by rows' own vectors."""
    size, name = words * region.bytes, region.array.ir.buffer.name
    wide, _ = opcode(verb, region.array, region.bytes, words)
    narrow, _ = opcode(verb, region.array, region.bytes, 1)
    found = strides(region)
    assert found is not None
    pitches = ", ".join(f"pitch {_said(ix.scale(p, region.bytes))} bytes along axis {k}"
                        for k, p in enumerate(found[1]) if k != axis and region.shape[k] > 1)
    text = (f"{tracer.place()}: `{name}` goes by {wide}, {size} bytes an access, from each row's own first multiple of "
            f"{size} bytes on, which both arrays share ({pitches or 'one row'}), and by {narrow} for the {words} "
            "elements of a row before and behind that")
    if edges:
        text += "; a tile across the array's edge goes element by element"
    if text not in tracer.notes:
        tracer.notes.append(text)


def _said(number: Poly) -> str:
    return str(number.const) if number.is_const else f"`{show(number)}`"
