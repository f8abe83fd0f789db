"""defined: a value is read only where it was written.

Register numbers are fixed when the kernel is emitted, so this part interprets the kernel once per statement, and once
per iteration of the loops whose variable picks registers (those are unrolled anyway). The state says, for each byte of
a thread's own storage, under which conditions it holds a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.goals import Draft, Item
from ptxspec.proof.numeric import NotNumeric
from ptxspec.proof.registers import Addressed, Values, as_registers, slots_of
from ptxspec.proof.state import Guards, Key, State, at, decides, either, meet, named, past, picks, under
from ptxspec.proof.surely import surely_read
from ptxspec.proof.tree import Branch, Claimed, Loop, Node, Registers, Step
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import BOOL, Const, Expr, Op, int_range, show

#: Iterations of one loop that are interpreted one by one before the analysis treats it as a whole.
MAX_TRIPS = 1 << 12
#: Loops this short are always interpreted iteration by iteration.
FEW_TRIPS = 8
#: Iterations that a runtime trip count may allow and that are interpreted one by one: conditions grow with each.
PERHAPS_TRIPS = 5
#: First iterations of longer loops that are interpreted one by one where what is done depends on the iteration.
PEELED = 2


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A register byte that is read before anything was written there; ``slot`` is -1 where the whole buffer is bare."""

    buffer: ir.Buffer
    slot: int
    word: int
    repeat: tuple[int, ...]
    guards: tuple[Expr, ...]


