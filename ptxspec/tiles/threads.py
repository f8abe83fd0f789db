"""Values of single threads as tiles, and back: one thread's value everywhere, every thread's value in its place."""

from __future__ import annotations

from ptxspec.lang import ir
from ptxspec.lang.errors import refuse, said
from ptxspec.lang.trace import Tracer, current
from ptxspec.scalar import typed
from ptxspec.scalar.expr import Const, Expr, is_float, is_integer
from ptxspec.tiles.build import registers, when
from ptxspec.tiles.elementwise import read
from ptxspec.tiles.mapped import number_of
from ptxspec.tiles.plan import Plan
from ptxspec.tiles.shared import SharedTile
from ptxspec.tiles.tape import TapedTile, Taping
from ptxspec.tiles.tile import RegisterTile


def of_thread(value: object, thread: object) -> Expr:
    """The value that ``thread`` of the block has, for all of them; every thread comes by. Codes K231, K243."""
    tracer = current("tile_from_thread")
    span = tracer.place()
    number = number_of(value, span, "tile_from_thread is given")
    where = typed.literal(thread, "int32") if isinstance(thread, int) and not isinstance(thread, bool) else thread
    known = int(where.value) if isinstance(where, Const) and is_integer(where.dtype) else None
    if not isinstance(where, Expr) or not is_integer(where.dtype) or \
            (known is not None and not 0 <= known < tracer.threads):
        refuse("K231", f"thread_idx is a thread of the block, 0 to {tracer.threads - 1}, not {said(thread)}", span)
    if isinstance(number, Const):
        return number
    if isinstance(tracer, Taping) and is_float(number.dtype):
        return number       # gradients have no values
    mine = tracer.linear_thread()
    if known is None:       # every thread has a place, so that the one read has been written whichever it is
        cell, at, place = SharedTile.alloc(tracer, (tracer.threads,), number.dtype), (mine,), where
        tracer.emit(ir.Store(cell.ir, at, number, span))
    else:
        cell, place = SharedTile.alloc(tracer, (1,), number.dtype), typed.literal(0, "int32")
        with when(tracer, typed.compare("eq", mine, where)):
            tracer.emit(ir.Store(cell.ir, (place,), number, span))
    cell.filled()
    return read(tracer, cell, (place,))


def everyones(tracer: Tracer) -> Plan:
    """One element for each thread of the block."""
    return Plan((tracer.threads,), 0, 1, tracer.threads)


def tile_of_threads(value: object) -> RegisterTile:
    """The 1-D tile of all threads' values, each in the place of its thread. Code K243."""
    tracer = current("tile")
    number, plan = number_of(value, tracer.place(), "tile is given"), everyones(tracer)
    if isinstance(tracer, Taping) and is_float(number.dtype):
        return TapedTile(tracer, plan.shape, number.dtype, plan)  # type: ignore[return-value]
    cells = registers(tracer, (1, 1), number.dtype, "tile")
    at = (typed.literal(0, "int32"), typed.literal(0, "int32"))
    tracer.emit(ir.Store(cells.ir, at, number, tracer.place()))
    return RegisterTile(tracer, plan.shape, number.dtype, plan, cells)


def own_value(t: RegisterTile) -> Expr:
    """The element of a tile of :func:`everyones` that is the executing thread's."""
    at = (typed.literal(0, "int32"), typed.literal(0, "int32"))
    tracer = current("untile")
    return read(tracer, t.under(everyones(tracer)), at)
