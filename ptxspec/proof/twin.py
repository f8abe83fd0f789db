"""Two threads at once: one keeps the kernel's variables, the other gets fresh ones for everything that is its own.

Shared between them are launch values (parameters, dimensions), the block's own ids when both are in one block, the
variables of loops that both run in step, and values that both read from one place at one time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.tree import Branch, Loop, Node, Step, Threads, steps
from ptxspec.scalar import index as ix
from ptxspec.scalar.evaluate import substitute
from ptxspec.scalar.expr import INDEX, Expr, Var, variables

_LAUNCH = ("param", "dim", "stride", "base")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a ``value`` variable comes from: the load, and the loops around it, outermost first.

    ``constant``: from a parameter that the kernel never writes, so that one address always gives one value.
    """

    load: ir.Load
    loops: tuple[Loop, ...]
    constant: bool = False


def sources(nodes: tuple[Node, ...]) -> dict[Var, Source]:
    """The loads of a kernel by the variable they define."""
    written = {a.buffer for s in steps(nodes) for a in s.memory if a.kind != "read"}
    found = _sources(nodes, ())
    return {
        v: replace(s, constant=s.load.view.buffer.is_param and s.load.view.buffer not in written)
        for v, s in found.items()
    }


def _sources(nodes: tuple[Node, ...], loops: tuple[Loop, ...]) -> dict[Var, Source]:
    found: dict[Var, Source] = {}
    for node in nodes:
        if isinstance(node, Step) and isinstance(node.statement, ir.Load):
            found[node.statement.result] = Source(node.statement, loops)
        elif isinstance(node, Branch):
            found.update(_sources(node.then, loops))
            found.update(_sources(node.orelse, loops))
        elif isinstance(node, Loop):
            found.update(_sources(node.body, (*loops, node)))
    return found


@dataclass(eq=False, slots=True)
class Twin:
    """The second thread. ``in_step`` are loops that both threads are in the same iteration of; ``one_block`` says that
    they share a block. ``mapping`` grows as expressions are renamed."""

    threads: Threads
    loads: dict[Var, Source]
    in_step: tuple[Loop, ...]
    one_block: bool
    mapping: dict[Expr, Expr | int] = field(default_factory=dict)
    extra: list[Fact] = field(default_factory=list)
    _shared: dict[Var, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for loop in self.in_step:
            self._step_together(loop)

    def _step_together(self, loop: Loop) -> None:
        """One iteration number for both threads; the variables differ only where start or step do."""
        statement = loop.statement
        if self.uniform(statement.start) and self.uniform(statement.step):
            self._shared[statement.var] = True
            return
        self._shared[statement.var] = False
        if loop.context.exact(statement.start) is None or loop.context.exact(statement.step) is None:
            return  # these may wrap: nothing is known of the common iteration
        count = Var(f"iteration of {statement.var.name}", INDEX, "trip", 0, None)
        start, step = ix.index(statement.start), ix.index(statement.step)
        mine = formula.eq(statement.var, ix.add(start, ix.mul(step, count)))
        self.extra.append(Fact(f"iteration of {statement.var.name}", "", mine, statement.span, "thread"))
        self._shared[count] = True  # the iteration number is common to both
        self.extra.append(Fact(f"iteration of {statement.var.name}", "", self.rename(mine), statement.span, "thread"))

    def shared(self, var: Var) -> bool:
        """True when both threads see one value of ``var``."""
        found = self._shared.get(var)
        if found is None:
            self._shared[var] = False  # a cycle cannot happen, but must not hang
            found = self._shared[var] = self._decide(var)
        return found

    def _decide(self, var: Var) -> bool:
        if var.role in _LAUNCH:
            return True
        if var.role.startswith(("ctaid", "cluster_ctaid")):
            return self.one_block
        if var.role == "value" and var in self.loads:
            source = self.loads[var]
            view = source.load.view
            starts = [a.start for s in view.steps if isinstance(s, ir.Sub) for a in s.axes]
            if not all(self.uniform(e) for e in (*source.load.index, *starts)):
                return False
            # One place gives one value: in memory that nobody writes; or read by both in one barrier interval, where
            # race freedom (an obligation of its own) sees to it.
            together = self.one_block and view.buffer.scope != "local" and set(source.loops) <= set(self.in_step)
            return source.constant or together
        return False

    def share(self, var: Var) -> None:
        """Say that both threads see one value of a variable made up by the caller."""
        self._shared[var] = True

    def uniform(self, expr: Expr) -> bool:
        """True when both threads surely compute the same value of ``expr``."""
        return all(self.shared(v) for v in variables(expr))

    def rename(self, expr: Expr) -> Expr:
        """``expr`` as the second thread sees it."""
        for var in variables(expr):
            if var not in self.mapping and not self.shared(var):
                self.mapping[var] = Var(var.name + "'", var.dtype, var.role, var.lo, var.hi, var.span)
        return substitute(expr, self.mapping) if self.mapping else expr

    def differ(self, *, ordered: bool) -> Fact:
        """The two are different threads; ``ordered`` picks the first as the lower one (for symmetric pairs)."""
        parts: list[Expr] = []
        pairs = [(v, self.rename(v)) for k, v in enumerate(self.threads.tid) if self.threads.block[k] > 1]
        if not self.one_block:
            pairs = [(v, self.rename(v)) for v in self.threads.ctaid if v.lo != v.hi]
        if ordered and len(pairs) == 1:
            parts = [formula.lt(pairs[0][0], pairs[0][1])]
        else:
            parts = [formula.negate(formula.eq(a, b)) for a, b in pairs]
        return Fact("two threads" if self.one_block else "two blocks", "", formula.disj(parts), None, "thread")

    def context(self, first: Context, second: Context, *more: Fact) -> Context:
        """The facts of both threads."""
        context = Context()
        for fact in (*first.facts(), *self.extra, *more):
            context = context.extend(fact)
        for fact in second.facts():
            again = self.rename(fact.condition)
            if again != fact.condition or all(fact is not f for f in first.facts()):
                binds = self.mapping.get(fact.binds) if fact.binds is not None else None
                start = self.rename(fact.start) if fact.start is not None else None
                context = context.extend(
                    Fact(
                        f"{fact.name} (second thread)",
                        fact.text,
                        again,
                        fact.span,
                        fact.kind,
                        binds if isinstance(binds, Var) else None,
                        start,
                    )
                )
        return context
