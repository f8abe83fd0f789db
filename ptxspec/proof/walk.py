"""Building the proof tree of a kernel: facts along the path, and what each statement touches."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.forms.use import OperandUse
from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes, locate
from ptxspec.proof import cells, formula
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.tree import (
    Access,
    Branch,
    Claimed,
    Loop,
    Node,
    Registers,
    Step,
    Sync,
    Threads,
    threads_of,
)
from ptxspec.proof.walk_loops import after_loop
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import BOOL, INDEX, Const, Expr, Op, Poly, Var, is_integer, show


class Walker:
    """One kernel. ``nodes`` is the tree, ``base`` the facts of the launch."""

    def __init__(self, kernel: ir.Kernel) -> None:
        self.kernel = kernel
        self.threads: Threads = threads_of(kernel)
        self.base = self._launch_facts()
        self._written = written_buffers(kernel.body)
        self.cells = cells.Cells()
        self.known: set[Var] = set()  # values read from cells that are known there
        self.aliases: dict[Expr, Expr | int] = {}  # what values read from known cells equal
        self._seen: dict[tuple[ir.Buffer, Poly], list[tuple[Context, Var]]] = {}
        self.nodes = self._block(kernel.body, self.base)[0]

    def _launch_facts(self) -> Context:
        context = Context()
        for k, var in enumerate(self.threads.ctaid):
            grid = ix.index(self.kernel.launch.grid[k])
            if grid.is_const:
                if grid.const <= 0:
                    text = f"the grid has {grid.const} blocks along {'xyz'[k]}"
                    context = context.extend(
                        Fact(f"grid.{'xyz'[k]}", text, formula.FALSE, self.kernel.launch.span, "launch")
                    )
                continue
            context = context.extend(
                Fact(
                    f"grid.{'xyz'[k]}",
                    f"{var.name} < {show(self.kernel.launch.grid[k])} (grid size)",
                    formula.lt(var, grid),
                    self.kernel.launch.span,
                    "launch",
                )
            )
        return context

    # -- statements -------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ir.Statement], context: Context) -> tuple[tuple[Node, ...], Context]:
        nodes: list[Node] = []
        for statement in body:
            if isinstance(statement, ir.Assume):
                after = context.extend(
                    Fact(
                        f"assumption `{statement.text}`", statement.text, statement.condition, statement.span, "assume"
                    )
                )
                nodes.append(Claimed(statement, context, after))
                context = after
            else:
                node = self._statement(statement, context)
                nodes.append(node)
                if isinstance(node, Step):
                    context = self._values(node, context)
        return tuple(nodes), context

    def _values(self, step: Step, context: Context) -> Context:
        """What a statement tells of values: of the cell it writes, of the value it reads."""
        statement = step.statement
        if isinstance(statement, ir.Apply):
            self.cells.forget(written_buffers([statement]))
        elif isinstance(statement, ir.Store) and step.registers:
            target = step.registers[0]
            value = substitute(statement.value, self.aliases) if self.aliases else statement.value
            self.cells.store(target.buffer, target.slots[0], target.word_bytes, target.view.dtype, value)
        elif isinstance(statement, ir.Load) and step.registers:
            origin, result = step.registers[0], statement.result
            known = self.cells.load(origin.buffer, origin.slots[0], origin.word_bytes, result.dtype)
            if known is not None:
                self.known.add(result)
                self.aliases[result] = known
                text = f"{result.name} == {show(known)}"
                context = context.extend(
                    Fact(f"value of {result.name}", text, cells.same(result, known), statement.span, "value")
                )
        elif isinstance(statement, ir.Load) and step.memory:
            context = self._same_value(statement, step.memory[0], context)
        return context

    def _same_value(self, load: ir.Load, access: Access, context: Context) -> Context:
        """Two reads of one place in memory that the kernel never writes give one value."""
        result, buffer = load.result, access.buffer
        if not buffer.is_param or buffer in self._written or not is_integer(result.dtype):
            return context
        earlier = self._seen.setdefault((buffer, access.words[0]), [])
        for where, var in earlier:
            if var.dtype == result.dtype and context.follows(where):
                same = formula.eq(result, var)
                return context.extend(
                    Fact(f"one place in {buffer.name}", f"{result.name} == {var.name}", same, load.span, "value")
                )
        earlier.append((context, result))
        return context

    def _statement(self, statement: ir.Statement, context: Context) -> Node:
        if isinstance(statement, ir.Apply):
            return self._apply(statement, context)
        if isinstance(statement, ir.Load):
            return self._element(statement, statement.view, statement.index, "read", context)
        if isinstance(statement, ir.Store):
            return self._element(statement, statement.view, statement.index, "write", context)
        if isinstance(statement, ir.For):
            inside = context.extend(loop_fact(statement, context))
            before = self.cells.copy()
            self.cells.forget_written(statement.body)
            body = self._block(statement.body, inside)[0]
            self.cells = after_loop(statement, before, self.aliases)
            return Loop(statement, context, inside, body)
        if isinstance(statement, ir.If):
            text = show(statement.condition)
            yes = context.extend(Fact(f"`if {text}`", text, statement.condition, statement.span, "guard"))
            no = context.extend(
                Fact(
                    f"else of `if {text}`",
                    f"not ({text})",
                    formula.negate(statement.condition),
                    statement.span,
                    "guard",
                )
            )
            before = self.cells.copy()
            then = self._block(statement.then, yes)[0]
            after_then, self.cells = self.cells, before
            orelse = self._block(statement.orelse, no)[0]
            after_else = self.cells
            self.cells = cells.Cells()
            condition = substitute(statement.condition, self.aliases) if self.aliases else statement.condition
            self.cells.join(condition, after_then, after_else)
            return Branch(statement, context, yes, then, no, orelse)
        assert isinstance(statement, ir.Barrier)
        return Sync(statement, context)

    # -- scalar element access --------------------------------------------------------------------------------

    def _element(
        self, statement: ir.Load | ir.Store, view: ir.View, index: tuple[Expr, ...], kind: str, context: Context
    ) -> Step:
        place = locate(view, index)
        width = element_bytes(view.dtype)
        verb = "read of" if kind == "read" else "write to"
        what = f"{verb} {view.buffer.name}"
        memory: tuple[Access, ...] = ()
        registers: tuple[Registers, ...] = ()
        if view.buffer.scope == "local":
            registers = (
                Registers(
                    view,
                    kind,
                    (place.byte,),
                    width,
                    (),
                    place.axes,
                    place.checks,
                    context,
                    statement,
                    0,
                    statement.span,
                    what,
                    place.replicas,
                ),
            )
        else:
            memory = (
                Access(
                    view,
                    kind,
                    (place.byte,),
                    width,
                    (),
                    place.checks,
                    context,
                    statement,
                    0,
                    statement.span,
                    what,
                    width,
                    index=tuple(ix.index(i) for i in index),
                ),
            )
        return Step(statement, context, context, memory, registers, typed_of(view, index))

    # -- instructions -----------------------------------------------------------------------------------------

    def _apply(self, apply: ir.Apply, outside: Context) -> Step:
        context = outside
        if apply.pred is not None:
            text = show(apply.pred)
            context = outside.extend(Fact(f"pred `{text}`", text, apply.pred, apply.span, "pred"))
        group: list[Poly] = []
        for axis in apply.group_axes:
            place = self.threads.coordinate(axis)
            group.append(place if place is not None else ix.ZERO)
        free = tuple(repeat_var(k, extent) if extent != 1 else None for k, extent in enumerate(apply.repeat))
        repeat: list[Poly] = [ix.ZERO if v is None else ix.index(v) for v in free]
        names = tuple(v for v in free if v is not None)
        reads: list[Access] = []
        writes: list[Access] = []
        registers: list[Registers] = []
        typed: list[Expr] = []
        data = tuple(o for o in apply.use.operands if o.name != "policy")
        for number, (operand, given) in enumerate(zip(data, apply.operands, strict=True)):
            span = apply.operand_spans[number] if number < len(apply.operand_spans) else apply.span
            if isinstance(given, Expr):
                continue
            typed.extend(typed_of(given, ()))
            lead: list[Poly] = [*group, *repeat]
            words = constant_extent(given.shape[-1])
            places = [locate(given, [*lead, word]) for word in range(words)]
            checks = places[0].checks if words == 1 else self._checks(given, lead, words)
            width = element_bytes(given.dtype)
            what = f"the {_part(operand)} of {apply.use.opcode}"
            if "address" in operand.kinds:
                mine = [o for o in apply.use.obligations if o.at == operand.name]
                kinds = {o.access for o in mine if o.access}
                kind = "combine" if "combine" in kinds else "write" if "write" in kinds else "read"
                align = max((o.to for o in mine if o.prove == "aligned"), default=1)
                access = Access(
                    given,
                    kind,
                    tuple(p.byte for p in places),
                    width,
                    names,
                    checks,
                    context,
                    apply,
                    number,
                    span,
                    what,
                    align,
                    {o.prove: o.span for o in mine},
                    tuple(lead),
                    max((o.bytes for o in mine if o.prove == "in-bounds"), default=0),
                )
                (reads if kind == "read" else writes).append(access)
            else:
                slots = tuple(p.byte for p in places)
                axes = (
                    places[0].axes if words == 1 or not places[0].axes else locate(given, [*lead, word_var(words)]).axes
                )
                for kind in (
                    ("read",) if operand.role == "in" else ("read", "write") if operand.role == "inout" else ("write",)
                ):
                    registers.append(
                        Registers(
                            given,
                            kind,
                            slots,
                            width,
                            names,
                            axes,
                            checks,
                            context,
                            apply,
                            number,
                            span,
                            what,
                            places[0].replicas,
                        )
                    )
        return Step(apply, context, outside, tuple(reads + writes), tuple(registers), tuple(typed))

    def _checks(self, view: ir.View, lead: list[Poly], words: int) -> tuple[ir.BoundCheck, ...]:
        return locate(view, [*lead, word_var(words)]).checks


_words: dict[int, Var] = {}
_repeats: dict[tuple[int, int], Var] = {}


def repeat_var(k: int, extent: int) -> Var:
    """Repeat axis ``k`` of an instruction. One variable serves all instructions, so that equal addresses look equal."""
    key = (k, extent)
    if key not in _repeats:
        _repeats[key] = Var(f"repeat {k}", "int32", "repeat", 0, extent - 1)
    return _repeats[key]


def word_var(words: int) -> Poly:
    """The number of a word in an atom of ``words``, as an exact integer."""
    if words not in _words:
        _words[words] = Var("word", "int32", "word", 0, words - 1)
    return ix.index(_words[words])


def constant_extent(extent: Poly) -> int:
    """The value of a static extent."""
    if not extent.is_const:
        raise ValueError(f"the extent {show(extent)} of an atom is not known")
    return extent.const


def typed_of(view: ir.View, index: Sequence[Expr]) -> tuple[Expr, ...]:
    """The user's own index expressions in the steps of a view and in ``index``."""
    found = [axis.start for step in view.steps if isinstance(step, ir.Sub) for axis in step.axes]
    return tuple(
        e for e in [*found, *index] if not isinstance(e, (Const, Var)) and not (isinstance(e, Poly) and e.is_const)
    )


