"""What emission must know of a kernel's body before it writes a line.

Which statements use which values and write which register tensors (so that an element read may name the slot itself
instead of a copy), which loops must be unrolled because they index registers, how wide the slots of a register tensor
are, and which ``local`` tensors live in addressable memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from ptxspec.forms.use import OperandUse
from ptxspec.lang.ir import Apply, Buffer, For, If, Kernel, Load, Located, Statement, Store, Sub, View
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BITS, Expr, Var

from .statics import free


def nested(statement: Statement) -> Iterator[Sequence[Statement]]:
    """The statement lists directly inside ``statement``."""
    if isinstance(statement, For):
        yield statement.body
    elif isinstance(statement, If):
        yield statement.then
        yield statement.orelse


def every(statements: Sequence[Statement]) -> Iterator[Statement]:
    """All statements, nested ones included, in program order."""
    for statement in statements:
        yield statement
        for inner in nested(statement):
            yield from every(inner)


def view_expressions(view: View) -> Iterator[Expr]:
    """Runtime expressions inside the steps of a view."""
    for step in view.steps:
        if isinstance(step, Sub):
            for axis in step.axes:
                yield axis.start


def expressions(statement: Statement) -> Iterator[Expr]:
    """Expressions that ``statement`` itself reads (not those of statements inside it)."""
    if isinstance(statement, Apply):
        for operand in statement.operands:
            if isinstance(operand, View):
                yield from view_expressions(operand)
            else:
                yield operand
        yield from (e for e in (statement.pred, statement.cache_policy) if e is not None)
    elif isinstance(statement, (Load, Store)):
        yield from statement.index
        yield from view_expressions(statement.view)
        if isinstance(statement, Store):
            yield statement.value
    elif isinstance(statement, For):
        yield from (statement.start, statement.stop, statement.step)
    elif isinstance(statement, If):
        yield statement.condition


def bound(apply: Apply) -> Iterator[tuple[int, View | Expr | None, OperandUse]]:
    """(position in the instruction, what stands there, the form's operand); the cache policy has its own parameter."""
    given = iter(apply.operands)
    for position, use in enumerate(apply.use.operands):
        yield position, (apply.cache_policy if use.name == "policy" else next(given, None)), use


def written(statement: Statement) -> Iterator[Buffer]:
    """Register tensors that ``statement`` itself may change."""
    if isinstance(statement, Store):
        yield statement.view.buffer
    elif isinstance(statement, Apply):
        for _, operand, use in bound(statement):
            if isinstance(operand, View) and use.role != "in":
                yield operand.buffer


@dataclass(slots=True)
class Facts:
    """Values used and buffers written by a statement with everything inside it."""

    uses: frozenset[Var]
    writes: frozenset[Buffer]


@dataclass(slots=True)
class Analysis:
    """Results for one kernel; see the module's docstring."""

    unrolled: set[For] = field(default_factory=set)
    addressable: set[Buffer] = field(default_factory=set)
    slot_bits: dict[Buffer, int] = field(default_factory=dict)
    copied: set[Load] = field(default_factory=set)
    alignment: dict[Buffer, int] = field(default_factory=dict)
    weight: dict[For, int] = field(default_factory=dict)
    written: frozenset[Buffer] = frozenset()
    forwarded: set[Buffer] = field(default_factory=set)
    spilled: list[Buffer] = field(default_factory=list)


def facts(statement: Statement, memo: dict[int, Facts]) -> Facts:
    """:class:`Facts` of ``statement``, computed once."""
    known = memo.get(id(statement))
    if known is not None:
        return known
    uses: set[Var] = set()
    for expr in expressions(statement):
        uses |= free(expr)
    writes = set(written(statement))
    for inner in nested(statement):
        for each in inner:
            below = facts(each, memo)
            uses |= below.uses
            writes |= below.writes
    result = memo[id(statement)] = Facts(frozenset(uses), frozenset(writes))
    return result


def mark_copies(statements: Sequence[Statement], analysis: Analysis, memo: dict[int, Facts]) -> None:
    """Element reads of registers that need a copy, because the slot may change before the value's last use."""
    last: dict[Var, int] = {}
    for position, statement in enumerate(statements):
        for variable in facts(statement, memo).uses:
            last[variable] = position
    for position, statement in enumerate(statements):
        if isinstance(statement, Load) and statement.view.buffer.scope == "local":
            end = last.get(statement.result, position)
            between = statements[position + 1:end + 1]
            buffer = statement.view.buffer
            for each in between:
                # A Store reads before it writes, so it may be the last use of the slot that it overwrites.
                if buffer in facts(each, memo).writes and not (each is between[-1] and isinstance(each, Store)):
                    analysis.copied.add(statement)
                    break
        for inner in nested(statement):
            mark_copies(inner, analysis, memo)


def memory_operands(statement: Apply) -> Iterator[View]:
    """Views that the instruction takes as addresses."""
    for _, operand, use in bound(statement):
        if isinstance(operand, View) and "address" in use.kinds:
            yield operand


def register_operands(statement: Apply) -> Iterator[View]:
    """Views of ``local`` tensors that the instruction takes as registers."""
    for _, operand, use in bound(statement):
        if isinstance(operand, View) and "address" not in use.kinds:
            yield operand


def slot_widths(kernel: Kernel, analysis: Analysis) -> None:
    """Fill ``slot_bits``: the one width all accesses use, else the tensor's own element width."""
    seen: dict[Buffer, set[int]] = {}
    for statement in every(kernel.body):
        if isinstance(statement, Apply):
            analysis.addressable.update(v.buffer for v in memory_operands(statement) if v.buffer.scope == "local")
            for view in register_operands(statement):
                seen.setdefault(view.buffer, set()).add(BITS[view.dtype])
        elif isinstance(statement, (Load, Store)):
            seen.setdefault(statement.view.buffer, set()).add(BITS[statement.view.dtype])
    for buffer, widths in seen.items():
        analysis.slot_bits[buffer] = next(iter(widths)) if len(widths) == 1 else min(widths)


def alignments(kernel: Kernel, analysis: Analysis) -> None:
    """Fill ``alignment``: the most bytes that one access of a tensor moves, which its base must be a multiple of."""
    for statement in every(kernel.body):
        if isinstance(statement, Apply):
            for view in memory_operands(statement):
                last = view.shape[-1]
                words = last.const if last.is_const else 1
                _widen(analysis, view.buffer, words * BITS[view.dtype] // 8)
        elif isinstance(statement, (Load, Store)):
            _widen(analysis, statement.view.buffer, BITS[statement.view.dtype] // 8)


def weigh(statements: Sequence[Statement], analysis: Analysis) -> int:
    """Rough count of instructions in ``statements``, kept for every loop's body (a loop of runtime bounds is never
    small)."""
    total = 0
    for statement in statements:
        if isinstance(statement, Apply):
            total += prod(statement.repeat)
        elif isinstance(statement, For):
            inner = analysis.weight[statement] = weigh(statement.body, analysis) + 1
            bounds = [ix.index(e) for e in (statement.start, statement.stop, statement.step)]
            known = all(b.is_const for b in bounds)
            total += inner * len(range(*(b.const for b in bounds))) if known else 1000
        else:
            total += 1 + sum(weigh(inner, analysis) for inner in nested(statement))
    return total


def _widen(analysis: Analysis, buffer: Buffer, size: int) -> None:
    analysis.alignment[buffer] = max(analysis.alignment.get(buffer, 1), size)


def mark_unrolled(kernel: Kernel, analysis: Analysis, located: dict[int, tuple[Located, ...]]) -> None:
    """Loops whose variable decides which register is meant, and those that decide the trip count of such loops.

    A loop whose bounds only the running kernel knows stays a loop: its registers are chosen at run time.
    """
    analysis.unrolled.clear()
    loops: dict[Var, For] = {s.var: s for s in every(kernel.body) if isinstance(s, For)}
    pending: list[For] = [s for s in loops.values() if s.unroll]
    for statement in every(kernel.body):
        for where in located.get(id(statement), ()):
            for variable in free(where.slot) | free(where.slot_byte):
                if variable in loops and _countable(loops[variable], loops):
                    pending.append(loops[variable])
    while pending:
        loop = pending.pop()
        if loop in analysis.unrolled:
            continue
        analysis.unrolled.add(loop)
        for bound in (loop.start, loop.stop, loop.step):
            pending.extend(loops[v] for v in free(bound) if v in loops)


def _countable(loop: For, loops: dict[Var, For]) -> bool:
    """True where the values of ``loop`` are known once those of the loops around it are."""
    return all(v in loops and _countable(loops[v], loops)
               for bound in (loop.start, loop.stop, loop.step) for v in free(bound))


__all__ = ["Analysis", "Facts", "alignments", "bound", "every", "expressions", "facts", "mark_copies", "mark_unrolled",
           "memory_operands", "nested", "register_operands", "slot_widths", "view_expressions", "weigh"]
