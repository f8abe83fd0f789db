"""Loops that only read registers which surely hold values: the everyday case, told without going through them."""

from __future__ import annotations

from collections.abc import Callable

from ptxspec.lang import ir
from ptxspec.proof.numeric import NotNumeric, points
from ptxspec.proof.registers import MAX_POINTS, Values, rows_of
from ptxspec.proof.state import State
from ptxspec.proof.tree import Branch, Loop, Node, Registers, Step
from ptxspec.scalar.expr import Var


def surely_read(
    node: Loop, values: Values, state: State, trips: Callable[[ir.For, Values], range | None]
) -> list[Registers] | None:
    """The reads of a nest that does nothing else to registers, where all of them hold values; else None."""
    reads: list[tuple[Registers, tuple[Var, ...]]] = []

    def gather(nodes: tuple[Node, ...], around: tuple[Var, ...]) -> bool:
        for inner in nodes:
            if isinstance(inner, Loop):
                if trips(inner.statement, values) is None or not gather(inner.body, (*around, inner.statement.var)):
                    return False
            elif isinstance(inner, Step):
                if any(r.kind != "read" for r in inner.registers) or any(
                    a.buffer.scope == "local" for a in inner.memory
                ):
                    return False
                reads.extend((r, around) for r in inner.registers)
            elif isinstance(inner, Branch):
                return False
        return True

    if not gather((node,), ()):
        return None
    for registers, around in reads:
        try:
            function, loops, _ = rows_of(registers)
        except NotNumeric:
            return None
        moving = [v for v in loops if v not in values]
        if any(v not in around for v in moving):
            return None
        # Bounds of loop variables cover their values; more points than iterations only ask for more.
        grid = points([*moving, *registers.free], MAX_POINTS)
        if grid is None:
            return None
        where = {v: k for k, v in enumerate([*moving, *registers.free])}
        order = [where.get(v, -1) for v in (*loops, *registers.free)]
        base = [values.get(v, 0) for v in (*loops, *registers.free)]
        slots: set[int] = set()
        for point in grid:
            slots.update(function(*(point[k] if k >= 0 else b for k, b in zip(order, base, strict=True))))
        width = range(registers.word_bytes)
        if any(state.get((registers.buffer, s + b), frozenset()) is not None for s in slots for b in width):
            return None
    return [registers for registers, _ in reads]
