"""Launching: arguments become buffers and parameters, and the grid runs batch by batch."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import NDArray

from ptxspec.diagnostics import Note, Span

from ..memory import Bytes, GlobalMemory, Region, Variable, variable_region
from .faults import Fault, SimulationFault, bad_launch
from .machine import Machine, Stop
from .program import Program, Resolver, compile_program, pack_scalar
from .state import Active, Batch, Register, Shape, Triple, block_numbers

STEP_LIMIT = 1_000_000
_BATCH_THREADS = 1 << 16
_BATCH_BYTES = 1 << 29
MAX_BLOCK_THREADS = 1024


@dataclass(frozen=True, slots=True)
class PointerArgument:
    """A global buffer: the memory of ``array``, read and written in place; the kernel gets its first element's address.

    Any strides are allowed, negative ones too; bytes between the elements count as outside the buffer.
    ``residue`` is the address of the lowest byte modulo 256; None takes it from the array's place in the array that
    it is a view of, as if that one began at a 256-byte boundary. ``initialized`` False makes every byte undefined
    until the kernel writes it.
    """

    array: NDArray[np.generic]
    name: str = ""
    residue: int | None = None
    initialized: bool = True


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A scalar parameter: a number of PTX type ``type`` (``s32``, ``f32``...), or its bytes as they are."""

    value: int | float | bool | bytes
    type: str = "s32"
    name: str = ""


