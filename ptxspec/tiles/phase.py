"""Rows that begin anywhere in memory: whole vectors from each row's own first boundary on, its ends element by element.

Where a pitch is no multiple of a vector, rows begin at different places of one. If both arrays have each row at the
same place, a row of ``n`` elements still goes by ``n / words - 1`` whole vectors, the first of them at the row's
*phase* (0 to ``words - 1`` elements in), and ``words`` single elements: those before the first vector, and those behind
the last. The phase is computed by the kernel, so pitches may be known at launch only.
"""

from __future__ import annotations

from ptxspec.lang.trace import Tracer
from ptxspec.scalar import index as ix
from ptxspec.scalar import typed
from ptxspec.scalar.expr import INDEX, Expr, Var
from ptxspec.tiles.access import LD, ST, Verb, unit, widest
from ptxspec.tiles.build import registers, when
from ptxspec.tiles.move import Body, each, put, transfer
from ptxspec.tiles.places import even, pays, phase
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region


def vector(source: Region, target: Region, plan: Plan) -> int:
    """Elements of the vectors by which the rows of a copy can go from their phase on; 1 where they do not.

    Both ends need every row at the same place of a vector, and rows so long that vectors pay, and that no thread has
    more than one single element beside its vector.
    """
    axis, extent, size = plan.axis, plan.shape[plan.axis], source.bytes
    if not pays(source, axis) or not pays(target, axis):
        return 1
    words = min(widest(source.array), widest(target.array)) // size
    while words > plan.words:
        if even(extent, words, plan.threads) and words * words <= extent and _alike(source, target, words * size):
            return words
        words //= 2
    return 1


def _alike(source: Region, target: Region, size: int) -> bool:
    """Every row lies at the same place of a vector of ``size`` bytes in both arrays."""
    if source.array.data_alignment % size or target.array.data_alignment % size:
        return False
    at = [Var(f"c{k}", INDEX, "word", 0, extent - 1) for k, extent in enumerate(source.shape)]
    return source.known.multiple(ix.sub(source.byte(at), target.byte(at)), size)


def stream(tracer: Tracer, source: Region, target: Region, plan: Plan, words: int) -> None:
    """The copy of a tile that lies inside both arrays: each thread has one vector of a row, or one of its ends' last
    place, and at most one single element beside it."""
    axis, extent, size = plan.axis, plan.shape[plan.axis], source.bytes
    count = extent // words
    lanes = plan.vectors(words)
    bits = unit(size, words)
    vectors = registers(tracer, (lanes.repeats, 8 * size * words // bits),
                        source.array.dtype if bits == 8 * size else f"bits{bits}", "vector")
    ends = registers(tracer, (lanes.repeats, 1), source.array.dtype, "end")

    def whole(verb: Verb, region: Region) -> Body:
        def body(repeat: Expr, at: tuple[Expr, ...]) -> None:
            lane = at[axis]
            start = typed.binary("add", typed.binary("mul", lane, words), phase(source, axis, words, at))
            with when(tracer, typed.compare("lt", lane, count - 1)):
                transfer(tracer, verb, region, (vectors.sub[repeat, :],), put(at, axis, start), axis, words)
        return body

    def single(verb: Verb, region: Region) -> Body:
        def body(repeat: Expr, at: tuple[Expr, ...]) -> None:
            lane = at[axis]
            behind = typed.binary("add", phase(source, axis, words, at), typed.binary("add", lane, extent - words))
            with when(tracer, typed.compare("lt", lane, words)):
                place = typed.binary("floormod", behind, extent)
                transfer(tracer, verb, region, (ends.sub[repeat, :],), put(at, axis, place), axis, 1)
        return body

    each(tracer, lanes, whole(LD, source), single(LD, source), whole(ST, target), single(ST, target), ahead=1)
