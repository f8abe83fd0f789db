"""Registers: which slots an operand names, and that destinations of one instruction are pairwise different."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.goals import Draft, Item, Simple
from ptxspec.proof.numeric import NotNumeric, compiled, points
from ptxspec.proof.tree import Access, Registers, Step
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import Expr, Var, variables

#: Repeats of one apply before the analysis gives up (unknown).
MAX_POINTS = 1 << 18

Values = dict[Var, int]  # loop variables of the unrolled iteration being interpreted


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two words of one instruction's repeats that name one register byte."""

    slot: int
    first: tuple[tuple[int, ...], int]
    second: tuple[tuple[int, ...], int]


def disjoint_draft(step: Step) -> Draft | None:
    """All register destinations of one instruction, over repeats and words, are different."""
    outs = [r for r in step.registers if r.kind == "write"]
    if not outs or not isinstance(step.statement, ir.Apply):
        return None
    draft = Draft(
        "disjoint", outs[0].span, outs[0].what, statement=step.statement, access=outs[0], context=step.context
    )
    seen: dict[tuple[ir.Buffer, int], tuple[tuple[int, ...], int]] = {}
    for out in outs:
        try:
            rows = slots_of(out, {})
        except NotNumeric:
            draft.items.extend(symbolic_disjoint(out))
            continue
        for values, row in rows:
            for word, slot in enumerate(row):
                key = (out.buffer, slot)
                if key in seen:
                    draft.items.append(Item(formula.FALSE, step.context, Overlap(slot, seen[key], (values, word))))
                    return draft
                seen[key] = (values, word)
    draft.items.append(Item(formula.TRUE, step.context))
    return draft


def slots_of(registers: Registers, values: Values) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(repeat values, slot byte of each word) of every repeat; NotNumeric where slots depend on more than repeats."""
    function, loops, grid = rows_of(registers)
    try:
        outer = tuple(values[v] for v in loops)
    except KeyError as missing:
        raise NotNumeric(str(missing.args[0])) from missing
    return [(p, function(*outer, *p)) for p in grid]


@lru_cache(maxsize=1024)
def rows_of(registers: Registers) -> tuple[Callable[..., tuple[int, ...]], tuple[Var, ...], list[tuple[int, ...]]]:
    grid = points(registers.free, MAX_POINTS)
    if grid is None:
        raise NotNumeric("too many repeats")
    free = set(registers.free)
    loops = tuple(v for v in dict.fromkeys(v for s in registers.slots for v in variables(s)) if v not in free)
    if any(v.role != "loop" for v in loops):
        raise NotNumeric(", ".join(v.name for v in loops if v.role != "loop"))
    return compiled(registers.slots, (*loops, *registers.free)), loops, grid


def symbolic_disjoint(out: Registers) -> list[Item]:
    """The same for registers that also depend on loops or threads: a second set of repeats, a claim for each pair."""
    names = {v: Var(v.name + "'", v.dtype, v.role, v.lo, v.hi) for v in out.free}
    again_of: dict[Expr, Expr | int] = dict(names.items())
    again = [substitute(s, again_of) for s in out.slots]
    items: list[Item] = []
    same = [formula.eq(a, b) for a, b in names.items()]
    for j, left in enumerate(out.slots):
        for k, right in enumerate(again):
            differ = formula.negate(formula.eq(left, right))
            if j == k:
                if names:
                    items.append(
                        Item(
                            formula.disj([formula.conj(same), differ]), out.context, Simple(f"word {j} of two repeats")
                        )
                    )
            elif j < k or names:
                items.append(Item(differ, out.context, Simple(f"words {j} and {k}")))
    return items


class Addressed(Registers):
    """Thread-local memory used through an address: where a predicate is false the old bytes stay."""

    __slots__ = ()


def as_registers(access: Access) -> Registers:
    """The bytes that an access to thread-local memory names, as the registers that they are kept like."""
    return Addressed(
        access.view,
        access.kind,
        access.words,
        access.word_bytes,
        access.free,
        (),
        (),
        access.context,
        access.statement,
        access.operand,
        access.span,
        access.what,
    )
