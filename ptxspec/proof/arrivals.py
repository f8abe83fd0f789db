"""How often a thread comes by a statement, counted in plain Python: two threads whose numbers agree may still meet at a
barrier, in different iterations of a loop, although no proof says so."""

from __future__ import annotations

from collections.abc import Mapping

from ptxspec.lang import ir
from ptxspec.proof.converge import Diverges
from ptxspec.proof.tree import Branch, Loop, Node, Step, Sync
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import Expr

#: Nodes looked at before counting ends.
BUDGET = 20_000

Env = Mapping[Expr, int]


def balanced(nodes: tuple[Node, ...], statement: ir.Statement, about: Diverges, model: Env) -> bool:
    """True when both threads of a counterexample come by ``statement`` equally often, as far as that can be counted."""
    second = dict(model)
    for mine, other in about.twin.mapping.items():
        if isinstance(other, Expr) and other in model:
            second[mine] = model[other]
    try:
        return count(nodes, statement, model) == count(nodes, statement, second)
    except Unknown:
        return False


def count(nodes: tuple[Node, ...], statement: ir.Statement, env: Env) -> int:
    """How often the thread that ``env`` describes comes by ``statement``. Raises Unknown where that is not known."""
    left = BUDGET

    def visit(nodes: tuple[Node, ...], env: Env) -> int:
        nonlocal left
        found = 0
        for node in nodes:
            left -= 1
            if left < 0:
                raise Unknown("too many iterations")
            if isinstance(node, (Sync, Step)):
                found += node.statement is statement
            elif isinstance(node, Branch):
                taken = evaluate(node.statement.condition, env, machine=True)
                found += visit(node.then if taken else node.orelse, env)
            elif isinstance(node, Loop):
                loop = node.statement
                start, stop, step = (evaluate(e, env, machine=True) for e in (loop.start, loop.stop, loop.step))
                if step <= 0:
                    raise Unknown("the loop does not advance")
                for value in range(start, stop, step):
                    found += visit(node.body, {**env, loop.var: value})
        return found

    return visit(nodes, env)
