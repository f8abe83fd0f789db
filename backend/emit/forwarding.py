"""Register tensors that only hand values to one instruction: the values' own registers go into it, nothing is moved.

Such a tensor has each of its slots written once, by an element write, and is read by one instruction behind those
writes in the same block. A slot then is another name of the register that the value is in, as long as that register
keeps it: the instruction counts as the last use of every value (see :func:`.analysis.mark_copies`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ptxspec.lang.ir import Apply, Buffer, Kernel, Load, Located, Statement, Store, View
from ptxspec.scalar.expr import BITS, Const, Var

from .analysis import Analysis, Facts, bound, facts, nested
from .statics import free


@dataclass(eq=False, slots=True)
class _Uses:
    """What touches one tensor, each with its block and position."""

    writes: list[tuple[int, int, Store]] = field(default_factory=list)
    readers: list[tuple[int, int, Apply]] = field(default_factory=list)
    other: bool = False


def forward(kernel: Kernel, analysis: Analysis, located: Mapping[int, Located], memo: dict[int, Facts]) -> None:
    """Fill ``analysis.forwarded``, and let each reading instruction in ``memo`` use the values it is handed.

    ``located`` gives the place of every element access, by ``id``.
    """
    found: dict[Buffer, _Uses] = {}
    _collect(kernel.body, found)
    for buffer, uses in found.items():
        if uses.other or len(uses.readers) != 1 or not uses.writes or buffer in analysis.addressable:
            continue
        block, position, apply = uses.readers[0]
        if any(b != block or p > position for b, p, _ in uses.writes):
            continue
        stores = [store for _, _, store in uses.writes]
        slots = {located[id(s)].byte for s in stores}
        if len(slots) != len(stores) or not all(s.is_const for s in slots):
            continue
        if any(BITS[s.view.dtype] != analysis.slot_bits[buffer] or isinstance(s.value, Const) for s in stores):
            continue
        analysis.forwarded.add(buffer)
        known = facts(apply, memo)
        handed = frozenset[Var]().union(*(free(s.value) for s in stores))
        memo[id(apply)] = Facts(known.uses | handed, known.writes)


def _collect(body: Sequence[Statement], found: dict[Buffer, _Uses]) -> None:
    for position, statement in enumerate(body):
        if isinstance(statement, Store) and statement.view.buffer.scope == "local":
            found.setdefault(statement.view.buffer, _Uses()).writes.append((id(body), position, statement))
        elif isinstance(statement, Load):
            found.setdefault(statement.view.buffer, _Uses()).other = True
        elif isinstance(statement, Apply):
            for _, operand, use in bound(statement):
                if isinstance(operand, View) and operand.buffer.scope == "local":
                    uses = found.setdefault(operand.buffer, _Uses())
                    uses.readers.append((id(body), position, statement))
                    uses.other |= use.role != "in" or "address" in use.kinds
        for inner in nested(statement):
            _collect(inner, found)
