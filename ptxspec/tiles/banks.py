"""Bank conflicts of accesses to shared memory, counted; rows of a tile are padded where that lowers the count.

Shared memory has 32 banks of four bytes. The lanes of a warp are served together (8 bytes a lane: half a warp at a
time, 16 bytes: a quarter); lanes that want different words of one bank wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes, locate
from ptxspec.lang.trace import Tracer
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import evaluate
from ptxspec.scalar.expr import Expr, Poly, variables

WARP, BANKS, WORD = 32, 32, 4
#: Static shared memory of a block.
STATIC = 48 * 1024


class Banks:
    """The shared tiles of one kernel."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.tiles: list[ir.Buffer] = []
        tracer.finishers.append(self.finish)

    def finish(self, kernel: ir.Kernel) -> ir.Kernel:
        """The kernel with the better layout of each tile, and notes on what conflicts are left."""
        from ptxspec.tiles.padding import better
        for k, tile in enumerate(self.tiles):
            found = better(self.tracer, kernel, tile)
            if found is not None:
                kernel, self.tiles[k], note = found
                kernel = replace(kernel, notes=(*kernel.notes, note))
        if len(self.tiles) > 1:
            from ptxspec.tiles.barriers import of
            from ptxspec.tiles.storage import share
            kernel = share(kernel, self.tiles, of(self.tracer))
        left = tuple(dict.fromkeys(
            f"{access.span}: {what} of `{view.buffer.name}`: up to {count} lanes wait on one bank"
            for access, view, _, count, what in told(kernel) if count > 1))
        return replace(kernel, notes=(*kernel.notes, *left))


def watch(tracer: Tracer, tile: ir.Buffer) -> None:
    """Look after the bank conflicts of a shared tile."""
    owners = [getattr(f, "__self__", None) for f in tracer.finishers]
    banks = next((o for o in owners if isinstance(o, Banks)), None) or Banks(tracer)
    banks.tiles.append(tile)


Found = tuple[ir.Statement, ir.View, int, int]


def worst(kernel: ir.Kernel, tile: ir.Buffer) -> int:
    """The most lanes that wait on one bank in any access to ``tile``."""
    return max((count for _, view, _, count in conflicts(kernel) if view.buffer is tile), default=1)


def conflicts(kernel: ir.Kernel, body: tuple[ir.Statement, ...] | None = None) -> Iterator[Found]:
    """Each access to shared memory (of ``body``; by default of all) with its bytes and its count; a count of 1 is none.
    Accesses that cannot be worked out are left out."""
    for statement, view, size, count, _ in told(kernel, body):
        yield statement, view, size, count


def told(kernel: ir.Kernel, body: tuple[ir.Statement, ...] | None = None) -> \
        Iterator[tuple[ir.Statement, ir.View, int, int, str]]:
    """As :func:`conflicts`, with a word for each access."""
    for statement, view, index, words, what in accesses(kernel.body if body is None else body):
        if view.buffer.scope == "shared":
            size = words * element_bytes(view.dtype)
            count = _degree(kernel, view, index, size)
            if count is not None:
                yield statement, view, size, count, what


def phases(size: int) -> int:
    """In how many parts a warp is served when each lane moves ``size`` bytes."""
    return 1 if size <= WORD else max(1, size // WORD)


def accesses(body: tuple[ir.Statement, ...]) -> Iterator[tuple[ir.Statement, ir.View, list[Expr], int, str]]:
    """Every access through a view: its statement, view, first index, elements and a word for it."""
    for s in body:
        if isinstance(s, ir.For):
            yield from accesses(s.body)
        elif isinstance(s, ir.If):
            yield from accesses((*s.then, *s.orelse))
        elif isinstance(s, ir.Load):
            yield s, s.view, list(s.index), 1, "a read"
        elif isinstance(s, ir.Store):
            yield s, s.view, list(s.index), 1, "a write"
        elif isinstance(s, ir.Apply) and s.scope == "thread":
            for view in s.operands:
                if isinstance(view, ir.View) and view.shape[-1].is_const:
                    first: list[Expr] = [ix.ZERO for _ in view.shape]
                    yield s, view, first, view.shape[-1].const, s.use.opcode


def _degree(kernel: ir.Kernel, view: ir.View, index: list[Expr], size: int) -> int | None:
    """Lanes of the first warp that wait on one bank, at the first iteration of every loop."""
    byte = locate(view, index).byte
    tids = {v.role: v for v in kernel.hardware if v.role.startswith("tid")}
    others = [v for v in variables(byte) if v not in tids.values()]
    if any(v.role in ("value", "dim") for v in others):
        return None
    fixed: dict[Expr, int] = {v: v.lo or 0 for v in others}
    width, height, _ = kernel.launch.block
    lanes = min(WARP, width * height * kernel.launch.block[2])
    at: list[int] = []
    for lane in range(lanes):
        place = {"tid.x": lane % width, "tid.y": lane // width % height, "tid.z": lane // (width * height)}
        at.append(_value(byte, {**fixed, **{v: place[r] for r, v in tids.items()}}))
    together = max(1, WARP // phases(size))
    count = 1
    for start in range(0, lanes, together):
        banks: dict[int, set[int]] = {}
        for place_ in at[start:start + together]:
            for word in range(place_ // WORD, (place_ + size - 1) // WORD + 1):
                banks.setdefault(word % BANKS, set()).add(word)
        count = max(count, *(len(words) for words in banks.values()))
    return count


def _value(byte: Poly, env: dict[Expr, int]) -> int:
    value = evaluate(byte, env)
    assert isinstance(value, int)
    return value


def size_of(buffer: ir.Buffer) -> int:
    """Bytes of a buffer's storage."""
    low, high = buffer.layout.memory_range()
    return (high.const - low.const) * element_bytes(buffer.dtype)


def moved(statement: ir.Statement, old: ir.Buffer, new: ir.Buffer) -> ir.Statement:
    """The statement with ``new`` in place of ``old``."""
    def view(v: ir.View) -> ir.View:
        return replace(v, buffer=new) if v.buffer is old else v

    if isinstance(statement, (ir.Load, ir.Store)):
        return replace(statement, view=view(statement.view))
    if isinstance(statement, ir.Apply):
        return replace(statement, operands=tuple(view(o) if isinstance(o, ir.View) else o for o in statement.operands))
    if isinstance(statement, ir.For):
        return replace(statement, body=tuple(moved(s, old, new) for s in statement.body))
    if isinstance(statement, ir.If):
        return replace(statement, then=tuple(moved(s, old, new) for s in statement.then),
                       orelse=tuple(moved(s, old, new) for s in statement.orelse))
    return statement
