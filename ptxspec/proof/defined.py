"""defined: a value is read only where it was written.

Register numbers are fixed when the kernel is emitted, so this part interprets the kernel once per statement, and once
per iteration of the loops whose variable picks registers (those are unrolled anyway). The state says, for each byte of
a thread's own storage, under which conditions it holds a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.goals import Draft, Item
from ptxspec.proof.numeric import NotNumeric, points
from ptxspec.proof.registers import MAX_POINTS, Addressed, Values, as_registers, rows_of, slots_of
from ptxspec.proof.state import Guards, Key, State, at, either, meet, named, past, picks, under
from ptxspec.proof.tree import Branch, Claimed, Loop, Node, Registers, Step
from ptxspec.scalar.expr import BOOL, Const, Expr, Op, Var, show

#: Iterations of one loop that are interpreted one by one before the analysis treats it as a whole.
MAX_TRIPS = 1 << 12
#: Loops this short are always interpreted iteration by iteration.
FEW_TRIPS = 8
#: Iterations that a runtime trip count may allow and that are interpreted one by one: conditions double with each.
PERHAPS_TRIPS = 5


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A register byte that is read before anything was written there; ``slot`` is -1 where the whole buffer is bare."""

    buffer: ir.Buffer
    slot: int
    word: int
    repeat: tuple[int, ...]
    guards: tuple[Expr, ...]


class Defined:
    """The abstract interpreter; ``drafts`` collects one obligation for each register operand that is read."""

    def __init__(self) -> None:
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

    def _block(self, nodes: tuple[Node, ...], values: Values, path: tuple[Expr, ...]) -> None:
        for node in nodes:
            if isinstance(node, Step):
                self._step(node, values, path)
            elif isinstance(node, Branch):
                self._branch(node, values, path)
            elif isinstance(node, Loop):
                self._loop(node, values, path)
            elif isinstance(node, Claimed):
                path = (*path, at(node.statement.condition, values))

    # -- one statement ----------------------------------------------------------------------------------------

    def _step(self, step: Step, values: Values, path: tuple[Expr, ...]) -> None:
        apply = step.statement if isinstance(step.statement, ir.Apply) else None
        pred = at(apply.pred, values) if apply is not None and apply.pred is not None else None
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
        if any(g in path for g in guards):
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
        condition = at(node.statement.condition, values)
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
            if self._reads_only(node, values):
                return
            for value in trips:
                with self._fixed(statement, formula.eq(statement.var, value)):
                    self._block(node.body, {**values, statement.var: value}, path)
                # A value read in one iteration is another value in the next: guards on it end here.
                self.state = past(self.state, node)
            return
        if trips is None and self._perhaps(node, values, path):
            return
        before = dict(self.state)
        # The first iteration is interpreted as it is: what it reads too early is no approximation.
        self.written.append(set())
        with self._fixed(statement, Op("eq", (statement.var, statement.start), BOOL)):
            self._block(node.body, values, path)
        mine = self.written.pop()
        if self.written:
            self.written[-1] |= mine
        entry = dict(before)
        self.unsure.append(mine)
        while True:  # what is known at the head only shrinks, so this ends
            self.state = dict(entry)
            self._block(node.body, values, path)
            after = past(self.state, node)
            joined = {k: g for k, g in meet(entry, after).items() if g is None or g}
            self.fuzzy.update(k for k, g in self.state.items() if after[k] != g)
            self.fuzzy.update(k for k in entry if joined.get(k, frozenset()) != entry[k])
            if joined == entry:
                break
            entry = joined
        self.unsure.pop()
        if trips is not None and len(trips) > 0:
            self.state = after
        else:
            runs = at(Op("lt", (statement.start, statement.stop), BOOL), values)
            self.state = either(runs, after, before)

    def _perhaps(self, node: Loop, values: Values, path: tuple[Expr, ...]) -> bool:
        """Iterations one by one where a runtime trip count allows few of them; each runs where the count says so."""
        statement = node.statement
        start, step = at(statement.start, values), at(statement.step, values)
        last = node.inside.interval(statement.var)[1]
        if not isinstance(start, Const) or not isinstance(step, Const) or last is None or int(step.value) <= 0:
            return False
        trips = range(int(start.value), last + 1, int(step.value))
        if len(trips) > PERHAPS_TRIPS:
            return False
        for value in trips:
            runs = at(Op("lt", (Const(value, statement.var.dtype), statement.stop), BOOL), values)
            before = dict(self.state)
            with self._fixed(statement, formula.eq(statement.var, value)):
                self._block(node.body, {**values, statement.var: value}, (*path, runs))
            self.state = either(runs, past(self.state, node), before)
        return True

    def _reads_only(self, node: Loop, values: Values) -> bool:
        """The everyday case of a nest that only reads registers which surely hold values: no order to keep."""
        reads: list[tuple[Registers, tuple[Var, ...]]] = []

        def gather(nodes: tuple[Node, ...], around: tuple[Var, ...]) -> bool:
            for inner in nodes:
                if isinstance(inner, Loop):
                    if self._trips(inner.statement, values) is None or not gather(
                        inner.body, (*around, inner.statement.var)
                    ):
                        return False
                elif isinstance(inner, Step):
                    if any(r.kind != "read" for r in inner.registers) or any(
                        a.buffer.scope == "local" for a in inner.memory
                    ):
                        return False
                    reads.extend((r, around) for r in inner.registers)
                elif isinstance(inner, Branch):
                    return False
            return True

        if not gather((node,), ()):
            return False
        found: list[Draft] = []
        for registers, around in reads:
            try:
                function, loops, _ = rows_of(registers)
            except NotNumeric:
                return False
            moving = [v for v in loops if v not in values]
            if any(v not in around for v in moving):
                return False
            # Bounds of loop variables cover their values; more points than iterations only ask for more.
            grid = points([*moving, *registers.free], MAX_POINTS)
            if grid is None:
                return False
            where = {v: k for k, v in enumerate([*moving, *registers.free])}
            order = [where.get(v, -1) for v in (*loops, *registers.free)]
            base = [values.get(v, 0) for v in (*loops, *registers.free)]
            slots: set[int] = set()
            for point in grid:
                slots.update(function(*(point[k] if k >= 0 else b for k, b in zip(order, base, strict=True))))
            width = range(registers.word_bytes)
            if any(self.state.get((registers.buffer, s + b), frozenset()) is not None for s in slots for b in width):
                return False
            found.append(self._draft(registers))
        for draft in found:
            draft.items.append(Item(formula.TRUE, draft.context or node.context))
        return True

    def _trips(self, loop: ir.For, values: Values) -> range | None:
        parts = [at(e, values) for e in (loop.start, loop.stop, loop.step)]
        if not all(isinstance(p, Const) for p in parts):
            return None
        start, stop, step = (int(p.value) for p in parts)  # type: ignore[attr-defined]
        found = range(start, stop, step) if step > 0 else None
        return found if found is not None and len(found) <= MAX_TRIPS else None