def loop_fact(loop: ir.For, context: Context) -> Fact:
    """start <= v < stop, and v = start modulo the step, with machine meaning."""
    var, start, stop, step = loop.var, loop.start, loop.stop, loop.step
    parts: list[Expr] = [Op("le", (start, var), BOOL, loop.span), Op("lt", (var, stop), BOOL, loop.span)]
    first, stride = context.exact(start), context.exact(step)
    progress: Poly | None = None
    if first is not None and stride is not None:
        if first.is_const and stride.is_const:
            parts.append(formula.divides(stride.const, ix.sub(var, first)))
        elif stride != ix.ONE:
            # As a count of iterations: easier to reason with than a remainder of two unknowns.
            progress = ix.add(first, ix.mul(stride, Var(f"trips of {var.name}", INDEX, "trip", 0, None)))
            parts.append(formula.eq(var, progress))
    bounds = show(stop) if isinstance(start, Const) and start.value == 0 else f"{show(start)}, {show(stop)}"
    bounds += "" if isinstance(step, Const) and step.value == 1 else f", {show(step)}"
    return Fact(
        f"loop {var.name}",
        f"{var.name} in range({bounds})",
        formula.conj(parts),
        loop.span,
        "loop",
        var,
        start,
        progress,
    )


def written_buffers(body: Sequence[ir.Statement]) -> set[ir.Buffer]:
    """Every buffer that some statement may change."""
    found: set[ir.Buffer] = set()
    for statement in body:
        if isinstance(statement, ir.Store):
            found.add(statement.view.buffer)
        elif isinstance(statement, ir.If):
            found |= written_buffers((*statement.then, *statement.orelse))
        elif isinstance(statement, ir.For):
            found |= written_buffers(statement.body)
        elif isinstance(statement, ir.Apply):
            data = [o for o in statement.use.operands if o.name != "policy"]
            for operand, given in zip(data, statement.operands, strict=True):
                kinds = {o.access for o in statement.use.obligations if o.at == operand.name}
                if isinstance(given, ir.View) and (operand.role != "in" or kinds & {"write", "combine"}):
                    found.add(given.buffer)
    return found


def _part(operand: OperandUse) -> str:
    """What an operand is to its instruction, in a word."""
    if "address" in operand.kinds:
        return "address"
    return {"out": "destination", "in": "source"}.get(operand.role, "operand")