Argument = PointerArgument | ScalarArgument


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run did. ``instructions_executed`` counts one for each thread, ``steps`` one for each group of threads."""

    faults: tuple[Fault, ...]
    instructions_executed: int
    steps: int
    threads: int
    batches: int
    notes: tuple[str, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """True when no fault was found."""
        return not self.faults

    def raise_if_faulty(self) -> None:
        """Raise :class:`SimulationFault` with all faults, if there are any."""
        if self.faults:
            raise SimulationFault(*self.faults)


def simulate(ptx: str, entry: str, grid: Triple, block: Triple, args: Sequence[Argument], *,
             cluster: Triple = (1, 1, 1), dynamic_shared: int = 0, line_map: Mapping[int, Span] | None = None,
             check_races: bool = True, stop_on_fault: bool = True, step_limit: int = STEP_LIMIT,
             resolve: Resolver | None = None) -> RunResult:
    """Run ``entry`` of the module ``ptx`` on arrays in this process.

    ``dynamic_shared`` is in bytes, ``step_limit`` in instructions issued a batch of blocks; ``line_map`` says which
    line of the kernel a PTX line comes from; ``resolve`` finds the form of an instruction (default: the database).

    With ``stop_on_fault`` the first fault raises :class:`SimulationFault`. Without it a faulty thread ends, the other
    threads go on, and the result lists one fault for each kind and instruction. Raises LaunchError R210 for a module
    that has no meaning here and R211 for a launch that does not fit.
    """
    program = _compiled(ptx, entry) if resolve is None else compile_program(ptx, entry, resolve)
    shape = Shape(grid, block, cluster, dynamic_shared, program.shared_bytes + dynamic_shared)
    _check_shape(program, shape)
    memory = GlobalMemory()
    for variable in program.globals:
        data = np.frombuffer(variable.initial or b"", np.uint8).copy()
        memory.add(variable.name, data)
    params = _parameters(program, args, memory)
    faults: list[Fault] = []
    notes: set[str] = set()
    constants = variable_region("const", program.variables["const"], 1, writable=False)
    size = _batch_blocks(program, shape)
    executed = steps = batches = 0
    with np.errstate(all="ignore"):
        for first in range(0, shape.blocks, size):
            ids = block_numbers(shape, first, min(size, shape.blocks - first))
            batch = _batch(program, shape, ids, memory, check_races)
            batch.regions |= {"param": params, "const": constants}
            machine = Machine(program, batch, faults, line_map or {}, stop=stop_on_fault, step_limit=step_limit)
            try:
                executed += machine.run()
            except Stop:
                raise SimulationFault(*faults) from None
            steps += batch.issue
            batches += 1
            notes |= batch.notes
            if any(f.kind == "step-limit" for f in faults):
                break
    return RunResult(tuple(faults), executed, steps, shape.blocks * shape.block_threads, batches, tuple(sorted(notes)))


@lru_cache(maxsize=32)
def _compiled(ptx: str, entry: str) -> Program:
    return compile_program(ptx, entry)


def _check_shape(program: Program, shape: Shape) -> None:
    for name, extents in (("grid", shape.grid), ("block", shape.block), ("cluster", shape.cluster)):
        if len(extents) != 3 or any(int(e) != e or e < 1 for e in extents):
            raise bad_launch(f"the {name} {extents} is not three extents of at least 1")
    if shape.block_threads > MAX_BLOCK_THREADS:
        raise bad_launch(f"a block of {shape.block_threads} threads is more than {MAX_BLOCK_THREADS}")
    if any(g % c for g, c in zip(shape.grid, shape.cluster)):
        raise bad_launch(f"the grid {shape.grid} is not made of whole clusters {shape.cluster}")
    required = program.directives.get("reqntid")
    if required and (*required, 1, 1)[:3] != tuple(shape.block):
        raise bad_launch(f"the entry is compiled for blocks of exactly {required}, not {shape.block}")
    most = program.directives.get("maxntid")
    if most and shape.block_threads > int(np.prod(most)):
        raise bad_launch(f"the entry is compiled for at most {int(np.prod(most))} threads a block,"
                         f" not {shape.block_threads}")
    if shape.dynamic < 0:
        raise bad_launch(f"{shape.dynamic} bytes of dynamic shared memory")


def _batch_blocks(program: Program, shape: Shape) -> int:
    each = shape.block_threads * max(program.thread_bytes(), 1) + 2 * (shape.shared + 4096)
    blocks = min(_BATCH_THREADS // shape.block_threads, _BATCH_BYTES // each)
    together = shape.cluster_blocks
    return min(max(together, blocks // together * together), shape.blocks)


def _no_race(race: object, region: Region, width: int, active: Active) -> None:
    raise AssertionError("a race before the machine is set up")


def _batch(program: Program, shape: Shape, ids: NDArray[np.int64], memory: GlobalMemory, races: bool) -> Batch:
    blocks, threads = ids.size, ids.size * shape.block_threads
    names = program.names
    registers = [Register(name, width, threads) for name, width in zip(names.labels, names.widths)]
    shared = [Variable(v.name, shape.dynamic if v.name in program.dynamic else v.size, v.align)
              for v in program.variables["shared"]]
    regions = {"shared": variable_region("shared", shared, blocks, writable=True)}
    if program.variables["local"]:
        regions["local"] = variable_region("local", program.variables["local"], threads, writable=True)
    return Batch(shape, ids, registers, memory, regions, races, _no_race)


def _parameters(program: Program, args: Sequence[Argument], memory: GlobalMemory) -> Region:
    params = program.params
    if len(args) != len(params):
        raise bad_launch(f"{program.entry} has {len(params)} parameters and {len(args)} arguments were given",
                         Note("note", "parameters: " + (", ".join(p.name for p in params) or "none")))
    pointers = _place_arrays([a for a in args if isinstance(a, PointerArgument)], memory)
    values = []
    at = 0
    for param, argument in zip(params, args):
        if isinstance(argument, PointerArgument):
            address = pointers[at]
            at += 1
            align = _pointer_alignment(param.pointer)
            if address % align:
                raise bad_launch(f"parameter {param.name} promises an alignment of {align} bytes and"
                                 f" {argument.name or 'its array'} is only aligned to {address & -address}")
            raw = address.to_bytes(8, "little")
        elif isinstance(argument.value, bytes):
            raw = argument.value
        else:
            raw = pack_scalar(argument.value, argument.type)
        if len(raw) != param.size:
            raise bad_launch(f"parameter {param.name} has {param.size} bytes and its argument has {len(raw)}")
        values.append(Variable(param.name, param.size, param.align, raw))
    return variable_region("param", values, 1, writable=False)


def _pointer_alignment(pointer: str | None) -> int:
    for word in (pointer or "").replace("align", " align ").split():
        if word.strip(". ").isdigit():
            return max(int(word.strip(". ")), 1)
    return 1


def _place_arrays(arguments: list[PointerArgument], memory: GlobalMemory) -> list[int]:
    """Addresses of the first elements. Arrays that share memory share a buffer."""
    spans = [byte_bounds(a.array) if a.array.size else (a.array.ctypes.data, a.array.ctypes.data) for a in arguments]
    order = sorted(range(len(arguments)), key=lambda k: spans[k])
    groups: list[list[int]] = []
    end = -1
    for k in order:
        low, high = spans[k]
        if groups and low < end:
            groups[-1].append(k)
        else:
            groups.append([k])
        end = max(end, high)
    # In the order of the arguments, so that addresses do not depend on where this process has its memory.
    addresses = [0] * len(arguments)
    for group in sorted(groups, key=min):
        low, high = min(spans[k][0] for k in group), max(spans[k][1] for k in group)
        members = [arguments[k] for k in group]
        region = memory.add(
            "/".join(m.name or f"argument {k}" for k, m in sorted(zip(group, members), key=lambda pair: pair[0])),
            _memory(low, high - low), residue=_residue(members, low),
            owned=_owned(members, low, high - low), defined=_defined(members, low, high - low),
            writable=all(m.array.flags.writeable for m in members))
        for k in group:
            addresses[k] = region.base + arguments[k].array.ctypes.data - low
    return addresses


def _memory(start: int, size: int) -> Bytes:
    if size == 0:
        return np.zeros(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(start))


def _residue(members: list[PointerArgument], low: int) -> int:
    given = [m.residue for m in members if m.residue is not None]
    if given:
        return given[0]
    root: object = members[0].array
    while isinstance(root, np.ndarray) and isinstance(root.base, np.ndarray):
        root = root.base
    assert isinstance(root, np.ndarray)
    return (low - byte_bounds(root)[0]) % 256 if root.size else 0


def _view_of(flags: Bytes, member: PointerArgument, low: int) -> NDArray[np.generic]:
    """The bytes of the array's elements in a byte map of its span: [..., itemsize]."""
    array = member.array
    start = flags[array.ctypes.data - low:]
    return np.lib.stride_tricks.as_strided(start, (*array.shape, array.itemsize), (*array.strides, 1))


def _owned(members: list[PointerArgument], low: int, size: int) -> NDArray[np.bool_] | None:
    if size == 0 or any(m.array.nbytes == size for m in members):
        return None
    marks = np.zeros(size, np.uint8)
    for member in members:
        if member.array.size:
            _view_of(marks, member, low)[...] = 1
    return None if marks.all() else marks.view(np.bool_)


def _defined(members: list[PointerArgument], low: int, size: int) -> Bytes | None:
    if size == 0 or all(m.initialized for m in members):
        return None
    marks = np.zeros(size, np.uint8)
    for member in members:
        if member.initialized and member.array.size:
            _view_of(marks, member, low)[...] = 1
    return marks
