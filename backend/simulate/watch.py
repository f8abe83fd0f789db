"""A launch in which a few threads are watched: only their blocks run, and every fault of theirs is kept.

A usual run ends a thread at its first fault and tells each kind of fault once. A replayed counterexample names one
thread and one byte, so here the named threads execute every instruction by themselves, ahead of the others, and go on
behind an instruction that faulted; races are looked for among the named threads alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ptxspec.diagnostics import Span

from ..memory import GlobalMemory, MemoryTrap, variable_region
from .barriers import Missing
from .faults import Fault
from .launch import STEP_LIMIT, Argument, _batch, _check_shape, _compiled, _parameters
from .machine import Machine
from .program import Code, Program
from .state import Active, Batch, Index, Shape, Triple, Undefined

#: Instructions in which the lanes of a warp take part together: never split.
_COLLECTIVE = frozenset({"shfl", "vote", "match", "redux", "activemask", "elect"})
MOST_FAULTS = 4096


def watch(ptx: str, entry: str, grid: Triple, block: Triple, args: Sequence[Argument],
          watched: Sequence[tuple[Triple, Triple]], *, races: bool, undefined: bool, cluster: Triple = (1, 1, 1),
          dynamic_shared: int = 0, line_map: Mapping[int, Span] | None = None,
          step_limit: int = STEP_LIMIT) -> tuple[Fault, ...]:
    """Run the blocks of the ``watched`` (thread, block) pairs and return the faults of these threads, in order.

    Other blocks of the grid do not run (but those of the same clusters do); arrays are read and written in place.
    ``races`` looks for races; without ``undefined`` registers and memory that were never written read as zero. Raises
    LaunchError R210 and R211 as :func:`~.launch.simulate` does.
    """
    program = _compiled(ptx, entry)
    shape = Shape(grid, block, cluster, dynamic_shared, program.shared_bytes + dynamic_shared)
    _check_shape(program, shape)
    memory = GlobalMemory()
    for variable in program.globals:
        memory.add(variable.name, np.frombuffer(variable.initial or b"", np.uint8).copy())
    params = _parameters(program, args, memory)
    constants = variable_region("const", program.variables["const"], 1, writable=False)
    faults: list[Fault] = []
    with np.errstate(all="ignore"):
        batch = _batch(program, shape, _blocks(shape, [b for _, b in watched]), memory, races)
        batch.regions |= {"param": params, "const": constants}
        if not undefined:
            for register in batch.registers:
                register.undef = None
            for region in batch.regions.values():
                region.defined = None
        WatchedMachine(program, batch, faults, line_map or {}, watched, step_limit=step_limit).run()
    return tuple(faults)


def _blocks(shape: Shape, wanted: Sequence[Triple]) -> NDArray[np.int64]:
    """Linear numbers of the wanted blocks and of the clusters around them."""
    size = shape.cluster
    ids: dict[int, None] = {}
    for block in wanted:
        origin = [b - b % c for b, c in zip(block, size)]
        for rank in range(size[0] * size[1] * size[2]):
            x = origin[0] + rank % size[0]
            y = origin[1] + rank // size[0] % size[1]
            z = origin[2] + rank // (size[0] * size[1])
            ids[x + shape.grid[0] * (y + shape.grid[1] * z)] = None
    return np.array(list(ids), np.int64)


class WatchedMachine(Machine):
    """A machine that keeps the faults of some threads only and lets these threads live on."""

    def __init__(self, program: Program, batch: Batch, faults: list[Fault], line_map: Mapping[int, Span],
                 watched: Sequence[tuple[Triple, Triple]], *, step_limit: int) -> None:
        super().__init__(program, batch, faults, line_map, stop=False, step_limit=step_limit)
        self._looks_for_races = batch.races
        self._kept = faults
        self._skipped: list[Index] = []
        numbers = [_number(batch, thread, block) for thread, block in watched]
        self._watched: Index = np.array(numbers, np.intp)

    def _execute(self, code: Code, pc: int, active: Active) -> tuple[int, tuple[int, Active] | None]:
        self._batch.races = self._looks_for_races
        if code.control is not None or code.run is None or code.text.partition(".")[0] in _COLLECTIVE:
            return super()._execute(code, pc, active)
        threads = active.threads()
        mine = np.isin(threads, self._watched)
        executed, left = 0, []
        for number in self._watched[np.isin(self._watched, threads)]:
            done, after = self._through(code, pc, Active(1, np.array([number], np.intp)))
            executed += done
            left.append(after)
        if not mine.all():
            self._batch.races = False
            done, after = self._through(code, pc, active.narrow(~mine))
            executed += done
            left.append(after)
        index = np.sort(np.concatenate(left))
        if not index.size:
            return executed, None
        return executed, (pc + 1, Active(index.size, None if index.size == self._batch.threads else index))

    def _through(self, code: Code, pc: int, part: Active) -> tuple[int, Index]:
        """The part's threads past one instruction: how many executed it, and which go on (faulty ones too)."""
        executed, self._skipped = 0, []
        while part.count:
            done, follow = super()._execute(code, pc, part)
            executed += done
            if follow is None:
                part = Active(0, np.zeros(0, np.intp))
                break
            at, part = follow
            if at != pc:
                break
        return executed, np.concatenate([part.threads(), *self._skipped])

    def _trap(self, code: Code, trap: MemoryTrap | Undefined, chosen: Active, active: Active) -> Active:
        if code.control is not None:
            return super()._trap(code, trap, chosen, active)
        threads = chosen.threads()[trap.positions]
        first = int(threads[0])
        if isinstance(trap, Undefined):
            self._add(code, "undefined", first, count=1, detail=trap.what)
        else:
            self._add(code, trap.kind, first, count=1, detail=trap.detail, address=trap.address, size=trap.size,
                      buffer=trap.buffer, offset=trap.offset, extent=trap.extent)
        self._skipped.append(threads)
        keep = np.ones(self._batch.threads, bool)
        keep[threads] = False
        return active.narrow(keep[active.threads()])

    def _divergent(self, missing: Missing) -> None:
        at = self._barriers._pc
        here = self._watched[np.isin(self._watched, missing.threads)]
        if here.size:
            first = int(here[0])
            rest = self._watched[self._watched != first]
            other = int(rest[0]) if rest.size else missing.other
            other_pc = int(at[other]) if other is not None and at[other] >= 0 else None
            ended = other is not None and bool(self._batch.ended[other])
            pc = int(at[first]) if at[first] >= 0 else missing.pc
            missing = Missing(pc, first, missing.threads, other, other_pc, ended=ended)
        super()._divergent(missing)

    def _kill(self, threads: Index) -> None:
        try:
            super()._kill(threads)
        except Missing as missing:   # with these gone another barrier turns out to be divergent
            self._divergent(missing)

    def _add(self, code: Code, kind: str, thread: int, *, count: int, detail: str = "", address: int | None = None,
             size: int = 0, buffer: str = "", offset: int | None = None, extent: int | None = None,
             other: tuple[Triple, Triple] | None = None) -> None:
        if len(self._kept) >= MOST_FAULTS or (kind != "step-limit" and thread not in self._watched):
            return
        where, block = self._batch.where(thread)
        self._kept.append(Fault(kind, where, block, code.line, code.text, detail, self._line_map.get(code.line),
                                address, size, buffer, offset, extent, other[0] if other else None,
                                other[1] if other else None, count))


def _number(batch: Batch, thread: Triple, block: Triple) -> int:
    """The number of a thread in the batch."""
    grid, size = batch.shape.grid, batch.shape.block
    linear = block[0] + grid[0] * (block[1] + grid[1] * block[2])
    row = int(np.flatnonzero(batch.ids == linear)[0])
    return row * batch.shape.block_threads + thread[0] + size[0] * (thread[1] + size[1] * thread[2])
