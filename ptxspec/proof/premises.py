"""What the host has to check before a launch, gathered from a walked kernel."""

from __future__ import annotations

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.report import Premises
from ptxspec.proof.tree import Branch, Claimed, Loop, Node, steps
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Expr, show, variables

#: Largest grid extents that the hardware launches (CUDA C++ Programming Guide, compute capabilities).
GRID_LIMITS = ((1 << 31) - 1, 65535, 65535)


def premises_of(kernel: ir.Kernel, walker: Walker) -> Premises:
    """Alignments, assumptions and launch conditions that the proofs of ``kernel`` rest on."""
    alignments: dict[str, int] = {}
    for step in steps(walker.nodes):
        for access in step.memory:
            if access.buffer.is_param:
                need = min(access.need_align, access.buffer.align)
                alignments[access.buffer.name] = max(need, alignments.get(access.buffer.name, 1))
    checked: list[tuple[str, Expr, Span]] = []
    trusted: list[tuple[str, Expr, Span]] = []
    for claim in _claims(walker.nodes):
        names = variables(claim.condition)
        entry = (claim.text, claim.condition, claim.span)
        (checked if all(v.role in ("param", "dim", "stride") for v in names) else trusted).append(entry)
    launch: list[tuple[str, Expr]] = []
    for k, extent in enumerate(kernel.launch.grid):
        size = ix.index(extent)
        if not size.is_const:
            launch.append(
                (f"0 <= {show(extent)} <= {GRID_LIMITS[k]} (grid {'xyz'[k]})", formula.within(size, 0, GRID_LIMITS[k]))
            )
    return Premises(alignments, tuple(checked), tuple(trusted), tuple(launch))


def _claims(nodes: tuple[Node, ...]) -> list[ir.Assume]:
    found: list[ir.Assume] = []
    for node in nodes:
        if isinstance(node, Claimed):
            found.append(node.statement)
        elif isinstance(node, Branch):
            found += _claims(node.then) + _claims(node.orelse)
        elif isinstance(node, Loop):
            found += _claims(node.body)
    return found
