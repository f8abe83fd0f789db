"""defined, for shared memory: a read needs bytes that were written before it.

A read of an array that nothing may have written before is refused by the order of statements alone. Where something
may have been, ``defined_bytes`` goes through the writes of the whole block byte by byte; a read that it can neither
prove nor refute is named in the report as not judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Span
from ptxspec.lang import ir
from ptxspec.proof import formula
from ptxspec.proof.congruence import residue
from ptxspec.proof.facts import Context
from ptxspec.proof.goals import Draft, Item
from ptxspec.proof.intervals import gather
from ptxspec.proof.tree import Access
from ptxspec.proof.walk import Walker

if TYPE_CHECKING:
    from ptxspec.proof.defined_findings import Failure, Finding


@dataclass(frozen=True, slots=True)
class NeverWritten:
    """A read of shared bytes that were not written before.

    ``later``: the kernel does write the array, but after; ``elsewhere``: it writes other bytes of it before.
    ``within``: the number of the first such byte in the access, where one was looked for; ``written`` says what was
    written before (line, first and last byte, how many), ``after`` where the byte is written too late, ``lead`` how
    many leading bytes of the access always hold something.
    """

    buffer: ir.Buffer
    later: bool
    elsewhere: bool
    within: int | None = None
    written: tuple[tuple[Span, int, int, int], ...] = ()
    after: Span | None = None
    lead: int = 0


def shared_drafts(walker: Walker) -> tuple[list[Draft], dict[int, str]]:
    """One obligation for each read of shared memory, and by ``id`` of a draft why it is not judged byte by byte."""
    order = [o for n in walker.nodes for o in gather(n, ()) if o.access.buffer.scope == "shared"]
    if not any(o.access.kind != "write" for o in order):
        return [], {}
    from ptxspec.proof.defined_bytes import Bytes  # NumPy, and only kernels with shared memory need it

    bytes_ = Bytes(walker)
    findings = bytes_.run()
    drafts: list[Draft] = []
    unjudged: dict[int, str] = {}
    for at, occurrence in enumerate(order):
        access = occurrence.access
        if access.kind == "write":
            continue
        writes = [(k, o) for k, o in enumerate(order)
                  if o.access.buffer is access.buffer and o.access.kind != "read" and o is not occurrence]
        # In a loop around both, an earlier iteration may have written what a later one reads.
        before = [o for k, o in writes if k < at or set(o.loops) & set(occurrence.loops)]
        filled = any(not apart(access, o.access) for o in before)
        finding = findings[access]
        moved = bytes_.plan.moved(access.buffer)
        items = [_item(access, f, finding, bool(writes), bool(before), moved) for f in finding.failures]
        items.append(Item(formula.truth(filled), access.context,
                          NeverWritten(access.buffer, bool(writes), bool(before), lead=finding.lead)))
        draft = Draft("defined", access.span, access.what, items, access.rules.get("defined"), access.statement, access,
                      access.context)
        drafts.append(draft)
        if finding.reason or finding.cut:
            unjudged[id(draft)] = finding.reason or "not every thread that reads bytes nobody wrote was looked at"
    return drafts, unjudged


def _item(access: Access, failure: Failure, finding: Finding, writes: bool, before: bool, moved: bool) -> Item:
    """The claim that no thread gets there: false, unless the facts of the place exclude each other. ``moved``: bytes
    are not counted from the start of the array."""
    context: Context = access.context
    for fact in failure.facts:
        context = context.extend(fact)
    spans = () if moved else tuple((s.span, low, high, count) for s, low, high, count in failure.written)
    after = next((s.span for s, bits in finding.later or () if s is not access.statement and bits(failure.byte)), None)
    lead = 0 if finding.reason else finding.lead
    about = NeverWritten(access.buffer, writes, before, failure.within, spans, after, lead)
    return Item(formula.FALSE, context, about)


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
