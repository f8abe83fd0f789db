"""The launch of a counterexample: arrays, scalars and base addresses as its values ask for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ptxspec.lang.ir import Buffer, Kernel
from ptxspec.lang.locate import element_bytes, locate
from ptxspec.layout import TileLayout
from ptxspec.proof.tree import threads_of
from ptxspec.proof.twin import Source, sources
from ptxspec.proof.walk import Walker
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import BOOL, Expr, Op, Var, is_float

from .emit.types import float_bits
from .simulate import PointerArgument, ScalarArgument

if TYPE_CHECKING:
    from ptxspec.proof import Counterexample

    from .emit import Module

Env = dict[Expr, int]
MOST_BYTES = 1 << 32   # zero pages cost nothing until they are touched


class NotStaged(Exception):  # noqa: N818
    """The counterexample cannot be run; the text says why."""


@dataclass(frozen=True, slots=True)
class Array:
    """The memory of one array parameter: ``start`` is the byte of ``memory`` that the kernel's pointer names."""

    memory: NDArray[np.uint8]
    start: int


@dataclass(frozen=True, slots=True)
class Stage:
    """Arguments in the entry's order, the arrays by buffer, and the values the launch uses."""

    arguments: list[PointerArgument | ScalarArgument]
    arrays: dict[Buffer, Array]
    env: Env


def launch_values(kernel: Kernel, example: Counterexample) -> Env:
    """The counterexample's values; dimensions and scalars it does not mention get the smallest value allowed."""
    env: Env = dict(example.env)
    for variable in (*kernel.dims, *(p for p in kernel.params if isinstance(p, Var))):
        if variable not in env and not is_float(variable.dtype):
            named = example.values.get(variable.name)
            env[variable] = named if named is not None else max(variable.lo or 0, 1 if variable.role == "dim" else 0)
    return env


def second_values(kernel: Kernel, example: Counterexample) -> Env:
    """The values as the second thread of ``example`` sees them: primed variables replace their originals."""
    env = launch_values(kernel, example)
    primed = {(v.role, v.name[:-1]): n for v, n in env.items() if isinstance(v, Var) and v.name.endswith("'")}
    for source in sources(Walker(kernel).nodes):
        if (source.role, source.name) in primed:
            env[source] = primed[source.role, source.name]
    for var in list(env):
        if isinstance(var, Var) and (var.role, var.name) in primed:
            env[var] = primed[var.role, var.name]
    if example.second is not None:
        threads = threads_of(kernel)
        env |= dict(zip(threads.tid, example.second.thread or (0, 0, 0)))
        env |= dict(zip(threads.ctaid, example.second.block or (0, 0, 0)))
    return env


def stage(kernel: Kernel, module: Module, example: Counterexample) -> Stage:
    """Everything a launch of ``module`` needs. Raises :class:`NotStaged`."""
    env = launch_values(kernel, example)
    floats = dict(_float_values(env))
    arrays: dict[Buffer, Array] = {}
    arguments: list[PointerArgument | ScalarArgument] = []
    total = 0
    for parameter in module.params:
        source = parameter.source
        if not isinstance(source, Buffer):
            value = floats.get(source, 0.0) if is_float(source.dtype) else env.get(source, 0)
            if source.dtype in ("float16", "bfloat16"):
                value = float_bits(float(value), source.dtype)
            arguments.append(ScalarArgument(value, parameter.type, source.name))
            continue
        array, argument = _array(source, env)
        total += array.memory.size
        if total > MOST_BYTES:
            raise NotStaged(f"the arrays would need more than {MOST_BYTES:,} bytes")
        arrays[source] = array
        arguments.append(argument)
    found = Stage(arguments, arrays, env)
    loads = sources(Walker(kernel).nodes)
    _fill(found, loads, env, floats)
    if example.second is not None:
        other = second_values(kernel, example)
        _fill(found, loads, other, dict(_float_values(other)))
    return found


def _array(buffer: Buffer, env: Env) -> tuple[Array, PointerArgument]:
    """Zero bytes for a parameter's whole storage, the pointer at coordinate 0, the base at the modelled address."""
    unit = element_bytes(buffer.dtype)
    low, high = (evaluate(e, env) * unit for e in buffer.layout.memory_range())
    low = min(low, 0)
    if high - low > MOST_BYTES:
        raise NotStaged(f"`{buffer.name}` would need {high - low:,} bytes")
    try:
        memory = np.zeros(max(high - low, 0), np.uint8)
    except (MemoryError, ValueError):
        raise NotStaged(f"there is no memory for `{buffer.name}`, {high - low:,} bytes") from None
    base = next((n * buffer.align for v, n in env.items()
                 if isinstance(v, Var) and v.role == "base" and f" {buffer.name} /" in v.name), 0)
    start, given = -low, memory
    if start:
        layout = buffer.layout
        if not isinstance(layout, TileLayout):
            raise NotStaged(f"`{buffer.name}` reaches below its first element")
        extents = tuple(evaluate(f.extent, env) for f in layout.shard)
        strides = tuple(evaluate(f.stride, env) * unit for f in layout.shard)
        words: NDArray[np.uint8] = memory[start:]
        given = np.lib.stride_tricks.as_strided(words, (*extents, unit), (*strides, 1))
    return Array(memory, start), PointerArgument(given, buffer.name, residue=(base - start) % 256)


def _fill(found: Stage, loads: Mapping[Var, Source], env: Env, floats: Mapping[Var, float]) -> None:
    """What the counterexample says was read from arrays is put where it was read."""
    for var, source in loads.items():
        load = source.load
        value: int | float | None = floats.get(var) if is_float(var.dtype) else env.get(var)
        array = found.arrays.get(load.view.buffer)
        if value is None or array is None:
            continue
        try:
            byte = array.start + evaluate(locate(load.view, load.index).byte, env)
        except Unknown:
            continue
        size = element_bytes(load.view.dtype)
        bits = float_bits(float(value), var.dtype) if is_float(var.dtype) else int(value)
        if byte >= 0 and byte + size <= array.memory.size:
            raw = (bits & ((1 << 8 * size) - 1)).to_bytes(size, "little")
            array.memory[byte:byte + size] = np.frombuffer(raw, np.uint8)


_HOLDS = {"lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
          "eq": lambda a, b: a == b, "ne": lambda a, b: a != b}
_MIRROR = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _float_values(env: Env) -> Iterator[tuple[Var, float]]:
    """Floats for which the comparisons with constants that the counterexample decides come out as it says."""
    for node, truth in env.items():
        if not isinstance(node, Op) or node.dtype != BOOL or node.name not in _HOLDS:
            continue
        name, (a, b) = node.name, node.args
        if isinstance(b, Var):
            name, a, b = _MIRROR[name], b, a
        value = getattr(b, "value", None)
        if isinstance(a, Var) and isinstance(value, (int, float)):
            for offered in (float(value), float(value) + 1.0, float(value) - 1.0):
                if _HOLDS[name](offered, float(value)) == bool(truth):
                    yield a, offered
                    break
