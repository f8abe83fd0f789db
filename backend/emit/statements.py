"""The kernel's statements in order: structured control flow, element accesses, applies and barriers."""

from __future__ import annotations

from collections.abc import Sequence

from ptxspec.diagnostics import Note
from ptxspec.lang.ir import Apply, Assume, Barrier, For, If, Load, Statement, Store
from ptxspec.ptx.operand import Guard, Immediate, Register
from ptxspec.scalar.expr import BITS, Const, Expr, Op, int_range

from .addresses import Addresses
from .analysis import Analysis
from .applies import Applies, Placement
from .chosen import Chosen
from .code import Block
from .context import Context, integer
from .elements import Elements
from .indices import Indices
from .loops import SMALL_LOOP, constant_range
from .machine import machine_bounds
from .pending import Pending
from .scalars import Scalars
from .scopes import Scope, Value
from .slots import Slots
from .statics import free
from .types import ARITHMETIC, VALUE_CLASS, slot_class

#: More instructions than this in one kernel is taken for a loop unrolled by mistake.
MOST_INSTRUCTIONS = 200_000


class Statements:
    """Walks a kernel's body. ``placements`` holds, by ``id`` of the statement, where its operands lie."""

    def __init__(self, context: Context, analysis: Analysis,
                 placements: dict[int, dict[int, Placement]]) -> None:
        self.context = context
        self.analysis = analysis
        self.placements = placements
        self._fixed: dict[For, range] = {}   # values of loops whose bounds are constants
        self.scalars = Scalars(context)
        self.indices = Indices(context, self.scalars)
        self.scalars.indices = self.indices
        self.addresses = Addresses(context, self.indices)
        self.pending = Pending(context, analysis.written)
        self.slots = Slots(context, analysis.slot_bits, self.pending)
        self.elements = Elements(context, self.scalars, self.addresses, self.slots, analysis)
        self.chosen = Chosen(context, self.indices, self.slots, self.addresses)
        self.applies = Applies(context, self.scalars, self.addresses, self.slots, self.elements, self.chosen)

    def run(self, statements: Sequence[Statement]) -> None:
        """Emit ``statements`` into the current scope."""
        context = self.context
        for statement in statements:
            context.span = statement.span
            kind = type(statement)
            if kind is Load or kind is Store:
                assert isinstance(statement, (Load, Store))
                self._element(statement)
            elif isinstance(statement, Apply):
                self.applies.write(statement, self.placements[id(statement)])
            elif isinstance(statement, For):
                self._for(statement)
            elif isinstance(statement, If):
                self._if(statement)
            elif isinstance(statement, Barrier):
                self._barrier(statement)
            else:
                assert isinstance(statement, Assume)
            if context.instructions > MOST_INSTRUCTIONS:
                raise context.error("E107", f"the kernel unrolls into more than {MOST_INSTRUCTIONS:,} instructions",
                                    Note("help", "loops of constant bounds that index register tensors are unrolled; "
                                         "shorten them"))

    # -- elements ------------------------------------------------------------------------------------------------

    def _element(self, statement: Load | Store) -> None:
        context = self.context
        placement = self.placements[id(statement)][0]
        if placement.split is None:
            placement.split = self.applies.split(placement, context.static)
        runtime, constant = placement.split.at(context.env)
        if not self.elements.in_registers(statement.view):
            if isinstance(statement, Load):
                self.elements.load_memory(statement, runtime, constant, placement.split.runtime)
            else:
                self.elements.store_memory(statement, runtime, constant, placement.split.runtime)
            return
        buffer, bits = statement.view.buffer, BITS[statement.view.dtype]
        if isinstance(statement, Store) and not runtime.is_const:
            value = self.scalars.slot_bits(context.known(statement.value), bits, slot_class(bits))
            self.chosen.write(buffer, runtime, constant, bits, value)
        elif isinstance(statement, Store):
            self.elements.store_register(statement, constant)
        elif runtime.is_const:
            slot = self.slots.read(buffer, constant, bits)
            self.elements.load_register(statement, slot, statement in self.analysis.copied)
        else:
            self.elements.load_register(statement, self.chosen.read(buffer, runtime, constant, bits), False)

    # -- loops ---------------------------------------------------------------------------------------------------

    def _for(self, loop: For) -> None:
        context = self.context
        values = self._fixed.get(loop)
        start, stop, step = loop.start, loop.stop, loop.step
        if values is None:
            start, stop, step = (context.known(e) for e in (start, stop, step))
            values = constant_range(start, stop, step)
            if values is not None and not (free(loop.start) or free(loop.stop) or free(loop.step)):
                self._fixed[loop] = values
        if values is not None:
            if not values:
                return
            if loop in self.analysis.unrolled or len(values) * self.analysis.weight[loop] <= SMALL_LOOP:
                self._unrolled(loop, values)
                return
        elif loop in self.analysis.unrolled:
            raise context.error(
                "E106", f"loop over `{loop.var.name}` must unroll, but its bounds are known only at run time",
                Note("help", "give it constant bounds"))
        self._loop(loop, start, stop, step)

    def _unrolled(self, loop: For, values: range) -> None:
        context = self.context
        env, static, outer = context.env, context.static, context.scope
        context.static = static | {loop.var}
        uid, body = loop.var.uid, loop.body
        context.env = {**env, uid: 0}
        for value in values:
            context.env[uid] = value
            context.scope = Scope("inline", outer, outer.block)
            self.run(body)
        context.env, context.static, context.scope = env, static, outer

    def _loop(self, loop: For, start: Expr, stop: Expr, step: Expr) -> None:
        context, scalars = self.context, self.scalars
        self.pending.flush()
        number = context.labels.fresh()
        again, done = f"L{number}_loop", f"L{number}_done"
        kind, cls = ARITHMETIC[loop.var.dtype], VALUE_CLASS[loop.var.dtype]
        counter = context.registers.fresh(cls)
        first, end, stride = scalars.value(start), scalars.value(stop), scalars.value(step)
        # Behind the bounds, which what stands here may use; before the test for an empty loop, since what is computed
        # here may be used again after the loop.
        pre = context.scope.block.nested()
        context.instr(f"mov.{cls}", (counter, first))
        if not _runs(start, stop):
            empty = context.registers.fresh("pred")
            context.instr(f"setp.ge.{kind}", (empty, counter, end))
            context.branch(done, Guard(empty))
        context.label(again)
        body = context.scope.block.nested()
        with context.inside(Scope("loop", context.scope, body, pre)):
            context.define(loop.var, counter)
            self.run(loop.body)
            self.pending.flush()
            context.span = loop.span
            self._advance(loop, counter, stop, step, end, stride, again, done)
        context.label(done)

    def _advance(self, loop: For, counter: Register, stop: Expr, step: Expr, end: Value, stride: Value,
                 again: str, done: str) -> None:
        """Next iteration. Where ``counter + step`` may pass the type's range the distance left is compared instead."""
        context = self.context
        kind, cls = ARITHMETIC[loop.var.dtype], VALUE_CLASS[loop.var.dtype]
        high, most_step = machine_bounds(stop)[1], machine_bounds(step)[1]
        limit = int_range(loop.var.dtype)[1]
        more = context.registers.fresh("pred")
        if high is not None and most_step is not None and high + most_step <= limit:
            context.instr(f"add.{kind}", (counter, counter, stride))
            context.instr(f"setp.lt.{kind}", (more, counter, end))
            context.branch(again, Guard(more))
            return
        left = context.registers.fresh(cls)
        context.instr(f"sub.{kind}", (left, context.materialise(end, cls), counter))
        context.instr(f"setp.le.u{kind[1:]}", (more, left, stride))
        context.branch(done, Guard(more))
        context.instr(f"add.{kind}", (counter, counter, stride))
        context.branch(again)

    # -- branches ------------------------------------------------------------------------------------------------

    def _if(self, branch: If) -> None:
        context = self.context
        condition = context.known(branch.condition)
        if isinstance(condition, Const):
            with context.inside(Scope("inline", context.scope, context.scope.block)):
                self.run(branch.then if condition.value else branch.orelse)
            return
        self.pending.flush()
        number = context.labels.fresh()
        other, done = f"L{number}_else", f"L{number}_end"
        negated = isinstance(condition, Op) and condition.name == "lnot"
        truth = condition.args[0] if isinstance(condition, Op) and negated else condition
        predicate = self.scalars.predicate(truth)
        target = other if branch.orelse else done
        pre = context.scope.block.nested()
        context.branch(target, Guard(predicate, not negated))
        self._branch(branch.then, pre)
        if branch.orelse:
            context.span = branch.span
            context.branch(done)
            context.label(other)
            self._branch(branch.orelse, pre)
        context.label(done)

    def _branch(self, statements: Sequence[Statement], pre: Block) -> None:
        context = self.context
        block: Block = context.scope.block.nested()
        with context.inside(Scope("branch", context.scope, block, pre)):
            self.run(statements)
            self.pending.flush()

    # -- barriers ------------------------------------------------------------------------------------------------

    def _barrier(self, barrier: Barrier) -> None:
        context = self.context
        self.pending.flush()
        if barrier.kind == "cta":
            context.instr("bar.sync", (integer(0),))
        elif barrier.kind == "warp":
            context.instr("bar.warp.sync", (Immediate("0xffffffff"),))
        else:
            context.instr("barrier.cluster.arrive.aligned", ())
            context.instr("barrier.cluster.wait.aligned", ())


def _runs(start: Expr, stop: Expr) -> bool:
    """True when the loop certainly runs once."""
    first, last = machine_bounds(start)[1], machine_bounds(stop)[0]
    return first is not None and last is not None and first < last
