"""Every goal of a kernel, decided three times: by the prover as it is, by Z3 without the normaliser, and by cvc5."""

from __future__ import annotations

import hashlib
from typing import ClassVar
from unittest import mock

import z3

from ptxspec.lang import ir
from ptxspec.proof import discharge
from ptxspec.proof.encode import Encoder, Unsupported
from ptxspec.proof.facts import Context, divisions
from ptxspec.proof.solver import Answer, Session
from ptxspec.proof.witness import order
from ptxspec.scalar.expr import BOOL, Const, Expr

Z3_LIMIT = 2_000_000       # Z3's resource units for one goal
CVC5_LIMIT = "100000"      # cvc5's

_asked: set[str] = set()   # goals that this process has compared already


def available() -> str:
    """cvc5's version, or nothing."""
    try:
        import cvc5
    except ImportError:
        return ""
    return str(cvc5.__version__)


class Recorder(Session):
    """A session that remembers every question of one proof and its answer."""

    asked: ClassVar[dict[tuple[Expr, Context], Answer]] = {}

    def decide(self, claim: Expr, context: Context) -> Answer:
        """As the session does."""
        answer = super().decide(claim, context)
        if not isinstance(claim, Const):
            self.asked[claim, context] = answer
        return answer


def goals(kernel: ir.Kernel) -> dict[tuple[Expr, Context], Answer]:
    """Every question that a proof of ``kernel`` asks (remedies included), with the answer it got then."""
    Recorder.asked.clear()
    with mock.patch.object(discharge, "Session", Recorder):
        discharge.prove(kernel, rlimit=Z3_LIMIT, use_cache=False)
    return dict(Recorder.asked)


def _divides_by_unknown(expr: Expr) -> bool:
    return any(n.name not in ("shl", "shr") for n in divisions(expr))


def smt(claim: Expr, context: Context) -> str | None:
    """The negated goal under its facts as SMT-LIB; None where something has no encoding, or divides by an unknown:
    such goals keep both solvers busy for minutes, whatever their limits, and are seldom answered."""
    if any(_divides_by_unknown(e) for e in (claim, *(f.condition for f in context))):
        return None
    encoder = Encoder()
    try:
        terms = [encoder.boolean(f.condition) for f in context] + [z3.Not(encoder.boolean(claim))]
    except Unsupported:
        return None
    for var in order(claim, context.facts()):
        if var.dtype == BOOL or var in encoder.terms:
            terms.extend(encoder.bounds(var))
    solver = z3.SimpleSolver(ctx=encoder.context)
    solver.add(*encoder.definitions)
    solver.add(*terms)
    return "(set-logic ALL)\n" + str(solver.to_smt2())


def cvc5_says(text: str, limit: str = CVC5_LIMIT) -> str:
    """``sat``, ``unsat`` or ``unknown``, within a limit of cvc5's own units."""
    import cvc5

    solver = cvc5.Solver()
    solver.setOption("rlimit", limit)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "goal")
    symbols = parser.getSymbolManager()
    answer = "unknown"
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return answer
        said = str(command.invoke(solver, symbols)).strip()
        if said in ("sat", "unsat", "unknown"):
            answer = said


def z3_says(text: str) -> str:
    """Z3 on the same text, in a context of its own, with the core that the prover uses."""
    context = z3.Context()
    solver = z3.SimpleSolver(ctx=context)
    solver.set("random_seed", 0)
    solver.set("rlimit", Z3_LIMIT)
    solver.from_string(text)
    return str(solver.check())


_MEANS = {"proved": "unsat", "refuted": "sat"}


def compare(kernel: ir.Kernel) -> dict[str, object]:
    """Counts of agreements, of goals that one side leaves open, and every contradiction in full."""
    count: dict[str, int] = {}
    contradictions: list[dict[str, str]] = []

    def add(what: str) -> None:
        count[what] = count.get(what, 0) + 1

    for (claim, context), decided in goals(kernel).items():
        text = smt(claim, context)
        if text is None:
            add("no encoding, or a quotient of unknowns")
            continue
        digest = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        if digest in _asked:
            continue
        _asked.add(digest)
        add("goals")
        ours = _MEANS.get(decided.verdict, "unknown")
        alone, theirs = z3_says(text), cvc5_says(text)
        if decided.how == "normaliser":
            add("decided by the normaliser")
        for name, answer in (("prover", ours), ("Z3", alone), ("cvc5", theirs)):
            if answer == "unknown":
                add(f"{name} undecided")
        if "unknown" not in (alone, theirs):
            add("Z3 and cvc5 agree" if alone == theirs else "Z3 and cvc5 contradict")
        if "unknown" not in (ours, theirs):
            add("prover and cvc5 agree" if ours == theirs else "prover and cvc5 contradict")
        if "unknown" not in (ours, alone):
            add("prover and Z3 agree" if ours == alone else "prover and Z3 contradict")
        if len({a for a in (ours, alone, theirs) if a != "unknown"}) > 1:
            contradictions.append({"claim": str(claim), "prover": ours, "z3": alone, "cvc5": theirs, "text": text})
    outcome = "contradiction" if contradictions else "compared"
    return {"outcome": outcome, "count": count, "contradictions": contradictions}
