"""Facts of a kernel that a launch needs: what it writes, what it assumes, how large its grid is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ptxspec.diagnostics import Diagnostic, LaunchError, Note
from ptxspec.lang.ir import Apply, Assume, Buffer, For, If, Kernel, Statement, Store, View
from ptxspec.scalar.evaluate import Unknown, evaluate
from ptxspec.scalar.expr import Expr, show, variables

GRID_LIMITS = ((1 << 31) - 1, 65535, 65535)


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, nested ones included."""
    for statement in body:
        yield statement
        if isinstance(statement, For):
            yield from statements(statement.body)
        elif isinstance(statement, If):
            yield from statements(statement.then)
            yield from statements(statement.orelse)


def written_parameters(kernel: Kernel) -> frozenset[Buffer]:
    """Array parameters that the kernel may write."""
    found: set[Buffer] = set()
    for statement in statements(kernel.body):
        if isinstance(statement, Store):
            found.add(statement.view.buffer)
        elif isinstance(statement, Apply):
            changed = {o.at for o in statement.use.obligations if o.access in ("write", "combine")}
            for operand, use in zip(statement.operands, statement.use.operands):
                if isinstance(operand, View) and (use.name in changed or use.role != "in"):
                    found.add(operand.buffer)
    return frozenset(b for b in found if b.scope == "global")


def assumptions(kernel: Kernel) -> tuple[tuple[Assume, bool], ...]:
    """Every ``T.assume`` and whether the host can check it: it names only parameters and dimensions."""
    return tuple(
        (s, all(v.role in ("param", "dim", "stride") for v in variables(s.condition)))
        for s in statements(kernel.body) if isinstance(s, Assume)
    )


def failed_assumptions(kernel: Kernel, env: Mapping[Expr, int]) -> list[Diagnostic]:
    """R309 for every checkable assumption that these arguments break."""
    out: list[Diagnostic] = []
    for assume, checkable in assumptions(kernel):
        if not checkable:
            continue
        names = [v for v in variables(assume.condition) if v in env]
        try:
            holds = bool(evaluate(assume.condition, env))
        except Unknown as reason:
            out.append(Diagnostic("R309", f"the assumption `{assume.text}` cannot be evaluated: {reason}", assume.span))
            continue
        if not holds:
            values = ", ".join(f"{v.name} = {env[v]}" for v in names)
            out.append(Diagnostic("R309", f"the assumption `{assume.text}` does not hold for these arguments",
                                  assume.span, notes=(Note("fact", values),) if values else ()))
    return out


def failed_conditions(kernel: Kernel, conditions: Sequence[tuple[str, Expr]],
                      env: Mapping[Expr, int]) -> list[Diagnostic]:
    """R314 for every launch condition of the proofs that does not hold here."""
    out: list[Diagnostic] = []
    for text, condition in conditions:
        try:
            holds = bool(evaluate(condition, env))
        except Unknown as reason:
            out.append(Diagnostic("R314", f"the launch condition `{text}` cannot be evaluated: {reason}",
                                  kernel.launch.span))
            continue
        if not holds:
            values = ", ".join(f"{v.name} = {env[v]}" for v in variables(condition) if v in env)
            out.append(Diagnostic("R314", f"the proofs need `{text}`, which does not hold for this launch",
                                  kernel.launch.span, notes=(Note("fact", values),) if values else ()))
    return out


def grid_of(kernel: Kernel, env: Mapping[Expr, int]) -> tuple[int, int, int]:
    """Blocks along x, y and z for these dimensions and scalars. Raises LaunchError R314 where that is no grid."""
    extents: list[int] = []
    for axis, expr, most in zip("xyz", kernel.launch.grid, GRID_LIMITS):
        try:
            extent = evaluate(expr, env)
        except Unknown as reason:
            raise LaunchError(Diagnostic("R314", f"the grid's {axis} extent {show(expr)} has no value here: {reason}",
                                         kernel.launch.span)) from None
        if not 0 <= extent <= most:
            raise LaunchError(Diagnostic("R314", f"the grid's {axis} extent is {extent}", kernel.launch.span, notes=(
                Note("fact", f"expected 0 to {most}"), Note("fact", f"it is computed as {show(expr)}"))))
        extents.append(extent)
    return extents[0], extents[1], extents[2]


