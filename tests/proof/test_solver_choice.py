"""Why the prover uses Z3's incremental core and no other: the pinned release errs elsewhere on this query."""

from __future__ import annotations

import z3


def bits_of_63(solver: z3.Solver) -> z3.Solver:
    """63 as 32 two's-complement bits, twice: satisfiable in exactly one way."""
    context = solver.ctx
    x, zero = z3.Int("x", context), z3.IntVal(0, context)
    solver.add(x == 63)
    for copy in "ab":
        weights = [z3.IntVal(w, context) for w in (*(1 << k for k in range(31)), -(1 << 31))]
        total = z3.Sum([z3.If(z3.Bool(f"{copy}{k}", context), w, zero) for k, w in enumerate(weights)])
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


def test_kernels_do_not_share_what_z3_remembers() -> None:
    """A context for each kernel, with unknowns numbered as they come: what one process asked before changes nothing."""
    from ptxspec.proof.encode import Encoder
    from ptxspec.proof.solver import Session
    from ptxspec.scalar.expr import Var
    one, two = Session(), Session()
    assert one.solver().ctx is not two.solver().ctx
    assert one.solver().ctx is not z3.main_ctx()
    names = [str(Encoder().integer(Var("n", "int32", "param"))) for _ in range(2)]
    assert names[0] == names[1]
