"""Array to array through registers: what a tile that is only loaded and stored becomes."""

from __future__ import annotations

from ptxspec.lang.trace import Tracer
from ptxspec.scalar.expr import Const
from ptxspec.tiles import phase, places
from ptxspec.tiles.access import LD, ST, WIDEST, Verb, unit
from ptxspec.tiles.build import both, either, into, registers
from ptxspec.tiles.move import Body, clear, each, edge, interior, load, store, sure, transfer
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.region import Region
from ptxspec.tiles.widths import note, obstacle, pitches, wish


def copy(tracer: Tracer, source: Region, target: Region, threads: int) -> None:
    """Array to array through registers, one vector at a time: what a tile that is only loaded and stored becomes.

    Each thread stores a vector, or a few, right after it has loaded them. Measured on an H200 for 64 x 64 float32
    tiles, 256 threads: 4,236 GB/s so, against 4,210 with all loads first, at 2 GiB; 5,438 against 5,120 at 16 MiB.
    """
    source, target = _flattened(source, target)
    axis = source.unit_axis()
    shared_axis = axis if axis is not None and axis == target.unit_axis() else len(source.shape) - 1
    words = min(source.words(shared_axis), target.words(shared_axis))
    plan = Plan(source.shape, shared_axis, words, threads)
    inside = both(source.whole(), target.whole())
    wide = phase.vector(source, target, plan) if not isinstance(inside, Const) or inside.value else 1
    for verb, region, far in ((LD, source, target), (ST, target, source)):
        why = obstacle(far, shared_axis, wish(far, shared_axis))
        edges = region.checked and not sure(region.whole())
        if wide > 1:
            places.note(tracer, verb, region, shared_axis, wide, edges=edges)
        else:
            note(tracer, verb, region, shared_axis, words, f"the other end is no wider: {why}", edges=edges)
    if source.empty or target.empty:
        store(tracer, target, plan, load(tracer, source, plan, "tile"))
        return

    def stream() -> None:
        if wide > 1:
            phase.stream(tracer, source, target, plan, wide)
        else:
            _stream(tracer, source, target, plan)

    if sure(inside):
        stream()
        return
    if isinstance(inside, Const) or plan.groups == 1:
        _guarded(tracer, source, target, plan)
        return
    with either(tracer, inside) as (then, other):
        with into(tracer, then, inside):
            stream()
        with into(tracer, other, inside):
            _guarded(tracer, source, target, plan)


def _guarded(tracer: Tracer, source: Region, target: Region, plan: Plan) -> None:
    """The copy where either end may reach past its array."""
    cells = registers(tracer, (plan.repeats, plan.words), source.array.dtype, "edge")
    clear(tracer, plan, cells)
    # An end whose bounds are claimed is not guarded here either: the prover judges the claim.
    (edge if source.checked else interior)(tracer, LD, source, plan, (cells,))
    (edge if target.checked else interior)(tracer, ST, target, plan, (cells,))


def _flattened(source: Region, target: Region) -> tuple[Region, Region]:
    """Both ends with trailing axes merged, where no access gets narrower: vec3 rows get wider, addresses simpler."""
    before = min(source.words(source.main_axis()), target.words(target.main_axis()))
    best, ends = before, (source, target)
    one, two = source, target
    while len(one.shape) > 1:
        flat = one.merged(), two.merged()
        if flat[0] is None or flat[1] is None:
            break
        one, two = flat[0], flat[1]
        words = min(one.words(len(one.shape) - 1), two.words(len(two.shape) - 1))
        if words >= best:
            best, ends = words, (one, two)
    return ends


#: Bytes that a thread loads before it stores them: one whole vector of 16 bytes, or fewer bytes in narrower accesses.
#: Measured on an H200 for 64 x 64 float32 tiles with rows of odd length, 512 threads: 3,778 GB/s so, against 3,517 with
#: 31 bytes and 3,566 with all loads first; whole vectors are as fast either way, and cache words (no_allocate, cs,
#: prefetches of 128 or 256 bytes) gain nothing.
IN_FLIGHT = 15
#: The same for accesses of 8 bytes: three of them, which copy 1 GiB in one dimension at 4,263 GB/s where one at a time
#: reaches 3,934 (512 threads).
IN_FLIGHT_HALVES = 24
#: Vectors of 16 bytes are loaded together, where a thread has many: so that it goes to memory and back four times at
#: most, or eight times where rows share sectors of 32 bytes with their neighbours' tiles. Measured on an H200 for
#: 64 x 64 float32 tiles at 16 MiB: 64 threads (16 vectors each) 5,540 GB/s by fours, 5,310 by twos, 4,899 one by one;
#: 128 threads 5,471 by twos, 5,331 one by one, and 4,199 against 4,174 at 2 GiB. Rows of 65,392 bytes: 128 threads
#: 3,735 by twos, 3,833 one by one; 64 threads 3,721 by twos, 3,136 one by one.
ROUNDS, ROUNDS_SHARING = 4, 8
SECTOR = 32


def _ahead(source: Region, target: Region, plan: Plan) -> int:
    """Accesses that a thread loads before it stores them."""
    width = source.bytes * plan.words
    if width < WIDEST:
        return max(1, (IN_FLIGHT_HALVES if width == 8 else IN_FLIGHT) // width)
    apart = all(region.known.multiple(pitch, SECTOR) for region in (source, target)
                if region.array.scope() == "global" for _, pitch in pitches(region, plan.axis))
    return max(1, -(-plan.full // (ROUNDS if apart else ROUNDS_SHARING)))


def _stream(tracer: Tracer, source: Region, target: Region, plan: Plan) -> None:
    bits = unit(source.bytes, plan.words)
    lanes = 8 * source.bytes * plan.words // bits
    row = registers(tracer, (plan.repeats, lanes), source.array.dtype if bits == 8 * source.bytes else f"bits{bits}",
                    "vector")

    def one(verb: Verb, region: Region) -> Body:
        return lambda repeat, at: transfer(tracer, verb, region, (row.sub[repeat, :],), at, plan.axis, plan.words)

    each(tracer, plan, one(LD, source), one(ST, target), ahead=_ahead(source, target, plan))
