"""defined, for shared memory: a read needs a write that may come before it and may touch the same bytes.

Bytes are told apart by ranges and remainders only: the prover does not work out which bytes the threads of a block have
filled together. The simulator does, for the inputs it is given; see docs/soundness.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.congruence import residue
from ptxspec.proof.goals import Draft, Item
from ptxspec.proof.intervals import gather
from ptxspec.proof.tree import Access, Node


@dataclass(frozen=True, slots=True)
class NeverWritten:
    """A shared array that is read before anything was written to it; ``later``: the kernel does write it, but after;
    ``elsewhere``: it writes other bytes of it before."""

    buffer: ir.Buffer
    later: bool
    elsewhere: bool


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
        before = [o for k, o in writes if o is not occurrence and (k < at or set(o.loops) & set(occurrence.loops))]
        filled = any(not apart(access, o.access) for o in before)
        item = Item(formula.truth(filled), access.context, NeverWritten(access.buffer, bool(writes), bool(before)))
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


def apart(one: Access, two: Access) -> bool:
    """True when two accesses to one array surely touch different bytes, whichever threads make them."""
    low, high = one.context.interval(one.words[0])
    least, most = two.context.interval(two.words[0])
    if (high is not None and least is not None and high + one.size <= least) or (
        most is not None and low is not None and most + two.size <= low
    ):
        return True
    first = residue(one.words[0], one.context.congruent)
    second = residue(two.words[0], two.context.congruent)
    modulus = gcd(first.modulus, second.modulus)
    if modulus == 0:
        return False  # both are known bytes: ranges have told
    distance = (first.rest - second.rest) % modulus
    return distance >= two.size and modulus - distance >= one.size
