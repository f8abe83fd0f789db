"""defined, for shared memory, byte by byte: all writes and reads of a block, as if its threads moved in step.

That order is one that may happen, and in a kernel without races (an obligation of its own) every order gives the same
answer. Indices, guards and trip counts are evaluated for all threads at once. Runtime values are tried one by one
where they are few, by their remainder where only that counts, and else stay symbols: what is written under a
condition counts where the read knows the same condition. What cannot be followed is said to be not judged.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from ptxspec.lang import ir
from ptxspec.proof import formula, normalise
from ptxspec.proof.defined_conditions import Conditions
from ptxspec.proof.defined_examples import Spot, failure
from ptxspec.proof.defined_findings import Finding, Place, Spent, repeats
from ptxspec.proof.defined_plan import Plan, Symbol, has_shared, is_shared
from ptxspec.proof.defined_store import Bits, Part, Store
from ptxspec.proof.defined_values import Array, Residue, Unclear, Values
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.state import at, bound_inside
from ptxspec.proof.tree import Access, Branch, Loop, Node, Step
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import BOOL, Const, Expr, Op, Var, show

#: Units of memory that are looked at before the rest is left unjudged.
MAX_WORK = 1 << 21
#: Iterations of one loop that are gone through one by one.
EXACT_TRIPS = 64
#: Iterations of other loops: as many from the first on, and as many in a row from anywhere.
WINDOW = 3
#: Examples kept of one read.
KEPT = 6


class Bytes:
    """One kernel. ``findings`` has every read of shared memory, ``stores`` what is known at the end of a case."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.plan = Plan(walker)
        self.aliases = walker.aliases
        self.work = 0
        self.findings: dict[Access, Finding] = {}
        self.stores: dict[ir.Buffer, Store] = {}
        size = walker.threads.block
        self.threads: Array = np.arange(walker.threads.count, dtype=np.int64)
        line = self.threads[:, None]
        self.tids: dict[Expr, Array | int] = dict(
            zip(walker.threads.tid, (line % size[0], line // size[0] % size[1], line // (size[0] * size[1])),
                strict=True))
        self.conditions = Conditions(walker, self.tids)

    def run(self) -> dict[Access, Finding]:
        """Go through the kernel once for each case of its runtime values."""
        self.findings = {a: Finding(a, lead=a.size) for a in self.plan.reads}
        try:
            for case in self.plan.cases():
                self._case(case)
        except Spent:
            for finding in self.findings.values():
                finding.reason = finding.reason or "there are too many threads, iterations and bytes to go through"
        return self.findings

    def _case(self, case: tuple[tuple[Symbol, int], ...]) -> None:
        env = dict(self.tids)
        facts: list[Fact] = []
        for symbol, number in case:
            if symbol.modulus:
                env[symbol.var] = Residue(number, symbol.modulus)
                claim = formula.eq(ix.floormod(symbol.var, symbol.modulus), number)
            else:
                env[symbol.var] = number
                claim = formula.eq(symbol.var, number)
            facts.append(Fact(symbol.var.name, "", claim, None, "guard"))
        self.stores = {b: Store.make(low, high, unit) for b, (low, high, unit) in self.plan.ranges.items()}
        self._block(self.walker.nodes, Place(env, np.ones(len(self.threads), bool), (), tuple(facts)))
        for finding in self.findings.values():
            if finding.failures and finding.later is None:
                store = self.stores[finding.access.buffer]
                finding.later = [(s, partial(store.wrote, s)) for s in store.by]

    # -- statements -------------------------------------------------------------------------------------------

    def _block(self, nodes: tuple[Node, ...], place: Place) -> None:
        values = Values(place.env, self.aliases)
        for node in nodes:
            if isinstance(node, Step):
                self._step(node, place, values)
            elif isinstance(node, Branch) and has_shared((node,)):
                self._branch(node, place, values)
            elif isinstance(node, Loop) and has_shared((node,)):
                self._loop(node, place, values)

    def _narrow(self, place: Place, values: Values, condition: Expr, context: Context,
                ) -> tuple[Bits, tuple[Expr, ...]]:
        """The threads for which what is known of ``condition`` holds, and the rest; it is asked in ``context``."""
        active, rest = place.active, []
        for part in formula.conjuncts(condition):
            try:
                held = np.broadcast_to(values.of(part) != 0, (len(self.threads), 1))
                active = active & held[:, 0]
            except Unclear:
                ints = {v: n for v, n in place.env.items() if type(n) is int and isinstance(v, Var)}
                fixed = at(part, ints)
                self.conditions.note(fixed, part, context, ints)
                if isinstance(fixed, Const):
                    active = active & bool(fixed.value)
                else:
                    rest.append(fixed)
        return active, tuple(rest)

    def _under(self, place: Place, active: Bits, more: tuple[Expr, ...]) -> Place:
        return Place(place.env, active, (*place.conditions, *more), place.facts, place.exact, place.judge, place.own)

    def _branch(self, node: Branch, place: Place, values: Values) -> None:
        condition = node.statement.condition
        active, more = self._narrow(place, values, condition, node.context)
        before = {b: len(s.parts) for b, s in self.stores.items()}
        if active.any():
            self._block(node.then, self._under(place, active, more))
        active, other = self._narrow(place, values, formula.negate(condition), node.context)
        if active.any() and node.orelse:
            self._block(node.orelse, self._under(place, active, other))
            if more and other:
                for buffer, store in self.stores.items():
                    store.join(before[buffer], more, other)

    def _step(self, step: Step, place: Place, values: Values) -> None:
        touched = [a for a in step.memory if is_shared(a)]
        if not touched:
            return
        apply = step.statement
        if isinstance(apply, ir.Apply) and apply.pred is not None:
            active, more = self._narrow(place, values, apply.pred, step.outside)
            place = self._under(place, active, more)
        if not place.active.any():
            return
        for access in touched:
            store = self.stores[access.buffer]
            try:
                places = self._places(access, place, store)
            except Unclear as problem:
                if access.kind != "write" and place.judge and not store.must.all():
                    self._unjudged(access, f"its place in {access.buffer.name} depends on {problem}")
                if access.kind != "read":
                    store.anywhere(step.statement)
                continue
            threads = self.threads[place.active]
            if access.kind != "write" and place.judge:
                self._read(access, place, store, places, threads)
            if access.kind != "read":
                store.write(step.statement, places, threads, place.conditions, self._uniform(place), place.own)

    def _places(self, access: Access, place: Place, store: Store) -> Array:
        """Units touched, by active thread, repeat and unit."""
        env = dict(place.env)
        if prod((v.hi or 0) - (v.lo or 0) + 1 for v in access.free) > MAX_WORK // len(self.threads):
            raise Spent
        grid = repeats(access)
        for k, var in enumerate(access.free):
            env[var] = np.array([[p[k] for p in grid]], np.int64)
        offsets = Values(env, self.aliases).of(self.plan.relative(access))
        offsets = np.broadcast_to(offsets, (len(self.threads), len(grid)))[place.active]
        self.work += offsets.size * (access.size // store.unit)
        if self.work > MAX_WORK:
            raise Spent
        if (offsets % store.unit).any():
            raise Unclear("bytes that lie between elements")
        return store.places(offsets, access.size)

    def _uniform(self, place: Place) -> bool:
        """True when all threads of the block see the conditions alike: they are in one iteration of every loop here."""
        return all(
            self.conditions.alike(c) and not any(isinstance(place.env.get(v), np.ndarray)
                                                 for v in self.conditions.names(c))
            for c in place.conditions
        )

    # -- reads ------------------------------------------------------------------------------------------------

    def _unjudged(self, access: Access, reason: str) -> None:
        finding = self.findings[access]
        finding.reason = finding.reason or reason

    def _read(self, access: Access, place: Place, store: Store, places: Array, threads: Array) -> None:
        context = access.context

        def proved(condition: Expr) -> bool:
            nonlocal context
            if condition in place.conditions:
                return True
            if context is access.context:
                for fact in place.facts:
                    context = context.extend(fact)
            return normalise.proved(condition, context)

        def covered(part: Part, owner: Array) -> Bits:
            if all(proved(c) for c in part.conditions):
                mine: Bits = owner >= 0 if part.uniform and not part.own else owner == threads[:, None, None]
                if part.uniform or (mine == (owner >= 0)).all():
                    return mine
            else:
                mine = np.zeros(owner.shape, bool)
            if part.own:
                return mine
            # Where another thread wrote, its condition must follow from the reader's.
            theirs: Bits = owner >= 0
            for condition in part.conditions:
                if not self.conditions.alike(condition) or not proved(condition):
                    theirs = theirs & self.conditions.follows(condition, place.conditions, owner, threads)
            return mine | theirs

        lacking, never, partly = store.missing(places, covered)
        if not lacking.any():
            return
        finding = self.findings[access]
        first = np.argmax(lacking, -1)
        finding.lead = min(finding.lead, int(first[lacking.any(-1)].min()) * store.unit)
        doubtful = any(v.role == "value" and v not in self.aliases
                       for c in place.conditions for v in self.conditions.names(c))
        if (lacking & ~never).any() or not place.exact or doubtful:
            where = " and ".join(f"`{show(c)}`" for c in (partly.conditions if partly is not None else ()))
            self._unjudged(access, f"some bytes of {access.buffer.name} are written only where {where}" if where else
                           f"which bytes of {access.buffer.name} earlier iterations wrote was not worked out")
        if not place.exact or doubtful:
            return
        # Bytes that nobody can have written come first, then those that are written under conditions.
        for wanted in (never, lacking & ~never):
            rows = np.flatnonzero(wanted.any((1, 2)))
            for row in dict.fromkeys((int(rows[0]), int(rows[-1]))) if rows.size else ():
                self._example(finding, place, store, places[row], wanted[row], int(threads[row]))
            finding.cut = finding.cut or len(rows) > 2

    def _example(self, finding: Finding, place: Place, store: Store, places: Array, wanted: Bits, thread: int) -> None:
        if len(finding.failures) >= KEPT:
            finding.cut = True
            return
        repeat, within = (int(k) for k in np.argwhere(wanted)[0])
        unit = int(places[repeat, within])
        unless = store.when(unit, thread, self.conditions.seen_by) if store.may[unit] else []
        if unless is None or any(v.role == "value" for c in unless for e in c for v in self.conditions.names(e)):
            return
        at = Spot(thread, repeat, within, unit)
        finding.failures.append(failure(self.walker.threads, finding.access, place, store, at, unless))

    # -- loops ------------------------------------------------------------------------------------------------

    def _loop(self, node: Loop, place: Place, values: Values) -> None:
        statement = node.statement
        parts: list[Array | None] = []
        for expr in (statement.start, statement.stop, statement.step):
            try:
                parts.append(values.of(expr))
            except Unclear:
                parts.append(None)
        start, stop, step = parts
        if not self.plan.moves(node):
            self._once(node, place, start, stop)
        elif start is not None and step is not None and bool((step > 0).all()) \
                and (stop is not None or start.size == 1):
            if not self._exactly(node, place, start, stop, step):
                self._window(node, place, int(step) if step.ndim == 0 else None, judge_all=False)
        else:
            self._window(node, place, int(step) if step is not None and step.ndim == 0 else None, judge_all=True)

    def _body(self, node: Loop, place: Place) -> None:
        self._block(node.body, place)
        inside = bound_inside(node)
        for store in self.stores.values():
            store.forget(inside, self.conditions.names)

    def _inside(self, node: Loop, place: Place, value: Array | int | None, active: Bits, more: tuple[Expr, ...],
                exact: bool, judge: bool, own: bool = False) -> Place:
        env = dict(place.env)
        facts = place.facts
        var = node.statement.var
        env.pop(var, None)
        if value is not None:
            if not isinstance(value, int) and value.size == 1:
                value = int(value.reshape(-1)[0])
            env[var] = value
            if type(value) is int:
                facts = (*facts, Fact(f"iteration of {var.name}", "", formula.eq(var, value), var.span, "thread"))
        return Place(env, active, (*place.conditions, *more), facts, place.exact and exact, place.judge and judge,
                     place.own or own)

    def _once(self, node: Loop, place: Place, start: Array | None, stop: Array | None) -> None:
        """A loop whose iterations all touch the same bytes: the first one tells."""
        statement = node.statement
        active, more = self._runs(node, place, start, stop)
        if not active.any():
            return
        inside = self._inside(node, place, start, active, more, True, True)
        if start is None:
            first = Fact(f"iteration of {statement.var.name}", "",
                         Op("eq", (statement.var, statement.start), BOOL), statement.var.span, "thread")
            inside = replace(inside, facts=(*inside.facts, first))
        self._body(node, inside)

    def _runs(self, node: Loop, place: Place, value: Array | None, stop: Array | None,
              ) -> tuple[Bits, tuple[Expr, ...]]:
        """The threads that are in the iteration with ``value``, and the condition where that is not known."""
        statement = node.statement
        if value is not None and stop is not None:
            held = np.broadcast_to(value < stop, (len(self.threads), 1))
            return place.active & held[:, 0], ()
        bound = at(statement.stop, {v: n for v, n in place.env.items() if type(n) is int and isinstance(v, Var)})
        if value is not None and value.size == 1:
            here = int(value.reshape(-1)[0])
            return place.active, (Op("lt", (Const(here, statement.var.dtype), bound), BOOL),)
        return place.active, (Op("lt", (statement.start, bound), BOOL),)

    def _exactly(self, node: Loop, place: Place, start: Array, stop: Array | None, step: Array) -> bool:
        """Iterations one by one from the first; False where more may follow than were looked at."""
        value = start
        most = EXACT_TRIPS if stop is not None or self._short(node) else WINDOW
        for _ in range(most):
            active, more = self._runs(node, place, value, stop)
            if not active.any():
                return True
            if stop is None and self._never(node, place, value):
                return True
            self._body(node, self._inside(node, place, value, active, more, True, True))
            value = np.asarray(value + step)  # NumPy makes plain numbers of sums of single ones
        if stop is not None:
            return not self._runs(node, place, value, stop)[0].any()
        return self._never(node, place, value)

    def _short(self, node: Loop) -> bool:
        high = node.inside.interval(node.statement.var)[1]
        return high is not None and high < EXACT_TRIPS

    def _never(self, node: Loop, place: Place, value: Array) -> bool:
        """The loop surely has no iteration with this value."""
        high = node.inside.interval(node.statement.var)[1]
        return high is not None and bool((value > high).all())

    def _window(self, node: Loop, place: Place, step: int | None, *, judge_all: bool) -> None:
        """Any few iterations in a row, after whatever was written before the loop."""
        modulus = self.plan.period(node)
        before = {b: (s.must.copy(), s.may, list(s.parts)) for b, s in self.stores.items()}
        for store in self.stores.values():
            store.may = np.zeros_like(store.may)
        length = WINDOW if step is not None else 1
        statement = node.statement
        own = not all(self.conditions.alike(e) for e in (statement.start, statement.stop, statement.step))
        follows = node.inside.extend(Fact("another iteration", "", formula.lt(
            ix.add(node.statement.var, node.statement.step), node.statement.stop), None, "thread"))
        for residue in range(modulus or 1):
            for number in range(length):
                value = Residue(residue + number * (step or 0), modulus) if modulus else None
                judge = judge_all or number == length - 1
                self._block(node.body, self._inside(node, place, value, place.active, (), False, judge, own))
                self._carry(node, follows)
            for buffer, (must, _, parts) in before.items():
                self.stores[buffer].must = must.copy()
                self.stores[buffer].parts = list(parts)
        for buffer, (_, may, _) in before.items():
            store = self.stores[buffer]
            store.vague |= store.may
            store.may |= may

    def _carry(self, node: Loop, follows: Context) -> None:
        """From one iteration to the next: conditions that the next one implies are met."""
        inside = bound_inside(node)
        exact = node.context.exact(node.statement.stop) is not None
        for store in self.stores.values():
            kept: list[Part] = []
            for part in store.parts:
                rest = tuple(c for c in part.conditions if not inside & self.conditions.names(c)
                             or not exact or not normalise.proved(c, follows))
                if any(inside & self.conditions.names(c) for c in rest):
                    store.vague |= part.owner >= 0
                    continue
                # That an iteration follows is said of the same thread only, unless all see it alike.
                own = part.own or (len(rest) < len(part.conditions) and not part.uniform)
                if rest or own:
                    kept.append(Part(rest, part.uniform, part.owner, own))
                else:
                    store.must |= part.owner >= 0
            store.parts = kept
