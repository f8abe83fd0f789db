"""The one thing that a merged access needs and its parts did not: the alignment of the whole, asked of the prover."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from ptxspec.diagnostics import Span
from ptxspec.lang.ir import Buffer, Kernel, Statement
from ptxspec.proof import formula, normalise, witness
from ptxspec.proof.codes import code_of
from ptxspec.proof.congruence import residue
from ptxspec.proof.facts import Context
from ptxspec.proof.report import Obligation
from ptxspec.proof.solver import RESOURCE_LIMIT, Session
from ptxspec.proof.tree import steps
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Const, Expr, Op, Poly, Var, show, variables

from .neighbours import Place, Terms

#: A wider access is a gain, not a duty: less work is spent on it than on an obligation.
_LIMIT = RESOURCE_LIMIT // 16


@dataclass(frozen=True, slots=True)
class _Answer:
    proved: bool
    how: str
    ms: float


@dataclass(eq=False, slots=True)
class Alignments:
    """Questions about one kernel, whose statements are asked about where they stand."""

    kernel: Kernel
    _contexts: dict[int, Context] = field(default_factory=dict)
    _session: Session = field(default_factory=lambda: Session(rlimit=_LIMIT))
    _answers: dict[tuple[Buffer, Terms, int, int, Context], _Answer] = field(default_factory=dict)

    def context(self, statement: Statement) -> Context:
        """The facts that hold where ``statement`` stands."""
        if not self._contexts:
            self._contexts.update({id(s.statement): s.context for s in steps(Walker(self.kernel).nodes)})
        return self._contexts[id(statement)]

    def holds(self, place: Place, size: int, statement: Statement) -> bool:
        """True where ``place`` surely starts at a multiple of ``size`` bytes when ``statement`` runs."""
        return self._answer(place, size, statement).proved

    def obligation(self, place: Place, size: int, statement: Statement, opcode: str, rule: Span | None) -> Obligation:
        """The proof of it, for the report."""
        answer = self._answer(place, size, statement)
        assert answer.proved
        subject = f"merged access of {place.buffer.name} by {opcode}"
        return Obligation("aligned", code_of("aligned"), "proved", statement.span, subject, f"{subject}: aligned",
                          answer.ms, how=answer.how, rule=rule, goals=1)

    def _answer(self, place: Place, size: int, statement: Statement) -> _Answer:
        if place.buffer.align % size:
            return _Answer(False, "", 0.0)
        context = self.context(statement)
        key = (place.buffer, place.terms, place.first % size, size, context)
        found = self._answers.get(key)
        if found is None:
            started = time.perf_counter()
            proved, how = self._decide(Poly(place.first % size, place.terms), size, context)
            found = self._answers[key] = _Answer(proved, how, (time.perf_counter() - started) * 1e3)
        return found

    def _decide(self, byte: Poly, size: int, context: Context) -> tuple[bool, str]:
        claim = formula.divides(size, byte)
        if isinstance(claim, Const):
            return bool(claim.value), "normaliser"
        context = _related(claim, context)
        if normalise.proved(claim, context):
            return True, "normaliser"
        if witness.search(context.facts(), formula.negate(claim)) is not None:
            return False, ""    # a thread for which it is not so: the solver need not be loaded to learn that
        return self._session.holds(claim, context), "z3"

    def obstacle(self, place: Place, size: int, statement: Statement) -> str:
        """What stands against accesses of ``size`` bytes from ``place`` on, and what would remove it."""
        name, element = place.buffer.name, place.end - place.first
        if place.buffer.align % size:
            return f"needs the base of `{name}` at a multiple of {size} bytes: align={size}"
        congruent = self.context(statement).congruent
        for monomial, coefficient in place.terms:
            term = Poly(0, ((monomial, coefficient),))
            left = residue(term, congruent)
            if left.modulus % size or left.rest % size:
                return _asked(term, size, element)
        if place.first % size:
            past = place.first % size
            return f"needs a start at a multiple of {size} bytes: this one is {past} byte{'s' * (past != 1)} past one"
        return f"needs addresses that are multiples of {size} bytes, which is not proved"


def _related(claim: Expr, context: Context) -> Context:
    """The facts that say something of what ``claim`` is about, directly or through each other.

    Fewer facts prove less, never more; and of the values that a kernel has computed addresses need few.
    """
    facts = context.facts()
    known, left = set(variables(claim)), list(facts)
    while near := [f for f in left if not known.isdisjoint(variables(f.condition))]:
        known.update(v for f in near for v in variables(f.condition))
        left = [f for f in left if f not in near]
    if not left:
        return context
    found = Context()
    for fact in facts:
        if fact not in left:
            found = found.extend(fact)
    return found


def _asked(term: Poly, size: int, element: int) -> str:
    """The term of an address that is no multiple of ``size``, and what to assume of it."""
    (monomial, coefficient), = term.terms
    factor = size
    while factor > 1 and coefficient % 2 == 0:
        coefficient, factor = coefficient // 2, factor // 2
    launch = [v for v in monomial if isinstance(v, Var) and v.role in ("dim", "param", "stride")]
    if launch:
        return f"needs `{launch[0].name}` to be a multiple of {factor}: T.assume({launch[0].name} % {factor} == 0)"
    atom = monomial[0]
    if len(monomial) == 1 and isinstance(atom, Op) and atom.name == "cast":
        atom = atom.args[0]
    what = show(atom) if len(monomial) == 1 else show(ix.scale(term, 1))
    return f"needs `{what}` to be a multiple of {factor} (elements of {element} bytes)"
