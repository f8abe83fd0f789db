"""Why the prover uses Z3's incremental core and no other: the pinned release errs elsewhere on this query."""

from __future__ import annotations

import z3


def bits_of_63(solver: z3.Solver) -> z3.Solver:
    """63 as 32 two's-complement bits, twice: satisfiable in exactly one way."""
    x = z3.Int("x")
    solver.add(x == 63)
    for copy in "ab":
        weights = [1 << k for k in range(31)] + [-(1 << 31)]
        total = z3.Sum([z3.If(z3.Bool(f"{copy}{k}"), z3.IntVal(w), z3.IntVal(0)) for k, w in enumerate(weights)])
        solver.add(z3.Implies(z3.And(x >= -(1 << 31), x < 1 << 31), x == total))
    return solver


def test_our_solver_finds_the_bits() -> None:
    solver = bits_of_63(z3.SimpleSolver())
    assert solver.check() == z3.sat
    model = solver.model()
    bits = [z3.is_true(model.eval(z3.Bool(f"a{k}"), model_completion=True)) for k in range(32)]
    assert bits == [True] * 6 + [False] * 26


def test_the_prover_uses_that_solver() -> None:
    from ptxspec.proof.solver import Session
    assert Session().solver().__class__ is z3.Solver
    assert bits_of_63(Session().solver()).check() == z3.sat
