"""The state of the register analysis: which bytes hold a value, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.numeric import points
from ptxspec.proof.registers import Values
from ptxspec.proof.tree import Branch, Loop, Node, Registers, Step
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import Const, Expr, Var, variables

Guards = frozenset[Expr] | None  # None: always; a set: under any of these conditions
#: A byte of a thread's storage by number, or (byte offset, bytes) where only a steady index names it.
Key = tuple[ir.Buffer, int | tuple[Expr, int]]
State = dict[Key, Guards]

#: Repeats of one instruction whose registers are followed by name.
MAX_NAMED = 1 << 10

#: Variables with one value for a thread from the launch to the end.
_STEADY = ("tid.", "ctaid.", "param", "dim")


def at(expr: Expr, values: Values) -> Expr:
    """``expr`` in the unrolled iteration given by ``values``."""
    fixed: dict[Expr, Expr | int] = dict(values.items())
    return substitute(expr, fixed) if fixed else expr


def named(registers: Registers, values: Values) -> list[Key]:
    """Keys of words that are chosen by a steady index: equal expressions name equal registers. Else none."""
    repeats = points(registers.free, MAX_NAMED)
    if repeats is None:
        return []
    found: list[Key] = []
    for repeat in repeats:
        here = {**values, **dict(zip(registers.free, repeat, strict=True))}
        for slot in registers.slots:
            place = at(slot, here)
            if not all(v.role.startswith(_STEADY) for v in variables(place)):
                return []
            found.append((registers.buffer, (place, registers.word_bytes)))
    return found


def either(condition: Expr, yes: State, no: State) -> State:
    """The state after one of two ways was taken."""
    if isinstance(condition, Const):
        return yes if condition.value else no
    merged, other = dict(yes), formula.negate(condition)
    for key in {key for key, _ in yes.items() ^ no.items()}:    # few bytes differ, of many
        a, b = yes.get(key, frozenset()), no.get(key, frozenset())
        merged[key] = a if a == b else under(a, condition) | under(b, other)
    return merged


def picks(nodes: tuple[Node, ...], var: Var) -> bool:
    """True when ``var`` chooses registers somewhere under ``nodes``, or decides which are written."""
    for node in nodes:
        if isinstance(node, Step):
            touched = [r.slots for r in node.registers]
            touched += [a.words for a in node.memory if a.buffer.scope == "local"]
            if any(var in variables(s) for slots in touched for s in slots):
                return True
        elif isinstance(node, Branch):
            inner = picks(node.then, var) or picks(node.orelse, var)
            if inner:
                return True
        elif isinstance(node, Loop) and picks(node.body, var):
            return True
    return False


def decides(nodes: tuple[Node, ...], var: Var, known: Mapping[Expr, Expr | int]) -> bool:
    """True when what is done under ``nodes`` depends on ``var``: a branch, a predicate, the bounds of a loop. ``known``
    says what values equal."""

    def mentions(expr: Expr | None) -> bool:
        return expr is not None and var in variables(substitute(expr, known) if known else expr)

    for node in nodes:
        if isinstance(node, Step) and isinstance(node.statement, ir.Apply) and mentions(node.statement.pred):
            return True
        if isinstance(node, Branch) and (
            mentions(node.statement.condition) or decides(node.then, var, known) or decides(node.orelse, var, known)
        ):
            return True
        if isinstance(node, Loop):
            loop = node.statement
            if any(mentions(e) for e in (loop.start, loop.stop, loop.step)) or decides(node.body, var, known):
                return True
    return False


def under(guards: Guards, condition: Expr) -> frozenset[Expr]:
    """Written under one of ``guards``, and only where ``condition`` holds as well."""
    if guards is None:
        return frozenset([condition])
    return frozenset(formula.conj([condition, g]) for g in guards)


def meet(a: State, b: State) -> State:
    """What both states agree on."""
    result: State = {}
    for key in a.keys() & b.keys():
        x, y = a[key], b[key]
        result[key] = y if x is None else x if y is None else x & y
    return result


def past(state: State, loop: Loop) -> State:
    """The state once an iteration is over: guards that mention the loop's variable or values read inside say nothing
    any more. Many bytes share few guards, so each is looked at once; ``state`` itself where none ends."""
    inner = bound_inside(loop)
    ended: dict[Guards, Guards] = {}
    for guards in set(state.values()):
        kept = frozenset(g for g in guards if inner.isdisjoint(variables(g))) if guards else guards
        if kept != guards:
            ended[guards] = kept
    return {key: ended.get(guards, guards) for key, guards in state.items()} if ended else state


def bound_inside(loop: Loop) -> set[Var]:
    """The loop's variable, and every value and variable that is made anew in each of its iterations."""
    found: set[Var] = {loop.statement.var}

    def visit(nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, Step) and isinstance(node.statement, ir.Load):
                found.add(node.statement.result)
            elif isinstance(node, Branch):
                visit(node.then)
                visit(node.orelse)
            elif isinstance(node, Loop):
                found.add(node.statement.var)
                visit(node.body)

    visit(loop.body)
    return found
