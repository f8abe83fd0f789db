"""A second opinion: the goals that Z3 and the normaliser decide, given to cvc5 as SMT-LIB."""

from __future__ import annotations

import pytest
from proof_support import generator
from soundness_campaign.solvers import cvc5_says, smt
from test_corpus import CASES

from ptxspec.diagnostics import KernelError
from ptxspec.proof.defined import Defined
from ptxspec.proof.facts import Context
from ptxspec.proof.solver import Session
from ptxspec.proof.statements import local_drafts
from ptxspec.proof.threads import concurrent_drafts
from ptxspec.proof.walk import Walker
from ptxspec.scalar.expr import Const, Expr

pytest.importorskip("cvc5")


def goals(kernel: object) -> list[tuple[Expr, Context]]:
    """Every claim of a kernel that is no constant."""
    walker = Walker(kernel)  # type: ignore[arg-type]
    drafts = local_drafts(walker.nodes, walker.threads, {}) + concurrent_drafts(walker)
    drafts += Defined(walker.aliases).run(walker.nodes)
    items = {(i.claim, i.context): None for d in drafts for i in d.items if not i.unknown}
    return [(c, f) for c, f in items if not isinstance(c, Const)]


def compare(kernel: object) -> int:
    """Give every goal to both; contradictions fail."""
    session = Session(rlimit=2_000_000)
    compared = 0
    for claim, context in goals(kernel):
        ours = session.decide(claim, context).verdict
        text = smt(claim, context)
        if text is None or ours == "unknown":
            continue
        theirs = cvc5_says(text, "200000")
        if theirs in ("sat", "unsat"):
            compared += 1
            assert (ours == "proved") == (theirs == "unsat"), f"{claim}: {ours}, but cvc5 says {theirs}\n{text}"
    return compared


def test_the_corpus_gets_the_same_answers() -> None:
    total = sum(compare(case[2].kernel()) for case in CASES)
    assert total > 100


@pytest.mark.parametrize("start", [0, 20])
def test_random_kernels_get_the_same_answers(start: int) -> None:
    for seed in range(start, start + 20):
        try:
            kernel = generator.make(seed).trace()
        except KernelError:
            continue
        compare(kernel)
