"""Barriers that tile operations bring along: each stands only where the kernel would race without it.

They are put in wherever threads might still be reading, or not yet have written. When the kernel is complete, each is
taken out in turn, and stays out if the prover then still shows the kernel free of races.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ptxspec.lang import ir
from ptxspec.lang.trace import Tracer

#: More barriers than this are kept without being tried.
MOST = 16


class Inserted:
    """The barriers of one kernel, with the reason for each."""

    def __init__(self, tracer: Tracer) -> None:
        self.reasons: dict[ir.Barrier, str] = {}
        tracer.finishers.append(self.prune)

    def prune(self, kernel: ir.Kernel) -> ir.Kernel:
        """The kernel without the barriers that nothing needs; its notes say why each of the others stands."""
        mine = [b for b in barriers(kernel.body) if b in self.reasons]
        if not mine:
            return kernel
        bare = without(kernel, set(mine))
        races = clash(bare)
        if races is None:     # mostly so, and then the only question to the prover
            return replace(bare, notes=(*bare.notes, *(f"{b.span}: no barrier {self.reasons[b]}: nothing races without"
                                                       for b in mine)))
        if len(mine) > MOST or clash(kernel) is not None:
            return kernel       # what does not prove with all of them is explained with all of them
        notes: list[str] = []
        for barrier in dearest_first(kernel.body, mine):
            tried = without(kernel, {barrier})
            why = races if len(mine) == 1 else clash(tried)
            if why is None:
                kernel = tried
                notes.append(f"{barrier.span}: no barrier {self.reasons[barrier]}: nothing races without")
            else:
                notes.append(f"{barrier.span}: a barrier {self.reasons[barrier]}: without it, {why}")
        return replace(kernel, notes=(*kernel.notes, *notes))


def of(tracer: Tracer) -> Inserted | None:
    """The barriers put into the kernel so far."""
    owners = [getattr(f, "__self__", None) for f in tracer.finishers]
    return next((o for o in owners if isinstance(o, Inserted)), None)


def insert(tracer: Tracer, reason: str) -> None:
    """A barrier here; ``reason`` completes "a barrier ..."."""
    inserted = of(tracer) or Inserted(tracer)
    barrier = ir.Barrier("cta", tracer.place())
    inserted.reasons[barrier] = reason
    tracer.emit(barrier)


def clash(kernel: ir.Kernel) -> str | None:
    """What the prover says about the first race that it cannot rule out; None when there is none."""
    from ptxspec.proof import cache
    from ptxspec.proof.discharge import Resolver, _digest
    from ptxspec.proof.race import race_drafts
    from ptxspec.proof.solver import Session
    from ptxspec.proof.walk import Walker
    walker = Walker(kernel)
    resolver = Resolver(Session(cache=cache.open_cache(_digest())), walker, "sm_90")
    for draft in race_drafts(walker):
        obligation = resolver.resolve(draft)
        if obligation.verdict != "proved":
            return obligation.message
    return None


def dearest_first(body: tuple[ir.Statement, ...], mine: list[ir.Barrier]) -> list[ir.Barrier]:
    """The barriers inside loops before those outside: where one of two will do, the one that runs less often stays."""
    depth: dict[ir.Barrier, int] = {}

    def visit(statements: tuple[ir.Statement, ...], loops: int) -> None:
        for statement in statements:
            if isinstance(statement, ir.Barrier):
                depth[statement] = loops
            elif isinstance(statement, ir.For):
                visit(statement.body, loops + 1)
            elif isinstance(statement, ir.If):
                visit((*statement.then, *statement.orelse), loops)

    visit(body, 0)
    return sorted(mine, key=lambda barrier: -depth[barrier])


def barriers(body: tuple[ir.Statement, ...]) -> list[ir.Barrier]:
    """Every barrier, in program order."""
    found: list[ir.Barrier] = []
    for statement in body:
        if isinstance(statement, ir.Barrier):
            found.append(statement)
        elif isinstance(statement, ir.For):
            found += barriers(statement.body)
        elif isinstance(statement, ir.If):
            found += [*barriers(statement.then), *barriers(statement.orelse)]
    return found


def without(kernel: ir.Kernel, gone: set[ir.Barrier]) -> ir.Kernel:
    """The kernel with these barriers taken out."""
    return replace(kernel, body=_filtered(kernel.body, lambda s: s not in gone))


def _filtered(body: tuple[ir.Statement, ...], keep: Callable[[ir.Statement], bool]) -> tuple[ir.Statement, ...]:
    result: list[ir.Statement] = []
    for statement in body:
        if not keep(statement):
            continue
        if isinstance(statement, ir.For):
            statement = replace(statement, body=_filtered(statement.body, keep))
        elif isinstance(statement, ir.If):
            statement = replace(statement, then=_filtered(statement.then, keep),
                                orelse=_filtered(statement.orelse, keep))
        result.append(statement)
    return tuple(result)
