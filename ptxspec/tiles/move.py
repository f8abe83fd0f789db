"""Moving the elements of a tile between an array and registers, wide where that is proved, single at the edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ptxspec.lang import ir
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer
from ptxspec.scalar import typed
from ptxspec.scalar.expr import BOOL, Const, Expr
from ptxspec.tiles.access import LD, ST, Verb, opcode
from ptxspec.tiles.build import both, either, into, issue, loop, registers, when
from ptxspec.tiles.places import note as note_rows
from ptxspec.tiles.places import places
from ptxspec.tiles.plan import Plan, Turn
from ptxspec.tiles.region import Region, natural
from ptxspec.tiles.widths import dealt, note

Body = Callable[[Expr, tuple[Expr, ...]], None]


def each(tracer: Tracer, plan: Plan, *bodies: Body, ahead: int | None = None) -> None:
    """``body(repeat, coordinates)`` for every group that the executing thread owns.

    Several bodies take turns: each of them for ``ahead`` groups (all, if not given), then the next one for the same.
    """
    thread, done = tracer.linear_thread(), 0
    ahead = max(1, min(plan.full, ahead or plan.full))
    for trips, count in ((plan.full // ahead, ahead), (1, plan.full % ahead)):
        if not trips or not count:
            continue
        with loop(tracer, trips, "batch", unroll=True) as batch:
            first = typed.binary("add", typed.binary("mul", batch, count), done)
            for body in bodies:
                with loop(tracer, count, "repeat", unroll=True) as k:
                    repeat = typed.binary("add", first, k)
                    body(repeat, plan.at(repeat, thread))
        done += trips * count
    if plan.rest:
        with when(tracer, typed.compare("lt", thread, plan.rest)):
            last = typed.literal(plan.full, "int32")
            for body in bodies:
                body(last, plan.at(plan.full, thread))


def window(region: Region, at: Sequence[Expr], axis: int, words: int) -> TensorView:
    """``words`` neighbouring elements of the array from tile element ``at`` on, as a view of one axis."""
    first = region.element(at)
    items = tuple(slice(i, typed.binary("add", i, words)) if k == axis else i for k, i in enumerate(first))
    saved, region.tracer.excerpt = region.tracer.excerpt, lambda: f"the tile of {region.array.ir.buffer.name}"
    try:
        return region.array.sub[items]
    finally:
        region.tracer.excerpt = saved


#: Registers of one access: those loaded or stored; for an atomic addition that gives old values back, also theirs.
Run = tuple[TensorView, ...]


def transfer(tracer: Tracer, verb: Verb, region: Region, run: Run, at: Sequence[Expr], axis: int, words: int,
             pred: Expr | None = None) -> None:
    """One vector access between ``run`` (registers, one axis of ``words``) and the array.

    What reads under ``pred`` leaves the registers as they are elsewhere: zero, by :func:`clear`.
    """
    if pred is not None and ((isinstance(pred, Const) and not pred.value) or region.known.never(pred)):
        return
    view = window(region, at, axis, words)
    code, dtype = opcode(verb, region.array, region.bytes, words)
    if dtype is not None:
        view = view.view(dtype)
        run = tuple(cells if cells.dtype == dtype else cells.view(dtype) for cells in run)
    operands = {"ld": (run[0], view), "atom": (run[-1], view, run[0])}.get(verb.name, (view, run[0]))
    issue(tracer, code, *operands, pred=pred, preserve=verb.reads)


def interior(tracer: Tracer, verb: Verb, region: Region, plan: Plan, cells: Run) -> None:
    """All groups of a tile that lies inside: no condition, full width."""
    width = min(plan.words, region.words(plan.axis), verb.limit(region.array))
    for_each_piece(tracer, plan, width, lambda repeat, first, at: transfer(
        tracer, verb, region, part(cells, repeat, first, width), at, plan.axis, width))


def part(cells: Run, repeat: Expr, first: Expr | int, width: int) -> Run:
    """``width`` registers of one repeat, from the word ``first`` on."""
    return tuple(c.sub[repeat, first : typed_add(first, width)] for c in cells)


def typed_add(value: Expr | int, more: int) -> Expr | int:
    """``value + more``."""
    return typed.binary("add", value, more) if isinstance(value, Expr) else value + more


Piece = Callable[[Expr, Expr | int, tuple[Expr, ...]], None]


def for_each_piece(tracer: Tracer, plan: Plan, width: int, body: Piece) -> None:
    """``body(repeat, first word, coordinates)`` for each run of ``width`` words of every group."""

    def group(repeat: Expr, at: tuple[Expr, ...]) -> None:
        with loop(tracer, plan.words // width, "piece", unroll=True) as piece:
            first: Expr | int = 0 if isinstance(piece, Const) else typed.binary("mul", piece, width)
            body(repeat, first, plan.word(at, first))

    each(tracer, plan, group)


def edge(tracer: Tracer, verb: Verb, region: Region, plan: Plan, cells: Run) -> None:
    """All groups of a tile that may reach past the array: groups inside keep their width, split ones go singly."""
    width = min(plan.words, region.words(plan.axis), verb.limit(region.array))

    def piece(repeat: Expr, first: Expr | int, at: tuple[Expr, ...]) -> None:
        index = region.element(at)
        rows = both(*(region.inside(k, i, 1) for k, i in enumerate(index) if k != plan.axis))
        run = part(cells, repeat, first, width)
        if width == 1:
            here = both(rows, region.inside(plan.axis, index[plan.axis], 1))
            transfer(tracer, verb, region, run, at, plan.axis, 1, here)
            return
        full = region.inside(plan.axis, index[plan.axis], width)
        transfer(tracer, verb, region, run, at, plan.axis, width, both(rows, full))
        never = isinstance(rows, Const) and not rows.value
        if never or region.split_free(plan.axis, width) or (isinstance(full, Const) and bool(full.value)):
            return
        with when(tracer, both(rows, typed.negate(full))), loop(tracer, width, "word", unroll=True) as word:
            single = tuple(typed.binary("add", c, word) if k == plan.axis else c for k, c in enumerate(at))
            inside = region.inside(plan.axis, region.element(single)[plan.axis], 1)
            start = typed.binary("add", word, first) if isinstance(first, Expr) or first else word
            transfer(tracer, verb, region, part(cells, repeat, start, 1), single, plan.axis, 1, inside)

    for_each_piece(tracer, plan, width, piece)


#: Types without arithmetic are cleared as numbers of their width.
AS_NUMBERS = {"bits8": "uint8", "bits16": "uint16", "bits32": "uint32", "bits64": "uint64", "bits128": "uint64",
              "float8_e4m3": "uint8", "float8_e5m2": "uint8"}


def clear(tracer: Tracer, plan: Plan, cells: TensorView) -> None:
    """Zero in every register of the tile."""
    cells = cells.view(AS_NUMBERS[cells.dtype]) if cells.dtype in AS_NUMBERS else cells
    words = cells.shape[1]
    assert isinstance(words, int)
    with loop(tracer, plan.repeats, "repeat", unroll=True) as repeat, \
            loop(tracer, words, "word", unroll=True) as word:
        tracer.emit(ir.Store(cells.ir, (repeat, word), typed.literal(0, cells.dtype), tracer.place()))


def load(tracer: Tracer, region: Region, plan: Plan, name: str) -> TensorView:
    """The tile in fresh registers of shape (repeats, words): zero where the array has no element."""
    cells = registers(tracer, (plan.repeats, plan.words), region.array.dtype, name)
    whole = region.whole()
    if plan.rest or not sure(whole):
        clear(tracer, plan, cells)
    _both_ways(tracer, LD, region, plan, (cells,), whole)
    return cells


def store(tracer: Tracer, region: Region, plan: Plan, cells: TensorView) -> None:
    """The registers of a tile to the array, except where it has no element."""
    _both_ways(tracer, ST, region, plan, (cells,), region.whole())


def add(tracer: Tracer, region: Region, plan: Plan, cells: TensorView, *, vectors: bool) -> None:
    """The registers of a tile added atomically into the array, except where it has no element."""
    _both_ways(tracer, Verb("red", vectors), region, plan, (cells,), region.whole())


def exchange(tracer: Tracer, region: Region, plan: Plan, cells: TensorView, *, vectors: bool) -> TensorView:
    """As :func:`add`; the old values in fresh registers, zero where the array has no element."""
    old = registers(tracer, (plan.repeats, plan.words), region.array.dtype, "old")
    whole = region.whole()
    if plan.rest or not sure(whole):
        clear(tracer, plan, old)
    _both_ways(tracer, Verb("atom", vectors), region, plan, (cells, old), whole)
    return old


def _both_ways(tracer: Tracer, verb: Verb, region: Region, plan: Plan, cells: Run, whole: Expr) -> None:
    if region.empty and region.checked:
        return
    if plan.turn is not None:
        _turned_ways(tracer, verb, region, plan, plan.turn, cells, whole)
        return
    groups = plan.joined()
    extent = groups.shape[groups.axis]
    limited = dealt(extent, plan.axis, plan.words, natural(extent, region.bytes))
    region, plan = simplest(region, plan)
    width = min(plan.words, region.words(plan.axis), verb.limit(region.array))
    note(tracer, verb, region, plan.axis, width, limited, edges=not sure(whole))
    if sure(whole):
        interior(tracer, verb, region, plan, cells)
        return
    if isinstance(whole, Const) or plan.groups == 1:     # one group is inside as a whole, or edge
        edge(tracer, verb, region, plan, cells)
        return
    with either(tracer, whole) as (inside, outside):
        with into(tracer, inside, whole):
            interior(tracer, verb, region, plan, cells)
        with into(tracer, outside, whole):
            edge(tracer, verb, region, plan, cells)


def _turned_ways(tracer: Tracer, verb: Verb, region: Region, plan: Plan, turn: Turn, cells: Run, whole: Expr) -> None:
    """As :func:`_both_ways`, for groups that begin at a place of each row's own."""
    wide = verb.limit(region.array) >= plan.words and places(region, plan.axis, plan.words) == turn.places
    if wide:
        note_rows(tracer, verb, region, plan.axis, plan.words, edges=not sure(whole))
    else:
        note(tracer, verb, region, plan.axis, 1)
    if sure(whole) or isinstance(whole, Const):
        turned(tracer, verb, region, plan, turn, cells, wide=wide, guarded=not sure(whole))
        return
    with either(tracer, whole) as (inside, outside):
        with into(tracer, inside, whole):
            turned(tracer, verb, region, plan, turn, cells, wide=wide, guarded=False)
        with into(tracer, outside, whole):
            turned(tracer, verb, region, plan, turn, cells, wide=False, guarded=True)


