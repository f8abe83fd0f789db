"""One proof session: the normaliser first, then one incremental Z3 solver for the whole kernel.

Deterministic: a Z3 context for each kernel, a fixed seed, and a limit on Z3's own resource counter instead of seconds.
Z3 is imported only when the first goal gets past the normaliser. Models are minimised and replayed in plain Python
before anyone sees them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ptxspec.proof import formula, grounded, minimise, normalise, witness
from ptxspec.proof.facts import Context, Fact
from ptxspec.scalar.expr import BOOL, Expr, Var

if TYPE_CHECKING:
    import z3

    from ptxspec.proof.cache import Cache
    from ptxspec.proof.encode import Encoder
    from ptxspec.proof.linear import Linear

#: Z3's resource units for one query; about a second or two of work on a current machine.
RESOURCE_LIMIT = 8_000_000
#: Queries of one kernel that may reach the limit; further ones get a small part of it.
HARD_QUERIES = 20
#: Questions in linear terms, and those about a few sizes, may take this part of the limit.
LINEAR_PART = 8
#: Cores of queries with products of unknowns that may go over their limit, before no more are asked for.
HARD_CORES = 4
#: What such cores get, and queries whose answer blocks nothing: this fraction of the limit.
SMALL_PART = 40
#: What queries with products of unknowns get: Z3 takes long for each of its units there, and seldom ends where linear
#: consequences do not suffice.
HARD_PART = 20

Env = dict[Expr, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """``verdict`` of one claim, with the replayed ``model`` when refuted and a ``reason`` when unknown."""

    verdict: str
    model: Env | None = None
    reason: str = ""
    how: str = ""


_PROVED = Answer("proved", how="normaliser")


class Session:
    """All queries of one kernel. ``statistics`` counts how goals were decided."""

    def __init__(
        self, *, rlimit: int = RESOURCE_LIMIT, use_normaliser: bool = True, cache: Cache | None = None
    ) -> None:
        self.rlimit = rlimit
        self.use_normaliser = use_normaliser
        self.cache = cache
        self.statistics: dict[str, int] = {"normaliser": 0, "z3": 0, "cache": 0, "repeated": 0}
        self._encoder: Encoder | None = None
        self._solver: z3.Solver | None = None
        self._linear: Linear | None = None
        self._asserted = 0
        self._given_up = 0  # queries for proofs that reached the limit
        self._no_core = 0   # cores that did
        self._answers: dict[tuple[Expr, Context], Answer] = {}
        self._undecided: set[Context] = set()
        self._reach: dict[frozenset[Expr], Env | Literal[False] | None] = {}  # by the conditions, whoever knows them
        self._models: dict[Context, Env] = {}

    # -- deciding ---------------------------------------------------------------------------------------------

    def decide(self, claim: Expr, context: Context) -> Answer:
        """Does ``claim`` hold wherever the facts of ``context`` do? (Whether they ever do is :meth:`reachable`.)"""
        key = (claim, context)
        found = self._answers.get(key)
        if found is not None:
            self.statistics["repeated"] += 1
            return found
        if self.use_normaliser and normalise.proved(claim, context):
            self.statistics["normaliser"] += 1
            answer = _PROVED
        else:
            answer = self._ask(claim, context)
        self._answers[key] = answer
        return answer

    def holds(self, claim: Expr, context: Context) -> bool:
        """True when ``claim`` is proved."""
        return self.decide(claim, context).verdict == "proved"

    def _ask(self, claim: Expr, context: Context) -> Answer:
        facts = context.facts()
        text = ""
        if self.cache is not None:  # before Z3 is even loaded
            text = self.cache.key(claim, facts, self.rlimit)
            if self.cache.proved(text):
                self.statistics["cache"] += 1
                return Answer("proved", how="cache")
        from ptxspec.proof.encode import Unsupported

        encoder = self.encoder()
        try:
            goal = encoder.boolean(claim)
        except Unsupported as problem:
            return Answer("unknown", reason=f"cannot reason about {problem}")
        import z3

        self.statistics["z3"] += 1
        hard = self._hard(claim, facts)
        if hard:
            hint = self._lines().ask(claim, context)
            if hint is None:
                return self._by_z3(text)
            model = grounded.search(claim, facts, hint, self._of_sizes)
            if model is not None:
                return Answer("refuted", model, how="z3")
        terms, dropped = self._facts(facts)
        terms += self._bounds(claim, facts)
        solver = self.solver()
        solver.push()
        try:
            solver.add(*terms)
            solver.add(z3.Not(goal))
            # Only queries without an answer count: the others may come from the cache, and then cost nothing.
            weary = self._given_up >= HARD_QUERIES
            solver.set("rlimit", max(1, self.rlimit // (SMALL_PART if weary else HARD_PART if hard else 1)))
            outcome = solver.check()
            if outcome == z3.unsat:
                return self._by_z3(text)
            if outcome == z3.unknown:
                found = witness.search(facts, formula.negate(claim))
                if found is not None:
                    return Answer("refuted", found, how="search")
                reason = _why(solver.reason_unknown())
                self._given_up += 1
                if weary:
                    reason += f"; {HARD_QUERIES} queries of this kernel did so before, and this one was allowed less"
                return Answer("unknown", reason=f"Z3 gave up ({reason})")
            return self._refuted(claim, facts, dropped)
        finally:
            solver.set("rlimit", self.rlimit)
            solver.pop()

    def _by_z3(self, text: str) -> Answer:
        """Proved, and remembered by the text of the query."""
        if self.cache is not None:
            self.cache.remember(text)
        return Answer("proved", how="z3")

    def _of_sizes(self, claim: Expr, context: Context) -> Env | None:
        """A counterexample where sizes are numbers; None where there is none, or it takes much work."""
        session = Session(rlimit=max(1, self.rlimit // LINEAR_PART))
        return session.decide(claim, context).model

    def _refuted(self, claim: Expr, facts: Sequence[Fact], dropped: Sequence[str]) -> Answer:
        names = witness.order(claim, facts)
        # Smaller is nicer, but not worth much work: each question gets a small part of a proof's limit.
        small = max(1, self.rlimit // SMALL_PART)
        model = self._values(minimise.smallest(self.solver(), self.encoder(), names, small, self.rlimit), names)
        problem = witness.replay(model, facts, claim)
        if problem is None:
            return Answer("refuted", model, how="z3")
        found = witness.search(facts, formula.negate(claim))
        if found is not None:
            return Answer("refuted", found, how="search")
        reason = f"a model was found, but it does not replay: {problem}"
        if dropped:
            reason = f"a fact has no encoding ({dropped[0]}), so the counterexample cannot be confirmed"
        return Answer("unknown", reason=reason)

    # -- vacuity and cores ------------------------------------------------------------------------------------

    def reachable(self, context: Context) -> bool | None:
        """Can all facts of ``context`` hold at once? None when Z3 gives up."""
        known = self._known_reach(context)
        if known is not None or context in self._undecided:
            return known
        facts = context.facts()
        key = frozenset(f.condition for f in facts)
        if key not in self._reach:
            found = self._extended(context) or witness.search(facts, formula.TRUE)
            self._reach[key] = found if found is not None else self._satisfiable(context, facts)
        answer = self._reach[key]
        if answer is None:
            self._undecided.add(context)
            return None
        if answer is False:
            context.reachable = False
            return False
        self._models[context] = answer
        link: Context | None = context
        while link is not None and link.reachable is None:
            link.reachable = True  # fewer facts hold as well
            link = link.parent
        return True

    def _known_reach(self, context: Context) -> bool | None:
        """What is known of the context, or of one that it grew from: more facts never hold where fewer do not."""
        if context.reachable is not None:
            return context.reachable
        link = context.parent
        while link is not None:
            if link.reachable is False:
                context.reachable = False
                return False
            link = link.parent
        return None

    def _extended(self, context: Context) -> Env | None:
        """A model of a shorter chain, where it satisfies the further facts as well."""
        link, more = context, list[Fact]()
        while link not in self._models:
            if link.fact is not None:
                more.append(link.fact)
            if link.parent is None:
                return None
            link = link.parent
        return witness.extended(self._models[link], more[::-1])

    def _satisfiable(self, context: Context, facts: Sequence[Fact]) -> Env | Literal[False] | None:
        """Z3's answer: values, False, or None; also notes the shortest chain that already contradicts itself."""
        import z3

        terms, dropped = self._facts(facts)
        terms += self._bounds(formula.TRUE, facts)
        solver = self.solver()
        solver.push()
        try:
            solver.add(*terms)
            # Not knowing whether a place is reached blocks nothing, so less work is spent on it than on a proof.
            solver.set("rlimit", max(1, self.rlimit // SMALL_PART))
            outcome = solver.check()
            if outcome == z3.unknown or (dropped and outcome == z3.sat):
                return None
            if outcome == z3.sat:
                return self._values(solver.model(), witness.order(formula.TRUE, facts))
        finally:
            solver.set("rlimit", self.rlimit)
            solver.pop()
        self._mark_dead(context)
        return False

    def _mark_dead(self, context: Context) -> None:
        """The shortest chain that still holds every fact of a contradiction is a place that is never reached."""
        core = self.core(formula.FALSE, context)
        if not core:
            return
        left = {id(f) for f in core}
        link: Context | None = context
        while link is not None:
            if link.fact is not None and id(link.fact) in left:
                link.reachable = False
                return
            link = link.parent

    def core(self, claim: Expr, context: Context) -> tuple[Fact, ...] | None:
        """The facts that a proof of ``claim`` uses (a small set, not always the smallest); None when that is not known
        or takes much work."""
        import z3

        from ptxspec.proof.encode import Unsupported

        facts = context.facts()
        if self._hard(claim, facts):
            if self._no_core >= HARD_CORES:
                return None
            found = self._lines().core(claim, facts)
            self._no_core += found is None
            return found
        encoder = self.encoder()
        solver = self.solver()
        tracked: dict[str, Fact] = {}
        try:
            goal = encoder.boolean(claim)
        except Unsupported:
            return None
        bounds = self._bounds(claim, facts)
        terms: list[tuple[str, z3.BoolRef]] = []
        for number, fact in enumerate(facts):
            try:
                terms.append((f"fact!{number}", encoder.boolean(fact.condition)))
            except Unsupported:
                continue
            tracked[f"fact!{number}"] = fact
        self._flush()
        solver.push()
        try:
            solver.add(*bounds)
            solver.add(z3.Not(goal))
            for name, term in terms:
                solver.assert_and_track(term, name)
            if solver.check() != z3.unsat:
                return None
            names = {str(n) for n in solver.unsat_core()}
        finally:
            solver.pop()
        return tuple(f for n, f in tracked.items() if n in names)

    # -- plumbing ---------------------------------------------------------------------------------------------

    def encoder(self) -> Encoder:
        """The session's encoder."""
        if self._encoder is None:
            from ptxspec.proof.encode import Encoder

            self._encoder = Encoder()
        return self._encoder

    def _lines(self) -> Linear:
        """The session's linear questions."""
        if self._linear is None:
            from ptxspec.proof.linear import Linear

            self._linear = Linear(max(1, self.rlimit // LINEAR_PART), max(1, self.rlimit // SMALL_PART))
        return self._linear

    def _hard(self, claim: Expr, facts: Sequence[Fact]) -> bool:
        """True where a query has products or quotients of unknowns."""
        from ptxspec.proof.linear import unknown_products

        return any(unknown_products(e) for e in (claim, *(f.condition for f in facts)))

    def solver(self) -> z3.Solver:
        """The session's solver, with every definition made so far asserted at its base."""
        if self._solver is None:
            import z3

            self._solver = z3.SimpleSolver(ctx=self.encoder().context)
            self._solver.set("random_seed", 0)
            self._solver.set("rlimit", self.rlimit)
        self._flush()
        return self._solver

    def _flush(self) -> None:
        definitions = self.encoder().definitions
        if self._solver is not None and self._asserted < len(definitions):
            self._solver.add(*definitions[self._asserted :])
            self._asserted = len(definitions)

    def _facts(self, facts: Iterable[Fact]) -> tuple[list[z3.BoolRef], list[str]]:
        from ptxspec.proof.encode import Unsupported

        terms: list[z3.BoolRef] = []
        dropped: list[str] = []
        for fact in facts:
            try:
                terms.append(self.encoder().boolean(fact.condition))
            except Unsupported as problem:
                dropped.append(str(problem))
        return terms, dropped

    def _bounds(self, claim: Expr, facts: Sequence[Fact]) -> list[z3.BoolRef]:
        terms: list[z3.BoolRef] = []
        for var in witness.order(claim, facts):
            if var.dtype == BOOL or var in self.encoder().terms:
                terms.extend(self.encoder().bounds(var))
        return terms

    def _values(self, model: z3.ModelRef, names: Sequence[Var]) -> Env:
        """A model in the kernel's terms."""
        encoder = self.encoder()
        env: Env = {var: minimise.value(model, encoder.term(var)) for var in names if var in encoder.terms}
        for var in names:
            env.setdefault(var, witness.smallest(var))
        for expr, term in encoder.opaque.items():
            env[expr] = minimise.value(model, term)
        return env


def _why(reason: str) -> str:
    text = str(reason)
    return "the resource limit was reached" if "rlimit" in text or "canceled" in text or "resource" in text else text
