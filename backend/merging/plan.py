"""A proved kernel to one with wider accesses, and notes on what was merged, by which fact, and what was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ptxspec.lang.ir import Apply, Buffer, Kernel, Load, Statement, Store
from ptxspec.proof.report import Obligation, ProofReport
from ptxspec.scalar.expr import Var

from ..emit.analysis import every, expressions
from ..emit.statics import free
from .alignment import Alignments
from .build import Vector, register_element, vector_access, vector_view
from .expand import Body, Copies, each_block
from .neighbours import Found, Group, Place, reads, writes
from .notes import Notes
from .widths import Width, widths


@dataclass(frozen=True, slots=True)
class Merging:
    """``kernel`` is what to emit; the kernel it was made from where nothing could be merged. ``obligations`` are the
    alignments proved for it, ``notes`` what the report says."""

    kernel: Kernel
    obligations: tuple[Obligation, ...] = ()
    notes: tuple[str, ...] = ()

    def reported(self, report: ProofReport) -> ProofReport:
        """``report`` with these obligations and notes."""
        if not (self.obligations or self.notes):
            return report
        return replace(report, obligations=(*report.obligations, *self.obligations),
                       notes=(*report.notes, *self.notes))


def merged(kernel: Kernel, sm: str = "sm_90", ptx: tuple[int, int] | None = None) -> Merging:
    """``kernel``, which is proved, with neighbouring element accesses merged into the widest legal ones."""
    copies = Copies(lambda: max(widths(verb, "global", 1, sm, ptx)[0].bytes for verb in ("ld", "st")))
    wide = replace(kernel, body=copies.expand(kernel.body))
    work = _Work(wide, copies, sm, ptx)
    body = work.each(work.each(wide.body, work.merge_reads), work.merge_writes)
    body = work.each(body, work.without_unused)
    if not work.buffers:
        return Merging(kernel, (), work.notes.lines())
    changed = replace(kernel, body=copies.fold(body), buffers=(*kernel.buffers, *work.buffers))
    return Merging(changed, tuple(work.obligations), work.notes.lines())


@dataclass(eq=False, slots=True)
class _Work:
    """One run of :func:`merged`."""

    kernel: Kernel
    copies: Copies
    sm: str
    ptx: tuple[int, int] | None
    alignments: Alignments = field(init=False)
    notes: Notes = field(default_factory=Notes)
    buffers: list[Buffer] = field(default_factory=list)
    obligations: list[Obligation] = field(default_factory=list)
    held: dict[Var, tuple[Vector, Buffer, int]] = field(default_factory=dict)   # elements of a vector read before
    unused: set[Var] = field(default_factory=set)
    uses: Counter[Var] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.alignments = Alignments(self.kernel)

    def each(self, body: Sequence[Statement], change: Callable[[Sequence[Statement]], Body]) -> Body:
        """``change`` done to ``body`` and to every block inside it."""
        return change([each_block(s, lambda inner: self.each(inner, change)) for s in body])

    # -- reads ---------------------------------------------------------------------------------------------------

    def merge_reads(self, block: Sequence[Statement]) -> Body:
        """A vector read where the first of its elements was read; the elements are its registers then."""
        before: dict[int, list[Statement]] = {}
        instead: dict[int, Statement] = {}
        for vector in self._vectors(reads(block), "ld"):
            anchor = min(position for position, _ in vector.members)
            first = vector.members[0][1]
            registers = self._registers(vector)
            apply = vector_access(vector, registers, self.sm, self.ptx, first.span)
            before.setdefault(anchor, []).append(self.copies.stands_for(apply, block[anchor]))
            for number, member in enumerate(vector.members):
                for position, load in (member, *vector.again.get(number, ())):
                    assert isinstance(load, Load)
                    view, index = register_element(registers, number, load.span)
                    instead[position] = self.copies.stands_for(Load(load.result, view, index, load.span), load)
                    self.held[load.result] = vector, registers, number
            self._told(vector, apply, block[anchor])
        return _rewritten(block, before, instead, {})

    # -- writes --------------------------------------------------------------------------------------------------

    def merge_writes(self, block: Sequence[Statement]) -> Body:
        """A vector write where the last of its elements was written; before, they go to its registers."""
        behind: dict[int, list[Statement]] = {}
        instead: dict[int, Statement | None] = {}
        for vector in self._vectors(writes(block), "st"):
            anchor = max(position for position, _ in vector.members)
            whole = self._passed_on(vector)
            registers = self._registers(vector) if whole is None else whole
            apply = vector_access(vector, registers, self.sm, self.ptx, vector.members[0][1].span)
            behind.setdefault(anchor, []).append(self.copies.stands_for(apply, block[anchor]))
            for number, (position, store) in enumerate(vector.members):
                assert isinstance(store, Store)
                view, index = register_element(registers, number, store.span)
                kept = Store(view, index, store.value, store.span) if whole is None else None
                instead[position] = None if kept is None else self.copies.stands_for(kept, store)
            self._told(vector, apply, block[anchor])
        return _rewritten(block, {}, instead, behind)

    def _passed_on(self, vector: Vector) -> Buffer | None:
        """The registers of a vector read whose elements ``vector`` writes as they are: nothing is taken apart then."""
        if not self.uses:
            self.uses.update(v for s in every(self.kernel.body) for e in expressions(s) for v in free(e))
        values = [store.value for _, store in vector.members if isinstance(store, Store)]
        found = [self.held.get(value) if isinstance(value, Var) and self.uses[value] == 1 else None for value in values]
        if found[0] is None or any(f is None or f[1] is not found[0][1] for f in found):
            return None
        source, registers, _ = found[0]
        if [f[2] for f in found if f is not None] != list(range(source.width.count)) \
                or source.width.lane != vector.width.lane or registers.dtype != vector.start.dtype:
            return None
        self.unused.update(value for value in values if isinstance(value, Var))
        return registers

    def without_unused(self, block: Sequence[Statement]) -> Body:
        """``block`` without the element reads that nobody needs any more."""
        return tuple(s for s in block if not (isinstance(s, Load) and s.result in self.unused))

    # -- both ----------------------------------------------------------------------------------------------------

    def _vectors(self, found: Found, verb: str) -> list[Vector]:
        out: list[Vector] = []
        for place, group in found:
            if len(group.members) > 1:
                known = widths(verb, place.buffer.scope, place.end - place.first, self.sm, self.ptx)
                out += self._split(group, place, verb, known)
        return out

    def _split(self, group: Group, place: Place, verb: str, known: tuple[Width, ...]) -> list[Vector]:
        """The widest vectors that the members of ``group`` make up, from the lowest address on."""
        out: list[Vector] = []
        element = place.end - place.first
        taken: set[int] = set()
        for first in sorted(group.members):
            if first in taken:
                continue
            run = 1
            while first + run * element in group.members and first + run * element not in taken:
                run += 1
            vector = None
            for width in known:
                if width.count <= run:
                    vector = self._vector(group, place, first, verb, width)
                    if vector is not None:
                        break
            if vector is None:
                continue
            taken.update(first + k * element for k in range(vector.width.count))
            wider = [w for w in known if w.count > vector.width.count]
            vector.wider = self._wider(vector, wider[-1] if wider else None, run, group)
            out.append(vector)
        if known:
            self._left_over(group, place, verb, known[-1], taken)
        return out

    def _left_over(self, group: Group, place: Place, verb: str, least: Width, taken: set[int]) -> None:
        """A note for each run of neighbours that were not merged."""
        element = place.end - place.first
        left = set(group.members) - taken
        for first in sorted(left):
            if first - element in left:
                continue
            run = 1
            while first + run * element in left:
                run += 1
            if run >= least.count:
                start = self._at(place, first)
                self.notes.apart(start, run, verb, group.members[first][1],
                                 self._obstacle(start, least.bytes, group, verb))

    def _at(self, place: Place, first: int) -> Place:
        return replace(place, first=first, end=first + place.end - place.first)

    def _vector(self, group: Group, place: Place, first: int, verb: str, width: Width) -> Vector | None:
        """The vector of ``width`` at ``first`` where its alignment is proved and the IR can name it."""
        start = self._at(place, first)
        element = place.end - place.first
        members = [group.members[first + k * element] for k in range(width.count)]
        if not self.alignments.holds(start, width.bytes, _anchor(members, verb)):
            return None
        access = members[0][1]
        memory = vector_view(access.view, access.index, start, width, access.span)
        again = {k: group.again[first + k * element] for k in range(width.count) if first + k * element in group.again}
        return None if memory is None else Vector(verb, start, width, members, memory, again)

    def _obstacle(self, start: Place, size: int, group: Group, verb: str) -> str:
        return self.alignments.obstacle(start, size, _anchor([group.members[start.first]], verb))

    def _wider(self, vector: Vector, wider: Width | None, run: int, group: Group) -> str:
        """Why ``vector`` is not wider."""
        if wider is None:
            return "the widest there is" + ("" if vector.width.bytes >= 32 else f" on {self.sm}")
        if run < wider.count:
            return f"wider needs {wider.count} neighbours"
        return "wider " + self._obstacle(vector.start, wider.bytes, group, vector.verb)

    def _registers(self, vector: Vector) -> Buffer:
        made = vector.registers(len(self.buffers))
        self.buffers.append(made)
        return made

    def _told(self, vector: Vector, apply: Apply, anchor: Statement) -> None:
        rule = next((o.span for o in apply.use.obligations if o.prove == "aligned"), None)
        self.obligations.append(self.alignments.obligation(vector.start, vector.width.bytes, _anchor(
            vector.members, vector.verb), apply.use.opcode, rule))
        self.notes.joined(vector, apply)


def _anchor(members: Sequence[tuple[int, Load | Store]], verb: str) -> Statement:
    """The member at whose place all of them are done."""
    return (min if verb == "ld" else max)(members, key=lambda m: m[0])[1]


def _rewritten(block: Sequence[Statement], before: Mapping[int, list[Statement]],
               instead: Mapping[int, Statement | None], behind: Mapping[int, list[Statement]]) -> Body:
    if not instead:
        return tuple(block)
    out: list[Statement] = []
    for position, statement in enumerate(block):
        out += before.get(position, [])
        new = instead.get(position, statement)
        if new is not None:
            out.append(new)
        out += behind.get(position, [])
    return tuple(out)


__all__ = ["Merging", "merged"]
