"""How often a thread comes by a statement, counted in plain Python: two threads whose numbers agree may still meet at a
barrier, in different iterations of a loop, although no proof says so."""

from __future__ import annotations

from collections.abc import Mapping

from ptxspec.lang import ir
from ptxspec.lang.locate import locate
from ptxspec.proof import witness
from ptxspec.proof.converge import Diverges
from ptxspec.proof.race import BLOCK_BARRIERS, CLUSTER_BARRIERS, WARP_BARRIERS, Clash
from ptxspec.proof.tree import Access, Branch, Loop, Node, Step, Sync
from ptxspec.proof.twin import Twin, sources
from ptxspec.proof.walk import Walker
from ptxspec.scalar.evaluate import Unknown, evaluate, substitute
from ptxspec.scalar.expr import Expr, Var, variables

#: Nodes looked at before counting ends.
BUDGET = 20_000

Env = Mapping[Expr, int]


def balanced(nodes: tuple[Node, ...], statement: ir.Statement, about: Diverges, model: Env) -> bool:
    """True when both threads of a counterexample come by ``statement`` equally often, as far as that can be counted."""
    try:
        return count(nodes, statement, model) == count(nodes, statement, _second(about.twin, model))
    except Unknown:
        return False


def _second(twin: Twin, model: Env) -> dict[Expr, int]:
    """The model as the second thread sees it, under the kernel's own names."""
    second = dict(model)
    for mine, other in twin.mapping.items():
        if isinstance(other, Expr) and other in model:
            second[mine] = model[other]
    return second


def apart_in_time(walker: Walker, about: Clash, model: Env) -> bool | None:
    """True when the two threads of a counterexample have met different numbers of barriers at their accesses, False
    when as many; None where that cannot be counted."""
    first, second = dict(model), _second(about.twin, model)
    linear = walker.threads.linear()
    try:
        one, two = (evaluate(linear, dict.fromkeys(walker.threads.tid, 0) | env) // 32 for env in (first, second))
        kinds = CLUSTER_BARRIERS if about.across else WARP_BARRIERS if one == two else BLOCK_BARRIERS
        return met(walker, kinds, about.one, first) != met(walker, kinds, about.two, second)
    except Unknown:
        return None


def met(walker: Walker, kinds: frozenset[str], access: Access, model: Env) -> int:
    """How many barriers of ``kinds`` the thread that ``model`` describes has met when it comes to ``access``, in the
    iterations that the model names. Raises Unknown where that is not known."""
    left = BUDGET
    found = 0
    # What is read in a loop is another value in each iteration, and the model has one only.
    fixed = {v: n for v, n in model.items() if not isinstance(v, Var) or v.role not in ("value", "loop")}
    fixed |= _steady(walker, model)

    def value(expr: Expr, env: Env) -> int:
        expr = substitute(expr, walker.aliases) if walker.aliases else expr
        free: dict[Expr, int] = {
            v: witness.smallest(v) for v in variables(expr) if v not in env and v.role not in ("value", "loop")
        }
        return evaluate(expr, {**free, **env}, machine=True)

    def visit(nodes: tuple[Node, ...], env: dict[Expr, int]) -> bool:
        """True where the access was reached."""
        nonlocal left, found
        for node in nodes:
            left -= 1
            if left < 0:
                raise Unknown("too many iterations")
            if isinstance(node, Sync):
                found += node.statement.kind in kinds
            elif isinstance(node, Step):
                here = {v: n for v, n in env.items() if isinstance(v, Var) and v.role == "loop"}
                if access in node.memory and all(model.get(v, n) == n for v, n in here.items()):
                    return True
            elif isinstance(node, Branch):
                if visit(node.then if value(node.statement.condition, env) else node.orelse, env):
                    return True
            elif isinstance(node, Loop):
                loop = node.statement
                start, stop, step = (value(e, env) for e in (loop.start, loop.stop, loop.step))
                if step <= 0:
                    raise Unknown("the loop does not advance")
                for number in range(start, stop, step):
                    if visit(node.body, {**env, loop.var: number}):
                        return True
        return False

    if not visit(walker.nodes, fixed):
        raise Unknown("the model does not come by")
    return found


def _steady(walker: Walker, model: Env) -> dict[Expr, int]:
    """Values of the model that were read outside of loops from memory that the kernel never writes. Raises Unknown
    where one place has two values."""
    found: dict[Expr, int] = {}
    places: dict[tuple[ir.Buffer, int], int] = {}
    for var, source in sources(walker.nodes).items():
        if var in model and source.constant and not source.loops:
            place = source.load.view.buffer, evaluate(locate(source.load.view, source.load.index).byte, model)
            if places.setdefault(place, model[var]) != model[var]:
                raise Unknown("one place has two values")
            found[var] = model[var]
    return found


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