class Defined:
    """The abstract interpreter; ``drafts`` collects one obligation for each register operand that is read. ``aliases``:
    what values equal that were read from known cells."""

    def __init__(self, aliases: Mapping[Expr, Expr | int] | None = None) -> None:
        self.aliases = aliases or {}
        self.quiet = False  # what a loop leaves is being found out: nothing is asked
        self.drafts: dict[tuple[ir.Statement, int], Draft] = {}
        self.state: State = {}
        self.tied: list[Fact] = []  # iterations being interpreted one by one
        self.written: list[set[Key]] = []  # what the bodies of loops write, while that is collected
        self.unsure: list[set[Key]] = []  # written in loops that are interpreted all at once
        self.fuzzy: set[Key] = set()  # bytes of which a loop made us know less than the truth
        self.begun: set[ir.Buffer] = set()  # buffers that some statement above wrote to, wherever and whenever
        self.denied: set[tuple[int, tuple[Expr, ...], tuple[Expr, ...]]] = set()  # reads that find nothing, and where

    def run(self, nodes: tuple[Node, ...]) -> list[Draft]:
        """Interpret the whole kernel."""
        self._block(nodes, {}, ())
        return list(self.drafts.values())

    def _at(self, expr: Expr, values: Values) -> Expr:
        """``expr`` in the iterations given by ``values``, with what is known of values in it."""
        return at(substitute(expr, self.aliases) if self.aliases else expr, values)

    def _block(self, nodes: tuple[Node, ...], values: Values, path: tuple[Expr, ...]) -> None:
        for node in nodes:
            if isinstance(node, Step):
                self._step(node, values, path)
            elif isinstance(node, Branch):
                self._branch(node, values, path)
            elif isinstance(node, Loop):
                self._loop(node, values, path)
            elif isinstance(node, Claimed):
                path = (*path, self._at(node.statement.condition, values))

    # -- one statement ----------------------------------------------------------------------------------------

    def _step(self, step: Step, values: Values, path: tuple[Expr, ...]) -> None:
        apply = step.statement if isinstance(step.statement, ir.Apply) else None
        pred = self._at(apply.pred, values) if apply is not None and apply.pred is not None else None
        here = path if pred is None else (*path, pred)
        touched = [*step.registers, *(as_registers(a) for a in step.memory if a.buffer.scope == "local")]
        for registers in touched:
            if registers.kind != "write":
                self._read(registers, values, here)
        for registers in touched:
            if registers.kind == "read":
                continue
            self.begun.add(registers.buffer)
            if apply is not None and (apply.preserve_dst or isinstance(registers, Addressed)):
                # Where the predicate is false the old value stays, so there must be one.
                self._keep(registers, values, pred, step.outside, path)
            else:
                self._write(registers, values, pred)

    def _draft(self, registers: Registers) -> Draft:
        key = (registers.statement, registers.operand)
        if key not in self.drafts:
            self.drafts[key] = Draft(
                "defined",
                registers.span,
                registers.what,
                statement=registers.statement,
                access=registers,
                context=registers.context,
            )
        return self.drafts[key]

    def _read(self, registers: Registers, values: Values, path: tuple[Expr, ...]) -> None:
        if self.quiet:
            return
        draft = self._draft(registers)
        # One word that holds nothing is enough to be told, but only for these iterations and this way through the
        # branches: they may never come, and others may.
        where = (id(draft), path, tuple(f.condition for f in self.tied))
        if where in self.denied or any(i.unknown for i in draft.items):
            return
        try:
            rows = slots_of(registers, values)
        except NotNumeric as problem:
            places = named(registers, values)
            if places and all(self.state.get(k, frozenset()) is None for k in places):
                draft.items.append(Item(formula.TRUE, registers.context))
                return
            if registers.buffer not in self.begun:
                bare = Unwritten(registers.buffer, -1, 0, (), ())
                self._need(draft, registers.context, frozenset(), path, (registers.buffer, -1), bare)
                self.denied.add(where)
                return
            self._whole(registers, draft, f"registers of {registers.buffer.name} are chosen by {problem}")
            return
        asked: set[Guards] = set()
        for repeat, row in rows:
            for word, slot in enumerate(row):
                for byte in range(slot, slot + registers.word_bytes):
                    key = (registers.buffer, byte)
                    guards = self.state.get(key, frozenset())
                    if guards is None or guards in asked:
                        continue
                    asked.add(guards)
                    self._need(
                        draft,
                        registers.context,
                        guards,
                        path,
                        key,
                        Unwritten(registers.buffer, byte, word, repeat, tuple(guards)),
                    )
                    if not guards:
                        self.denied.add(where)
                        return

    def _whole(self, registers: Registers, draft: Draft, reason: str) -> None:
        """Slots that only the running kernel picks: fine when all of the buffer is written, else not understood."""
        if self.quiet:
            return
        from ptxspec.lang.locate import element_bytes, storage_elements

        total = storage_elements(registers.buffer)
        size = total.const * element_bytes(registers.buffer.dtype) if total.is_const else None
        if size is not None and all(self.state.get((registers.buffer, b), frozenset()) is None for b in range(size)):
            draft.items.append(Item(formula.TRUE, registers.context))
        else:
            draft.items.append(Item(formula.FALSE, registers.context, unknown=reason))

    def _need(
        self,
        draft: Draft,
        context: Context,
        guards: frozenset[Expr],
        path: tuple[Expr, ...],
        key: Key,
        about: Unwritten,
    ) -> None:
        if self.quiet or any(g in path for g in guards):
            return
        claim = formula.disj(sorted(guards, key=lambda g: g._hash))
        known = {f.condition for f in context}
        for k, condition in enumerate(path):  # substituted copies of conditions in unrolled iterations
            if condition not in known and not isinstance(condition, Const):
                context = context.extend(Fact(f"path {k}", show(condition), condition, None, "guard"))
        for fact in self.tied:
            context = context.extend(fact)
        doubtful = key in self.fuzzy or any(key in keys for keys in self.unsure)
        reason = f"what a loop leaves in {about.buffer.name} was only approximated" if doubtful else ""
        draft.items.append(Item(claim, context, about, doubt=reason))

    @contextmanager
    def _fixed(self, loop: ir.For, condition: Expr) -> Iterator[None]:
        """Inside, the loop's variable is known."""
        self.tied.append(Fact(f"iteration of {loop.var.name}", "", condition, loop.span, "thread"))
        try:
            yield
        finally:
            self.tied.pop()

    def _set(self, key: Key, guards: Guards) -> None:
        self.state[key] = guards
        if self.written:
            self.written[-1].add(key)

    def _write(self, registers: Registers, values: Values, pred: Expr | None) -> None:
        try:
            rows = slots_of(registers, values)
        except NotNumeric:
            if pred is not None:  # some register is left undefined where the predicate is false: any of them
                for key in [k for k in self.state if k[0] is registers.buffer]:
                    self._set(key, under(self.state[key], pred))
                    self.fuzzy.add(key)
            else:
                for key in named(registers, values):
                    self._set(key, None)
            return
        if pred is not None:  # it may be one of those that only an index names
            for key in [k for k in self.state if k[0] is registers.buffer and not isinstance(k[1], int)]:
                self._set(key, under(self.state[key], pred))
        new: Guards = None if pred is None or pred == formula.TRUE else frozenset([pred]) - {formula.FALSE}
        for _, row in rows:
            for slot in row:
                for byte in range(slot, slot + registers.word_bytes):
                    self._set((registers.buffer, byte), new)

    def _keep(
        self, registers: Registers, values: Values, pred: Expr | None, outside: Context, path: tuple[Expr, ...]
    ) -> None:
        if isinstance(registers, Addressed):
            self._stay(registers, values, pred)
            return
        draft = self._draft(registers)
        try:
            rows = slots_of(registers, values)
        except NotNumeric as problem:
            self._whole(registers, draft, f"registers of {registers.buffer.name} are chosen by {problem}")
            return
        for repeat, row in rows:
            for word, slot in enumerate(row):
                for byte in range(slot, slot + registers.word_bytes):
                    key = (registers.buffer, byte)
                    guards = self.state.get(key, frozenset())
                    if guards is not None:
                        # Kept only where something was there before: written under pred, or under the old guards.
                        self._need(
                            draft,
                            outside,
                            guards | {pred} if pred is not None else guards,
                            path,
                            key,
                            Unwritten(registers.buffer, byte, word, repeat, tuple(guards)),
                        )
                        self._set(key, None if pred is None else guards | {pred})

    def _stay(self, registers: Registers, values: Values, pred: Expr | None) -> None:
        try:
            rows = slots_of(registers, values)
        except NotNumeric:
            return
        for _, row in rows:
            for slot in row:
                for byte in range(slot, slot + registers.word_bytes):
                    key = (registers.buffer, byte)
                    old = self.state.get(key, frozenset())
                    self._set(key, None if pred is None or old is None else old | {pred})

    # -- control flow -----------------------------------------------------------------------------------------

    def _branch(self, node: Branch, values: Values, path: tuple[Expr, ...]) -> None:
        condition = self._at(node.statement.condition, values)
        if isinstance(condition, Const):
            self._block(node.then if condition.value else node.orelse, values, path)
            return
        other = formula.negate(condition)
        before = dict(self.state)
        self._block(node.then, values, (*path, condition))
        then = self.state
        self.state = before
        self._block(node.orelse, values, (*path, other))
        self.state = either(condition, then, self.state)

    def _loop(self, node: Loop, values: Values, path: tuple[Expr, ...]) -> None:
        statement = node.statement
        trips = self._trips(statement, values)
        if trips is not None and (len(trips) <= FEW_TRIPS or picks(node.body, statement.var)):
            sure = surely_read(node, values, self.state, self._trips)
            if sure is not None:
                for registers in sure if not self.quiet else ():
                    draft = self._draft(registers)
                    draft.items.append(Item(formula.TRUE, draft.context or node.context))
                return
            for value in trips:
                self._iteration(node, values, path, value)
            return
        before = dict(self.state)
        peeled, more, whole = self._peel(node, values, path, trips)
        if not whole:
            self._others(node, values, path, more)
        for state, goes_on in reversed(peeled):
            if goes_on is None:  # whether it was the last iteration is not told
                joined = meet(self.state, state)
                self.fuzzy.update(k for k in self.state.keys() | state.keys() if joined.get(k) != state.get(k))
                self.state = joined
            else:
                self.state = either(goes_on, self.state, state)
        if trips is None:
            runs = self._at(Op("lt", (statement.start, statement.stop), BOOL), values)
            self.state = either(runs, self.state, before)

    def _iteration(self, node: Loop, values: Values, path: tuple[Expr, ...], value: int) -> None:
        """One iteration, which surely runs where the path comes by."""
        var = node.statement.var
        with self._fixed(node.statement, formula.eq(var, value)):
            self._block(node.body, {**values, var: value}, path)
        self._pass(node)

    def _pass(self, node: Loop) -> None:
        """The iteration is over: values read in it are other values in the next, so guards on them end here."""
        after = past(self.state, node)
        if after is not self.state:
            self.fuzzy.update(k for k, g in self.state.items() if after[k] != g)
            self.state = after

    def _peel(
        self, node: Loop, values: Values, path: tuple[Expr, ...], trips: range | None
    ) -> tuple[list[tuple[State, Expr | None]], Expr, bool]:
        """The first iterations one by one, each as it is: what it reads too early is no approximation.

        For each, the state behind it and the condition under which another follows; then what holds of the loop's
        variable in all later iterations, and whether there is none.
        """
        statement = node.statement
        var, start, step = statement.var, self._at(statement.start, values), self._at(statement.step, values)
        if not isinstance(start, Const) or not isinstance(step, Const) or int(step.value) <= 0:
            with self._fixed(statement, Op("eq", (var, statement.start), BOOL)):
                self._block(node.body, values, path)
            self._pass(node)
            return [(self.state, None)], Op("lt", (statement.start, var), BOOL), False
        top = int_range(var.dtype)[1]
        last = trips[-1] if trips else node.inside.interval(var)[1]
        run = range(int(start.value), top + 1 if last is None else last + 1, int(step.value))
        many = len(run) if len(run) <= PERHAPS_TRIPS else PEELED if decides(node.body, var, self.aliases) else 1
        found: list[tuple[State, Expr | None]] = []
        for number, value in enumerate(run[:many]):
            runs = self._runs(value, statement, values)
            self._iteration(node, values, path if trips is not None else (*path, runs), value)
            if number + 1 < len(run):
                found.append((dict(self.state), self._runs(run[number + 1], statement, values)))
        return found, Op("lt", (Const(run[many - 1] if many else 0, var.dtype), var), BOOL), many == len(run)

    def _runs(self, value: int, statement: ir.For, values: Values) -> Expr:
        """The condition under which there is an iteration with this value, where there is one with the value before."""
        stop = self._at(statement.stop, values)
        if isinstance(stop, Const):
            return formula.truth(value < int(stop.value))
        return Op("lt", (Const(value, statement.var.dtype), stop), BOOL)

    def _others(self, node: Loop, values: Values, path: tuple[Expr, ...], more: Expr) -> None:
        """All further iterations at once: those for whose variable ``more`` holds."""
        entry = {k: g for k, g in self.state.items() if g is None or g}
        mine: set[Key] = set()
        self.written.append(mine)
        with self._fixed(node.statement, more):
            was, self.quiet = self.quiet, True
            while True:  # what is known at the head only shrinks, so this ends
                self.state = dict(entry)
                self._block(node.body, values, path)
                self._pass(node)
                joined = {k: g for k, g in meet(entry, self.state).items() if g is None or g}
                self.fuzzy.update(k for k in entry if joined.get(k, frozenset()) != entry[k])
                if joined == entry:
                    break
                entry = joined
            self.quiet = was
            if not self.quiet:
                self.unsure.append(mine)
                self.state = dict(entry)
                self._block(node.body, values, path)
                self._pass(node)
                self.unsure.pop()
        self.written.pop()
        if self.written:
            self.written[-1] |= mine

    def _trips(self, loop: ir.For, values: Values) -> range | None:
        parts = [self._at(e, values) for e in (loop.start, loop.stop, loop.step)]
        if not all(isinstance(p, Const) for p in parts):
            return None
        start, stop, step = (int(p.value) for p in parts)  # type: ignore[attr-defined]
        found = range(start, stop, step) if step > 0 else None
        return found if found is not None and len(found) <= MAX_TRIPS else None
