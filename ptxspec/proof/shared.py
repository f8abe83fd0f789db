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
from ptxspec.lang.locate import element_bytes, storage_elements
from ptxspec.proof import formula
from ptxspec.proof.congruence import residue
from ptxspec.proof.facts import Context
from ptxspec.proof.goals import Draft, Item
from ptxspec.proof.intervals import Occurrence, gather
from ptxspec.proof.numeric import NotNumeric, compiled, points
from ptxspec.proof.tree import Access
from ptxspec.proof.walk import Walker
from ptxspec.scalar.expr import Var, show
from ptxspec.scalar.index import index

if TYPE_CHECKING:
    from ptxspec.proof.defined_bytes import Bytes
    from ptxspec.proof.defined_findings import Failure, Finding

#: Threads and repeats of a write that are gone through without NumPy.
MOST_POINTS = 2048
#: Conditions of writes that a message shows.
MOST_SHOWN = 4


@dataclass(frozen=True, slots=True)
class NeverWritten:
    """A read of shared bytes that were not written before.

    ``later``: the kernel does write the array, but after; ``elsewhere``: it writes other bytes of it before.
    ``within``: the number of the first such byte in the access, where one was looked for; ``written`` says what was
    written before (line, first and last byte, how many), ``after`` where the byte is written too late, ``lead`` how
    many leading bytes of the access always hold something; ``where``: the condition under which the byte is written.
    """

    buffer: ir.Buffer
    later: bool
    elsewhere: bool
    within: int | None = None
    written: tuple[tuple[Span, int, int, int], ...] = ()
    after: Span | None = None
    lead: int = 0
    where: str = ""


def shared_drafts(walker: Walker) -> tuple[list[Draft], dict[int, str]]:
    """One obligation for each read of shared memory, and by ``id`` of a draft why it is not judged byte by byte."""
    order = [o for n in walker.nodes for o in gather(n, ()) if o.access.buffer.scope == "shared"]
    if not any(o.access.kind != "write" for o in order):
        return [], {}
    whole = filled_whole(order, walker)
    bytes_: Bytes | None = None
    findings: dict[Access, Finding] = {}
    if any(o.access.kind != "write" and o.access not in whole for o in order):
        from ptxspec.proof.defined_bytes import Bytes  # NumPy, and few kernels need it

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
        about = NeverWritten(access.buffer, bool(writes), bool(before))
        items = [Item(formula.truth(filled), access.context, about)]
        finding = findings.get(access)
        if bytes_ is not None and finding is not None:
            moved = bytes_.plan.moved(access.buffer)
            items = [_item(access, f, finding, bool(writes), bool(before), moved) for f in finding.failures] + items
        draft = Draft("defined", access.span, access.what, items, access.rules.get("defined"), access.statement, access,
                      access.context)
        drafts.append(draft)
        if finding is not None and (finding.reason or finding.cut):
            unjudged[id(draft)] = finding.reason or "not every thread that reads bytes nobody wrote was looked at"
    return drafts, unjudged


def filled_whole(order: list[Occurrence], walker: Walker) -> set[Access]:
    """The reads that come after writes of all threads to every byte of the array, under no condition and in no loop."""
    left: dict[ir.Buffer, set[int]] = {}
    found: set[Access] = set()
    for occurrence in order:
        access = occurrence.access
        if access.kind != "write":
            if access.buffer in left and not left[access.buffer]:
                found.add(access)
        elif not occurrence.loops and all(f.kind not in _CONDITIONS for f in access.context):
            _fill(access, left, walker)
    return found


_CONDITIONS = ("guard", "pred", "select", "loop")


def _fill(access: Access, left: dict[ir.Buffer, set[int]], walker: Walker) -> None:
    """Take the bytes that ``access`` writes in all threads out of those that are left, where they are easily told."""
    total = storage_elements(access.buffer)
    size = element_bytes(access.buffer.dtype)
    names = (*walker.threads.tid, *access.free)
    if total.is_const and _dense(access, names) >= total.const * size:
        left[access.buffer] = set()
        return
    grid = points(names, MOST_POINTS)
    if grid is None or not total.is_const or total.const * size > MOST_POINTS * access.size:
        return
    try:
        place = compiled((access.words[0],), names)
    except NotNumeric:
        return
    bytes_left = left.setdefault(access.buffer, set(range(total.const * size)))
    for at in grid:
        if not bytes_left:
            return
        (first,) = place(*at)
        bytes_left.difference_update(range(first, first + access.size))


def _dense(access: Access, names: tuple[Var, ...]) -> int:
    """So many bytes from the start of the array are surely written, by whatever number of threads: their offsets are
    the numbers whose digits the threads and repeats are, each as far apart as all lower ones reach. 0: not told."""
    place = index(access.words[0])
    reach = access.size
    if place.const:
        return 0
    for monomial, step in sorted(place.terms, key=lambda term: term[1]):
        digit = monomial[0]
        if len(monomial) != 1 or digit not in names or not isinstance(digit, Var) or digit.lo != 0:
            return 0
        if step != reach or digit.hi is None:
            return 0
        reach *= digit.hi + 1
    return reach


def _item(access: Access, failure: Failure, finding: Finding, writes: bool, before: bool, moved: bool) -> Item:
    """The claim that the byte was written there (false where nobody can have): it fails unless the facts of the place
    exclude that. ``moved``: bytes are not counted from the start of the array."""
    context: Context = access.context
    for fact in failure.facts:
        context = context.extend(fact)
    spans = () if moved else tuple((s.span, low, high, count) for s, low, high, count in failure.written)
    after = next((s.span for s, bits in finding.later or () if s is not access.statement and bits(failure.byte)), None)
    lead = 0 if finding.reason else finding.lead
    unless = [formula.conj(c) for c in failure.unless]
    where = " or ".join(f"`{show(u)}`" for u in unless[:MOST_SHOWN]) + (" or ..." if len(unless) > MOST_SHOWN else "")
    about = NeverWritten(access.buffer, writes, before, failure.within, spans, after, lead, where)
    return Item(formula.disj(unless), context, about)


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
