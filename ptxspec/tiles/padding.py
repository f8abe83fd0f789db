"""Rows of shared tiles put further apart, where lanes that read across them would wait on one bank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod

from ptxspec.diagnostics import KernelError
from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes
from ptxspec.lang.target import target
from ptxspec.lang.tensor import TensorView
from ptxspec.lang.trace import Tracer
from ptxspec.layout import S, TileLayout
from ptxspec.proof.limits import shared_limit
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Const, Poly
from ptxspec.tiles.banks import STATIC, WORD, accesses, conflicts, moved, phases, size_of, worst
from ptxspec.tiles.build import issue

#: Trips of a loop that only a launch knows, for comparing layouts.
SOME = 8
#: Bytes by which rows are padded: so that whole vectors keep their alignment, or by one bank.
VECTOR = 16

Changed = tuple[ir.Kernel, ir.Buffer]


def better(tracer: Tracer, kernel: ir.Kernel, tile: ir.Buffer) -> tuple[ir.Kernel, ir.Buffer, str] | None:
    """The kernel with the layout of ``tile`` that keeps lanes waiting least, and a note; None where it is this one."""
    before = worst(kernel, tile)
    if before <= 1:
        return None
    best, least, words = None, waiting(kernel, tile), ""
    word = max(WORD, element_bytes(tile.dtype))
    for pad, single in ((VECTOR, False), (word, True)):
        changed = padded(tracer, kernel, tile, pad, single=single)
        if changed is not None and waiting(*changed) < least:
            best, least = changed, waiting(*changed)
            after = worst(*changed)
            left = "no lanes wait on one bank" if after == 1 else f"at worst {after} lanes wait on one bank"
            words = (f"{tile.span}: rows of `{tile.name}` are padded by {pad} bytes: {left}, not {before}"
                     + (f"; its vectors travel {word} bytes at a time" if single else ""))
    return None if best is None else (*best, words)


def waiting(kernel: ir.Kernel, tile: ir.Buffer) -> int:
    """How often a warp's accesses to ``tile`` go to shared memory, all loops counted."""
    total = 0
    for times, statement in weighted(kernel.body):
        for _, view, size, count in conflicts(kernel, (statement,)):
            if view.buffer is tile:
                total += times * phases(size) * count
    return total


def weighted(body: tuple[ir.Statement, ...], times: int = 1) -> Iterator[tuple[int, ir.Statement]]:
    """Every statement that is no loop or branch, with how often it runs."""
    for statement in body:
        if isinstance(statement, ir.For):
            span = (statement.start, statement.stop, statement.step)
            known = [s.value for s in span if isinstance(s, Const)]
            trips = len(range(*known)) if len(known) == len(span) else SOME  # type: ignore[arg-type]
            yield from weighted(statement.body, times * trips)
        elif isinstance(statement, ir.If):
            yield from weighted((*statement.then, *statement.orelse), times)
        else:
            yield times, statement


def padded(tracer: Tracer, kernel: ir.Kernel, tile: ir.Buffer, pad: int, *, single: bool) -> Changed | None:
    """The kernel with rows of ``tile`` ``pad`` bytes further apart, and with its vectors moved in ``single`` words.

    None where its views rest on rows without gaps, and where memory does not suffice.
    """
    size = element_bytes(tile.dtype)
    shape = [e.const for e in tile.shape]
    if len(shape) < 2 or tile.layout != TileLayout.row_major(tile.shape) or pad % size or shape[-1] * size % WORD:
        return None
    if any(not isinstance(step, (ir.Sub, ir.Permute, ir.Reinterpret)) for _, view, *_ in accesses(kernel.body)
           if view.buffer is tile and by_rows(view) is None for step in view.steps):
        return None
    pitch = shape[-1] + pad // size
    strides = [1]
    for k in reversed(range(1, len(shape))):
        strides.insert(0, pitch if k == len(shape) - 1 else strides[0] * shape[k])
    layout = TileLayout(S[tuple(shape):tuple(strides)])
    total = sum(size_of(b) for b in kernel.buffers if b.scope == "shared" and b is not tile)
    new = replace(tile, layout=layout)
    if total + size_of(new) > (STATIC if total + size_of(tile) <= STATIC else shared_limit(target())):
        return None     # static memory stays static; what is dynamic anyway may take what the target has
    body = tuple(moved(s, tile, new) for s in _each(kernel.body, lambda s: (with_rows(s, tile),)))
    if single:
        with suppress(KernelError):
            body = _each(body, lambda s: in_words(tracer, s, new))
            return replace(kernel, buffers=tuple(new if b is tile else b for b in kernel.buffers), body=body), new
        return None
    return replace(kernel, buffers=tuple(new if b is tile else b for b in kernel.buffers), body=body), new


