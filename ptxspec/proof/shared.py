"""defined, for shared memory: a read needs a write to the same array that may come before it.

This is about arrays, not bytes: the prover does not work out which bytes the threads of a block have filled together.
The simulator does, for the inputs it is given; see docs/soundness.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.goals import Draft, Item
from ptxspec.proof.intervals import gather
from ptxspec.proof.tree import Node


@dataclass(frozen=True, slots=True)
class NeverWritten:
    """A shared array that is read before anything was written to it; ``later``: the kernel does write it, but after."""

    buffer: ir.Buffer
    later: bool


def shared_drafts(nodes: tuple[Node, ...]) -> list[Draft]:
    """One obligation for each read of shared memory."""
    order = [o for n in nodes for o in gather(n, ()) if o.access.buffer.scope == "shared"]
    drafts: list[Draft] = []
    for at, occurrence in enumerate(order):
        access = occurrence.access
        if access.kind == "write":
            continue
        writes = [(k, o) for k, o in enumerate(order) if o.access.buffer is access.buffer and o.access.kind != "read"]
        # In a loop around both, an earlier iteration may have written what a later one reads.
        before = any(k < at or set(o.loops) & set(occurrence.loops) for k, o in writes if o is not occurrence)
        item = Item(formula.truth(before), access.context, NeverWritten(access.buffer, bool(writes)))
        drafts.append(
            Draft(
                "defined",
                access.span,
                access.what,
                [item],
                access.rules.get("defined"),
                access.statement,
                access,
                access.context,
            )
        )
    return drafts
