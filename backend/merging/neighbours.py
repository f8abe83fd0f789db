"""Which element accesses of one straight-line block may be done at one place, and lie side by side.

The rules know three things only: statements of a block run together, so a read may move up and a write down inside it;
nothing moves across control flow, a barrier, or an instruction that orders memory; and two accesses keep their order
unless they are of different arrays (a written one shares no byte with another: checked at launch) or a constant number
of bytes apart. Other threads notice nothing: the kernel is proved free of races, and barriers stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ptxspec.lang.ir import Apply, Assume, Buffer, Load, Statement, Store, View
from ptxspec.lang.locate import element_bytes, locate
from ptxspec.scalar.expr import Expr, Monomial, Var

from ..emit.analysis import memory_operands, view_expressions
from ..emit.statics import free

#: Groups followed at once; each write is compared with all of them.
MOST_LIVE = 64

Terms = tuple[tuple[Monomial, int], ...]
Range = tuple[int, int]


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where an element access lies: ``terms`` plus ``first`` bytes from the base, up to ``end``."""

    buffer: Buffer
    dtype: str
    terms: Terms
    first: int
    end: int

    @property
    def key(self) -> tuple[Buffer, str, Terms]:
        """Equal for accesses that can be neighbours."""
        return self.buffer, self.dtype, self.terms


@dataclass(eq=False, slots=True)
class Group:
    """Accesses of one array at constant distances. ``members`` maps the first byte to (position, statement), and
    ``again`` to further reads of that element which must give the same value."""

    start: int
    members: dict[int, tuple[int, Load | Store]] = field(default_factory=dict)
    again: dict[int, list[tuple[int, Load]]] = field(default_factory=dict)
    passed: list[Range] = field(default_factory=list)   # bytes written since the first member

    def near(self, place: Place) -> bool:
        """True where ``place`` shares a byte with a member."""
        size = place.end - place.first
        return any(place.first < at + size and at < place.end for at in self.members)


Found = list[tuple[Place, Group]]
_Open = dict[tuple[Buffer, str, Terms], tuple[Place, Group]]


def place_of(view: View, index: Sequence[Expr]) -> Place | None:
    """The place of an element in global or shared memory; None for registers, and where threads share it out."""
    if view.buffer.scope not in ("global", "shared"):
        return None
    found = locate(view, index)
    if found.axes or found.replicas:
        return None
    size = element_bytes(view.dtype)
    return Place(view.buffer, view.dtype, found.byte.terms, found.byte.const, found.byte.const + size)


def reads(block: Sequence[Statement]) -> Found:
    """Groups of reads that may all be done where the first of each stands."""
    done: Found = []
    live: _Open = {}
    defined: dict[Var, int] = {}
    for position, statement in enumerate(block):
        if isinstance(statement, Load):
            place = place_of(statement.view, statement.index)
            if place is not None:
                _read(place, position, statement, live, done, defined)
            defined[statement.result] = position
        elif isinstance(statement, Store):
            _written(statement, live, done)
        elif isinstance(statement, Apply):
            touched = touches(statement)
            _close(live, done, None if touched is None else touched[1])
        elif not isinstance(statement, Assume):
            _close(live, done, None)
    _close(live, done, None)
    return done


def _read(place: Place, position: int, load: Load, live: _Open, done: Found, defined: dict[Var, int]) -> None:
    known = live.get(place.key)
    if known is not None:
        group = known[1]
        behind = any(place.first < high and low < place.end for low, high in group.passed)
        if place.first in group.members and not behind:
            group.again.setdefault(place.first, []).append((position, load))
            return
        late = any(defined.get(v, -1) >= group.start for v in _used(load))
        if not (late or behind or group.near(place)):
            group.members[place.first] = position, load
            return
        done.append(live.pop(place.key))
    if len(live) >= MOST_LIVE:
        _close(live, done, None)
    live[place.key] = place, Group(position, {place.first: (position, load)})


def _used(access: Load | Store) -> Iterator[Var]:
    """Variables that decide where ``access`` lies."""
    for expression in (*access.index, *view_expressions(access.view)):
        yield from free(expression)


def _written(store: Store, live: _Open, done: Found) -> None:
    """A write between reads: its bytes are noted where their distance is known, else reads stay behind it."""
    place = place_of(store.view, store.index)
    for key, (_, group) in list(live.items()):
        if key[0] is not store.view.buffer:
            continue
        if place is not None and key[2] == place.terms:
            group.passed.append((place.first, place.end))
        else:
            done.append(live.pop(key))


def writes(block: Sequence[Statement]) -> Found:
    """Groups of writes that may all be done where the last of each stands."""
    done: Found = []
    live: _Open = {}
    for position, statement in enumerate(block):
        if isinstance(statement, Store):
            place = place_of(statement.view, statement.index)
            if place is None:
                if statement.view.buffer.scope != "local":
                    _close(live, done, {statement.view.buffer})
                continue
            _separate(place, live, done)
            known = live.get(place.key)
            if known is None:
                if len(live) >= MOST_LIVE:
                    _close(live, done, None)
                live[place.key] = place, Group(position, {place.first: (position, statement)})
            else:
                known[1].members[place.first] = position, statement
        elif isinstance(statement, Load):
            place = place_of(statement.view, statement.index)
            if place is not None:
                _separate(place, live, done)
            elif statement.view.buffer.scope != "local":
                _close(live, done, {statement.view.buffer})
        elif isinstance(statement, Apply):
            touched = touches(statement)
            _close(live, done, None if touched is None else touched[0] | touched[1])
        elif not isinstance(statement, Assume):
            _close(live, done, None)
    _close(live, done, None)
    return done


def _separate(place: Place, live: _Open, done: Found) -> None:
    """End every group of writes that may share bytes with ``place``."""
    for key, (_, group) in list(live.items()):
        if key[0] is place.buffer and (key != place.key or group.near(place)):
            done.append(live.pop(key))


def _close(live: _Open, done: Found, buffers: set[Buffer] | None) -> None:
    """End the groups of ``buffers``; None ends all of them."""
    for key in list(live):
        if buffers is None or key[0] in buffers:
            done.append(live.pop(key))


def touches(apply: Apply) -> tuple[set[Buffer], set[Buffer]] | None:
    """Memory that an instruction reads and writes; None where it orders other accesses as well, or may."""
    views = list(memory_operands(apply))
    if not views:
        return (set(), set()) if not any(o.access for o in apply.use.obligations) else None
    slots = apply.use.slots
    if apply.use.mnemonic not in ("ld", "ldu", "st") or slots.get("sem", "weak") != "weak" or "mmio" in slots \
            or "scope" in slots:
        return None
    read: set[Buffer] = set()
    write: set[Buffer] = set()
    for view in views:
        (write if apply.use.mnemonic == "st" else read).add(view.buffer)
    return read, write