def with_rows(statement: ir.Statement, tile: ir.Buffer) -> ir.Statement:
    """The statement with runs of the flattened tile taken from its rows."""
    if not isinstance(statement, ir.Apply):
        return statement
    return replace(statement, operands=tuple(
        (by_rows(o) or o) if isinstance(o, ir.View) and o.buffer is tile else o for o in statement.operands))


def by_rows(view: ir.View) -> ir.View | None:
    """A run inside one row of a tile, found by its place in the flattened tile, as a run of that row; None for others.

    A run of ``n`` elements from a multiple of ``n`` on stays in one row when ``n`` divides the row.
    """
    if len(view.steps) < 2 or not isinstance(view.steps[0], ir.Relayout) or not isinstance(view.steps[1], ir.Sub):
        return None
    flat, taken = view.steps[0], view.steps[1].axes
    total = prod(e.const for e in view.buffer.shape)
    count, row = taken[0].extent, view.buffer.shape[-1].const
    if len(flat.shape) != 1 or flat.shape[0] != ix.constant(total) or flat.layout != TileLayout(S[(total,):(1,)]) \
            or taken[0].step != 1 or not taken[0].keep or not count.is_const or row % count.const \
            or not _divides(count.const, ix.index(taken[0].start)):
        return None
    start, items, below = ix.index(taken[0].start), [], total
    for extent in view.buffer.shape[:-1]:
        below //= extent.const
        items.append(ix.floormod(ix.floordiv(start, below), extent.const))
    first = ix.floormod(start, row)
    run = TensorView(ir.View(view.buffer, (), view.buffer.shape, view.buffer.dtype, view.span)).sub[
        (*items, slice(first, ix.add(first, count)))]
    for step in view.steps[2:]:
        if not isinstance(step, ir.Reinterpret):
            return None
        run = run.view(step.dtype)
    return run.ir


def _divides(count: int, value: Poly) -> bool:
    return value.const % count == 0 and all(factor % count == 0 for _, factor in value.terms)


def in_words(tracer: Tracer, statement: ir.Statement, tile: ir.Buffer) -> tuple[ir.Statement, ...]:
    """A vector access to ``tile`` as one access for each lane; other statements as they are."""
    if not isinstance(statement, ir.Apply) or not any(isinstance(o, ir.View) and o.buffer is tile
                                                      for o in statement.operands):
        return (statement,)
    parts = statement.use.opcode.split(".")
    vector = next((p for p in parts if p[0] == "v" and p[1:].isdigit()), None)
    if vector is None or statement.scope != "thread" or statement.repeat or statement.cache_policy is not None:
        return (statement,)
    opcode = ".".join(p for p in parts if p != vector)
    place, tracer.place = tracer.place, lambda: statement.span
    try:
        with tracer.block() as found:
            for lane in range(int(vector[1:])):
                run = [TensorView(o).sub[lane:lane + 1] if isinstance(o, ir.View) else o for o in statement.operands]
                issue(tracer, opcode, *run, pred=statement.pred, preserve=statement.preserve_dst)
    finally:
        tracer.place = place
    return tuple(found)


def _each(body: tuple[ir.Statement, ...],
          change: Callable[[ir.Statement], tuple[ir.Statement, ...]]) -> tuple[ir.Statement, ...]:
    result: list[ir.Statement] = []
    for statement in body:
        if isinstance(statement, ir.For):
            statement = replace(statement, body=_each(statement.body, change))
        elif isinstance(statement, ir.If):
            statement = replace(statement, then=_each(statement.then, change), orelse=_each(statement.orelse, change))
        result.extend(change(statement))
    return tuple(result)
