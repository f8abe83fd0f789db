"""The lockstep machine: all threads of a batch of blocks, one instruction at a time.

Threads at one instruction form a group and execute together. Of several groups the one with the smallest instruction
number goes first, so the branches and loops of structured code come together again by themselves. Threads at a
barrier are parked until their block is complete.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np

from ptxspec.diagnostics import Span

from ..memory import MemoryTrap, Region
from . import races
from .barriers import Barriers, Missing
from .cluster import ClusterBarrier
from .faults import Fault
from .program import Code, Program
from .state import Active, Batch, Index, Undefined, coordinates, demand
from .values import Bits, Mask

SPIN_CHECK = 512  # backward branches between two looks whether a loop makes no progress
QUANTUM = 256  # instructions that other groups get when the first one spins


class Stop(Exception):
    """The run ends at its first fault."""


class Machine:
    """Runs one batch; ``faults`` grows as they are found. ``stop`` ends the run at the first."""

    def __init__(self, program: Program, batch: Batch, faults: list[Fault], line_map: Mapping[int, Span], *, stop: bool,
                 step_limit: int) -> None:
        self._program = program
        self._batch = batch
        self._faults = faults
        self._line_map = line_map
        self._stop = stop
        self._limit = step_limit
        self._heap: list[int] = []
        self._groups: dict[int, Active] = {}
        self._held: list[tuple[int, Active]] = []
        self._held_until = 0
        self._barriers = Barriers(batch)
        self._clusters = ClusterBarrier(batch)
        self._current: Code | None = None
        self._spins = 0
        self._snapshot: tuple[int, int, int, list[Bits]] | None = None
        batch.on_race = self._race

    def run(self) -> int:
        """Run to the end of all threads; the number of thread instructions executed."""
        batch, code = self._batch, self._program.code
        executed = 0
        self._push(0, Active(batch.threads))
        while True:
            chosen = self._next()
            if chosen is None:
                return executed
            pc, active = chosen
            while pc < len(code):
                batch.issue += 1
                if batch.issue > self._limit:
                    self._endless(code[pc], active, f"the limit of {self._limit} steps is reached")
                    return executed
                done, follow = self._execute(code[pc], pc, active)
                executed += done
                if follow is None:
                    break
                pc, active = follow
                if (self._heap and pc >= self._heap[0]) or (self._held and batch.issue >= self._held_until):
                    self._push(pc, active)
                    break

    def _push(self, pc: int, active: Active) -> None:
        if not active.count:
            return
        waiting = self._groups.get(pc)
        if waiting is None:
            heapq.heappush(self._heap, pc)
            self._groups[pc] = active
            return
        index = np.sort(np.concatenate([waiting.threads(), active.threads()]))
        self._groups[pc] = Active(index.size, None if index.size == self._batch.threads else index)

    def _next(self) -> tuple[int, Active] | None:
        if self._held and (not self._heap or self._batch.issue >= self._held_until):
            held, self._held = self._held, []
            for pc, active in held:
                self._push(pc, active)
        if not self._heap:
            missing = self._barriers.deadlock() or self._clusters.deadlock()
            if missing is not None:
                self._divergent(missing)
                return self._next()
            return None
        pc = heapq.heappop(self._heap)
        return pc, self._groups.pop(pc)

    def _execute(self, code: Code, pc: int, active: Active) -> tuple[int, tuple[int, Active] | None]:
        """One instruction: threads that executed it and where the group goes on (None: nobody is left here)."""
        batch = self._batch
        self._current = code
        chosen: Active | None = active
        rest: Active | None = None
        try:
            if code.guard >= 0:
                lane = batch.registers[code.guard].read(active)
                test = demand(lane, active)
                mask: Mask = np.asarray(~test if code.negated else test, bool)
                taken = active.narrow(mask)
                if taken is not active:
                    rest = active.narrow(~mask)
                chosen = taken if taken.count else None
            if chosen is not None and code.run is not None:
                code.run(batch, chosen)
            if chosen is not None and code.control is not None:
                return chosen.count, self._transfer(code, pc, chosen, rest)
        except (MemoryTrap, Undefined) as trap:
            threads = chosen if chosen is not None else active
            left = self._trap(code, trap, threads, active)
            return 0, (pc, left) if left.count else None
        except Missing as missing:
            self._divergent(missing)
            return 0, None
        return chosen.count if chosen is not None else 0, (pc + 1, active)

    def _transfer(self, code: Code, pc: int, chosen: Active, rest: Active | None) -> tuple[int, Active] | None:
        control = code.control
        assert control is not None
        if control.kind == "branch":
            if rest is not None:
                self._push(pc + 1, rest)
            if code.target <= pc and self._spinning(code, pc, chosen):
                return None
            return code.target, chosen
        if control.kind == "exit":
            self._batch.ended[chosen.threads()] = True
            self._release()
            return None if rest is None else (pc + 1, rest)
        at = self._clusters if control.scope == "cluster" else self._barriers
        released = at.arrive(control, pc, chosen)
        for after, group in released:
            self._push(after + 1, group)
        return None if rest is None else (pc + 1, rest)

    def _spinning(self, code: Code, pc: int, active: Active) -> bool:
        """Look after loops: True when the group was set aside, or ended because it can never end."""
        self._spins += 1
        if self._spins < SPIN_CHECK:
            return False
        batch = self._batch
        if self._snapshot is None or self._snapshot[:3] != (pc, active.count, batch.writes):
            if self._spins > 2 * SPIN_CHECK:
                self._spins = 0
            state = [register.bits.copy() for register in batch.registers]
            self._snapshot = (pc, active.count, batch.writes, state)
            return False
        before = self._snapshot[3]
        self._snapshot = None
        self._spins = 0
        if any(not np.array_equal(a, r.bits) for a, r in zip(before, batch.registers)):
            return False
        if self._heap or self._held:
            # It may wait for a thread of another group: let those run for a while.
            if self._heap:
                self._held.append((code.target, active))
                self._held_until = batch.issue + QUANTUM
                return True
            return False
        self._endless(code, active, "its registers and memory repeat, so this loop can never end")
        return True

    def _endless(self, code: Code, active: Active, detail: str) -> None:
        self._add(code, "step-limit", int(active.threads()[0]), count=active.count, detail=detail)

    def _trap(self, code: Code, trap: MemoryTrap | Undefined, chosen: Active, active: Active) -> Active:
        threads = chosen.threads()[trap.positions]
        first = int(threads[0])
        if isinstance(trap, Undefined):
            self._add(code, "undefined", first, count=threads.size, detail=trap.what)
        else:
            self._add(code, trap.kind, first, count=threads.size, detail=trap.detail, address=trap.address,
                      size=trap.size, buffer=trap.buffer, offset=trap.offset, extent=trap.extent)
        keep = np.ones(self._batch.threads, bool)
        keep[threads] = False
        self._kill(threads)
        return active.narrow(keep[active.threads()])

    def _kill(self, threads: Index) -> None:
        self._barriers.kill(threads)
        self._clusters.kill(threads)
        try:
            for after, group in self._barriers.recheck():
                self._push(after + 1, group)
        except Missing as missing:   # with these threads gone another barrier turns out to be divergent
            self._divergent(missing)
        self._release()

    def _release(self) -> None:
        for after, group in self._clusters.recheck():
            self._push(after + 1, group)

    def _divergent(self, missing: Missing) -> None:
        code = self._program.code[missing.pc]
        batch = self._batch
        detail, where = "never arrives there", None
        if missing.other is not None:
            where = batch.where(missing.other)
            if missing.other_pc is not None:
                other = self._program.code[missing.other_pc]
                detail = f"waits at PTX line {other.line} instead: {other.text}"
            elif missing.ended:
                detail = "has ended without arriving"
        self._add(code, "divergent-barrier", missing.thread, count=missing.threads.size, detail=detail,
                  other=where)
        self._kill(missing.threads)

    def _race(self, race: races.Race, region: Region, width: int, active: Active) -> None:
        assert self._current is not None
        batch = self._batch
        name, inside, extent = region.locate(race.byte)
        block, thread = races.tag_parts(race.other)
        shape = batch.shape
        self._add(self._current, "race", int(active.threads()[race.position]), count=race.count,
                  detail=f"one does a {race.kind}, the other did a {race.other_kind}", address=region.base + race.byte,
                  size=width, buffer=name, offset=inside, extent=extent,
                  other=(coordinates(thread, shape.block), coordinates(block, shape.grid)))

    def _add(self, code: Code, kind: str, thread: int, *, count: int, detail: str = "", address: int | None = None,
             size: int = 0, buffer: str = "", offset: int | None = None, extent: int | None = None,
             other: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None) -> None:
        where, block = self._batch.where(thread)
        known = any(f.kind == kind and f.line == code.line for f in self._faults)
        if not known:
            self._faults.append(Fault(
                kind, where, block, code.line, code.text, detail, self._line_map.get(code.line), address, size, buffer,
                offset, extent, other[0] if other else None, other[1] if other else None, count))
        if self._stop:
            raise Stop
