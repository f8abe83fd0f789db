"""One thread that reads a byte of shared memory which nobody wrote: what is fixed about it, and what was written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.defined_findings import Failure, Place, repeats
from ptxspec.proof.defined_store import Store
from ptxspec.proof.facts import Fact
from ptxspec.proof.tree import Access, Threads
from ptxspec.scalar.expr import Expr, Var


@dataclass(frozen=True, slots=True)
class Spot:
    """A unit of memory as one thread reads it: in which repeat, and the how-manieth of its access."""

    thread: int
    repeat: int
    within: int
    unit: int


def failure(threads: Threads, access: Access, place: Place, store: Store, spot: Spot,
            unless: list[tuple[Expr, ...]]) -> Failure:
    """The example with everything that fixes it: repeats, the thread, iterations."""
    facts = list(place.facts)
    x, y, _ = threads.block
    ids = (spot.thread % x, spot.thread // x % y, spot.thread // (x * y))
    known: list[tuple[Var, int]] = list(zip(access.free, repeats(access)[spot.repeat], strict=True))
    known += [(var, value) for var, value in zip(threads.tid, ids, strict=True) if var.lo != var.hi]
    for name, values in place.env.items():
        if isinstance(values, np.ndarray) and isinstance(name, Var) and name.role == "loop":
            known.append((name, int(np.broadcast_to(values, (threads.count, 1))[spot.thread, 0])))
    facts += [Fact(var.name, "", formula.eq(var, value), None, "thread") for var, value in known]
    written: list[tuple[ir.Statement, int, int, int]] = []
    for statement, bits in store.by.items():
        touched = np.flatnonzero(bits)
        if touched.size:
            first, last = int(touched[0]), int(touched[-1])
            end = store.low + (last + 1) * store.unit - 1
            written.append((statement, store.low + first * store.unit, end, touched.size * store.unit))
    byte = store.low + spot.unit * store.unit
    return Failure(byte, spot.within * store.unit, tuple(facts), tuple(written), tuple(unless))