def turned(tracer: Tracer, verb: Verb, region: Region, plan: Plan, turn: Turn, cells: Run, *, wide: bool,
           guarded: bool) -> None:
    """All groups of a tile with turned rows: whole vectors where the region's rows begin there, too, but for the group
    that wraps around the row's end."""
    axis, words, extent = plan.axis, plan.words, plan.shape[plan.axis]
    count = extent // words

    def group(repeat: Expr, at: tuple[Expr, ...]) -> None:
        lane = at[axis]
        start = typed.binary("add", typed.binary("mul", lane, words), turn.begin(at))

        def singly() -> None:
            with loop(tracer, words, "word", unroll=True) as word:
                place = typed.binary("floormod", typed.binary("add", start, word), extent)
                single = put(at, axis, place)
                inside = both(*(region.inside(k, i, 1) for k, i in enumerate(region.element(single)))) \
                    if guarded else None
                transfer(tracer, verb, region, part(cells, repeat, word, 1), single, axis, 1, inside)

        if not wide:
            singly()
            return
        with when(tracer, typed.compare("lt", lane, count - 1)):
            transfer(tracer, verb, region, part(cells, repeat, 0, words), put(at, axis, start), axis, words)
        with when(tracer, typed.compare("eq", lane, count - 1)):
            singly()

    each(tracer, plan.vectors(words), group)


def put(at: tuple[Expr, ...], axis: int, value: Expr) -> tuple[Expr, ...]:
    """The coordinates with ``value`` along ``axis``."""
    return tuple(value if k == axis else c for k, c in enumerate(at))


def simplest(region: Region, plan: Plan) -> tuple[Region, Plan]:
    """The same groups with trailing axes merged where the tile takes them whole: their numbers stay the same."""
    while plan.axis == len(plan.shape) - 1 and plan.shape == region.shape:
        flat = region.merged()
        if flat is None or flat.words(len(flat.shape) - 1) < min(plan.words, region.words(plan.axis)):
            break
        region, plan = flat, Plan(flat.shape, len(flat.shape) - 1, plan.words, plan.threads,
                                  run=max(plan.run - 1, 1))
    return region, plan


def sure(condition: Expr) -> bool:
    """True for the constant true."""
    return isinstance(condition, Const) and condition.dtype == BOOL and bool(condition.value)
