"""``prove``: from a kernel to a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from ptxspec.diagnostics import Diagnostic, Note
from ptxspec.forms.target import machine
from ptxspec.lang import ir
from ptxspec.lang.deep import with_room
from ptxspec.lang.function import kernel_of
from ptxspec.lang.target import aiming
from ptxspec.proof import cache, explain, remedy
from ptxspec.proof.advice import advised
from ptxspec.proof.arrivals import apart_in_time, balanced
from ptxspec.proof.codes import code_of
from ptxspec.proof.converge import Diverges
from ptxspec.proof.defined import Defined
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.goals import Draft, Item, Positive
from ptxspec.proof.limits import limit_drafts
from ptxspec.proof.memory import AGAIN, two_values
from ptxspec.proof.premises import premises_of
from ptxspec.proof.race import Clash, followed
from ptxspec.proof.registers import disjoint_draft
from ptxspec.proof.report import VERDICTS, Obligation, ProofReport
from ptxspec.proof.shared import shared_drafts
from ptxspec.proof.solver import RESOURCE_LIMIT, Answer, Session
from ptxspec.proof.statements import local_drafts
from ptxspec.proof.threads import concurrent_drafts
from ptxspec.proof.tree import steps
from ptxspec.proof.twin import sources
from ptxspec.proof.walk import Walker
from ptxspec.proof.wrap import before_division
from ptxspec.scalar.expr import Var, show, variables


class Traced(Protocol):
    """Anything that can hand out its kernel, such as a ``@T.function``."""

    def kernel(self) -> ir.Kernel:
        """The typed kernel."""
        ...


def prove(
    kernel: ir.Kernel | Traced, sm: str = "sm_90", *, rlimit: int = RESOURCE_LIMIT, use_cache: bool = True
) -> ProofReport:
    """Discharge every obligation of ``kernel`` for target ``sm``.

    The answer is a report, never an exception, whatever the kernel does wrong; ``report.raise_if_bad()`` raises.
    ``rlimit`` bounds the work of one query in Z3's own units, so that the outcome does not depend on the machine.
    """
    sm = machine(sm).name
    if not isinstance(kernel, ir.Kernel):
        with aiming(sm):
            kernel = kernel_of(kernel)
    read = kernel
    return with_room(lambda: _prove(read, sm, rlimit, use_cache), kernel.span)


def _prove(kernel: ir.Kernel, sm: str, rlimit: int, use_cache: bool) -> ProofReport:
    started = time.perf_counter()
    session = Session(rlimit=rlimit, cache=cache.open_cache(_digest()) if use_cache else None)
    walker = Walker(kernel)
    bases: dict[ir.Buffer, Var] = {}
    drafts = local_drafts(walker.nodes, walker.threads, bases)
    for step in steps(walker.nodes):
        found = disjoint_draft(step)
        if found is not None:
            drafts.append(found)
    drafts.extend(Defined(walker.aliases).run(walker.nodes))
    shared, unjudged = shared_drafts(walker)
    drafts.extend(shared)
    drafts.extend(concurrent_drafts(walker))
    order = {id(s.statement): n for n, s in enumerate(steps(walker.nodes))}
    drafts.sort(key=lambda d: order.get(id(d.statement), -1) if d.statement is not None else -1)
    drafts = limit_drafts(kernel, walker, sm) + drafts
    resolver = Resolver(session, walker, sm)
    obligations = advised([resolver.resolve(d) for d in drafts], kernel.advice)
    verdict = next((v for v in VERDICTS if any(o.verdict == v for o in obligations)), "proved")
    not_judged = tuple(
        f"line {d.where.line}: whether every byte that {d.subject} finds was written ({unjudged[id(d)]})"
        for d, o in zip(drafts, obligations, strict=True)
        if id(d) in unjudged and o.verdict == "proved" and o.how != NEVER
    )
    return ProofReport(
        kernel.name,
        sm,
        verdict,
        obligations,
        premises_of(kernel, walker),
        (time.perf_counter() - started) * 1e3,
        dict(session.statistics),
        kernel.notes,
        not_judged,
    )


def _digest() -> str:
    try:
        from ptxspec.forms.registry import digest
    except ImportError:
        return "none"
    return str(digest())


#: How a statement is proved that no thread reaches: its own conditions exclude it, nothing else is wrong.
NEVER = "never runs"


def _without_conditions(context: Context) -> Context:
    """What is known before the conditions around a statement: the launch, extents, loops and assumptions."""
    result = Context()
    for fact in context.facts():
        if fact.kind not in ("guard", "pred", "select"):
            result = result.extend(fact)
    return result


class Resolver:
    """Decides drafts one by one."""

    def __init__(self, session: Session, walker: Walker, sm: str) -> None:
        self.session = session
        self.walker = walker
        self.sm = sm
        self._unsafe: dict[int, tuple[Fact, ...]] = {}  # statements whose arithmetic may wrap
        self._dead: set[Context] = set()  # contexts already reported as vacuous
        self._loads = sources(walker.nodes)
        self._remedies = remedy.Remedies(session, walker, sm)
        self._written = {a.buffer for step in steps(walker.nodes) for a in step.memory if a.kind != "read"}

    def resolve(self, draft: Draft) -> Obligation:
        """The obligation with its verdict and, unless proved, its diagnostic."""
        started = time.perf_counter()
        self._assume_exact(draft)
        verdict, item, answer = self._decide(draft)
        if draft.name == "no-wrap" and verdict in ("refuted", "unknown"):
            # The other goals of this statement are about its meaning without overflow, which is refused here already.
            self._unsafe[id(draft.statement)] = tuple(
                Fact("no overflow", show(i.claim), i.claim, i.where, "exact") for i in draft.items
            )
        if draft.name == "in-bounds" and verdict == "refuted":
            # Alignment and order are judged for the indices that exist.
            self._unsafe[id(draft.access)] = tuple(
                Fact("index inside", show(i.claim), i.claim, i.where, "exact") for i in draft.items
            )
        found = None
        message = f"{draft.subject}: {draft.name}"
        diagnostic: Diagnostic | None = None
        reason = ""
        if verdict == "refuted" and item is not None and answer is not None and answer.model is not None:
            found = explain.counterexample(draft, item, answer.model, self.walker.threads)
            help = self._remedies.find(draft, item)
            diagnostic = explain.diagnostic(draft, item, verdict, found, "", help)
        elif verdict == "unknown" and item is not None:
            reason = item.unknown or (answer.reason if answer is not None else "")
            diagnostic = explain.diagnostic(draft, item, verdict, None, reason, remedy.for_unknown(reason))
        elif verdict == "vacuous":
            assert draft.context is not None
            if draft.context not in self._dead:  # one message for each place that never runs
                self._dead.add(draft.context)
                diagnostic = self._vacuous(draft)
            else:
                message = f"{draft.subject} never runs, so {draft.name} says nothing"
        elif answer is not None and answer.how == NEVER:
            message = f"{draft.subject} never runs"
            reason = "the conditions around it never hold together"
        if diagnostic is not None:
            message = diagnostic.message
        return Obligation(
            draft.name,
            code_of(draft.name),
            verdict,
            draft.where,
            draft.subject,
            message,
            (time.perf_counter() - started) * 1e3,
            found,
            diagnostic,
            reason,
            answer.how if answer is not None else "",
            draft.rule,
            len(draft.items),
            self._facts(draft) if verdict == "proved" else None,
        )

    def _decide(self, draft: Draft) -> tuple[str, Item | None, Answer | None]:
        worst: tuple[str, Item | None, Answer | None] = ("proved", None, None)
        for item in draft.items:
            if item.unknown:
                worst = ("unknown", item, None)
                continue
            item, answer, doubt = self._ask(item)
            if answer.verdict == "refuted":
                doubt = doubt or item.doubt or self._doubt(item)
                doubt = doubt or self._balanced(draft, item, answer) or self._met(item, answer)
                if not doubt:
                    return "refuted", item, answer
                worst = ("unknown", item, Answer("unknown", reason=doubt))
                continue
            if answer.verdict == "unknown" and worst[0] == "proved":
                worst = ("unknown", item, answer)
            elif worst[0] == "proved" and answer.how != "normaliser":
                worst = ("proved", None, answer)
        context = draft.context
        if context is not None and self.session.reachable(context) is False:
            if self.session.reachable(_without_conditions(context)) is not False:
                return "proved", None, Answer("proved", how=NEVER)    # a dead branch does no harm
            return "vacuous", None, None
        return worst

    def _ask(self, item: Item) -> tuple[Item, Answer, str]:
        """The answer, the item with what had to be added, and why a counterexample may not be real."""
        twin = item.about.twin if isinstance(item.about, (Clash, Diverges)) else None
        for _ in range(AGAIN):
            answer = self.session.decide(item.claim, item.context)
            if answer.verdict == "unknown" and isinstance(item.about, Positive):
                # What already divides by it says nothing of it: a condition has no value where the divisor is zero.
                item = replace(item, context=before_division(item.context, item.about.value))
                answer = self.session.decide(item.claim, item.context)
            if answer.verdict != "refuted" or answer.model is None:
                return item, answer, ""
            fact = two_values(self._loads, answer.model, twin)
            if fact is None:
                return item, answer, ""
            item = replace(item, context=item.context.extend(fact))
        return item, answer, "it gives one place in memory two values"

    def _assume_exact(self, draft: Draft) -> None:
        if draft.name == "no-wrap":
            return
        facts = self._unsafe.get(id(draft.statement), ())
        if draft.name in ("aligned", "consecutive"):
            facts = (*facts, *self._unsafe.get(id(draft.access), ()))
        if facts:
            draft.items = [replace(i, context=_with(i.context, facts)) for i in draft.items]

    def _doubt(self, item: Item) -> str:
        """Why a counterexample may not be real: it picks a value that the kernel itself wrote."""
        names = {v for f in item.context for v in variables(f.condition)} | set(variables(item.claim))
        # The second thread has names of its own.
        renamed = {new: old for old, new in item.about.twin.mapping.items()} \
            if isinstance(item.about, (Clash, Diverges)) else {}
        for var in names:
            own = renamed.get(var, var)
            original = self._loads.get(own) if isinstance(own, Var) else None
            if original is None or original.load.result in self.walker.known:
                continue
            buffer = original.load.view.buffer
            if buffer.scope != "global" or buffer in self._written:
                return (
                    f"it depends on `{var.name.rstrip(chr(39))}`, read from {buffer.name} (line "
                    f"{original.load.span.line}), which the kernel itself writes; the prover does not follow values "
                    f"through memory"
                )
        return ""

    def _balanced(self, draft: Draft, item: Item, answer: Answer) -> str:
        """Why two threads that part ways may still meet: they come by equally often, in different iterations."""
        if not isinstance(item.about, Diverges) or draft.statement is None or answer.model is None:
            return ""
        if not balanced(self.walker.nodes, draft.statement, item.about, answer.model):
            return ""
        return "threads come by in different iterations, but equally often; whether all do was not worked out"

    def _met(self, item: Item, answer: Answer) -> str:
        """Why two accesses that seem to race may not: where the order of iterations was only roughly followed, a
        barrier may lie between them all the same."""
        if not isinstance(item.about, Clash) or answer.model is None:
            return ""
        pair = item.about.pair
        if not pair.rough and (pair.after is None or followed(pair.after)):
            return ""
        if apart_in_time(self.walker, item.about, answer.model) is False:
            return ""
        return (
            "barriers are met in some iterations of a loop only, or for some values of memory; which lie between "
            "these accesses was not worked out"
        )

    def _vacuous(self, draft: Draft) -> Diagnostic:
        context = draft.context
        assert context is not None
        from ptxspec.proof.formula import FALSE

        core = self.session.core(FALSE, context) or context.facts()
        notes = [Note("fact", f"{f.name}: {f.text}", f.span) for f in core]
        what = (
            "these premises contradict each other"
            if len(core) > 1
            else "this never holds"
            if core
            else "no thread runs"
        )
        if draft.name in ("launch", "fits"):
            text = f"nothing runs: {what}"
        else:
            text = f"{draft.subject} never runs, so {draft.name} says nothing: {what}"
        return Diagnostic(
            code_of(draft.name),
            text,
            draft.where,
            notes=(*notes, Note("help", "remove the statement, or correct the premise")),
        )

    def _facts(self, draft: Draft) -> Callable[[], tuple[tuple[str, ...], tuple[str, ...]]]:
        session = self.session

        def compute() -> tuple[tuple[str, ...], tuple[str, ...]]:
            used: dict[str, None] = {}
            everything: dict[str, None] = {}
            for item in draft.items:
                for fact in item.context:
                    everything[fact.name] = None
                core = session.core(item.claim, item.context)
                for fact in item.context if core is None else core:     # not known: any of them may be needed
                    used[fact.name] = None
            return tuple(used), tuple(n for n in everything if n not in used)

        return compute


def _with(context: Context, facts: Sequence[Fact]) -> Context:
    for fact in facts:
        context = context.extend(fact)
    return context
