"""All legal forms of a mnemonic, lazily, with any slot pinned.

The walk decides one slot after the other and drops a branch as soon as a rule whose slots are all decided is
violated, so its cost follows the number of legal forms and not the size of the product (69 million for ``ld``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxspec.diagnostics import Diagnostic, Note, UsageError
from ptxspec.forms import registry
from ptxspec.forms.check import _predict, _reach, floor_of
from ptxspec.forms.parse import spell, words_of
from ptxspec.forms.table import FormTable, Table
from ptxspec.forms.target import Machine, machine
from ptxspec.forms.verdict import Floor, Outcome


@dataclass(frozen=True, slots=True)
class Form:
    """One legal spelling."""

    opcode: str
    form: str
    slots: tuple[tuple[str, str], ...]
    floor: Floor

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {"opcode": self.opcode, "form": self.form, "slots": dict(self.slots), "floor": self.floor.to_json()}


def forms(
    mnemonic: str, *, sm: str | None = "sm_90", ptx: str | tuple[int, int] | None = None, **slots: str
) -> Iterator[Form]:
    """Legal forms, those with the given slot values only. ``""`` pins a slot to not written, an absent word
    (``generic``) to its meaning;
    ``sm=None`` leaves out floors. Raises :class:`FormError` F002 and :class:`UsageError` U110, U111."""
    table = registry.table(mnemonic)
    here = None if sm is None else machine(sm, ptx)
    pins = _pins(table, slots)
    for form, mask in walk(table, pins, here):
        yield Form(spell(table, mask), form.id, tuple(words_of(table, mask)), floor_of(form, mask))


def count(mnemonic: str, *, sm: str | None = "sm_90", ptx: str | tuple[int, int] | None = None, **slots: str) -> int:
    """How many :func:`forms` there are, without spelling them."""
    table = registry.table(mnemonic)
    here = None if sm is None else machine(sm, ptx)
    return sum(1 for _ in walk(table, _pins(table, slots), here))


def accepted(mnemonic: str, here: Machine) -> Iterator[int]:
    """Masks of all spellings that the assembler of ``here`` is predicted to accept, in canonical order."""
    table = registry.table(mnemonic)
    seen: set[int] = set()
    for form in table.forms:
        waivable = 0
        for f in form.findings:
            waivable |= f.waives
        for mask in _walk_form(form, {}, waivable):
            broken = form.broken(mask)
            if (
                _predict(form, mask, broken, _reach(form, mask, here), here, False) is Outcome.ACCEPT
                and mask not in seen
            ):
                seen.add(mask)
                yield mask


def _pins(table: Table, slots: dict[str, str]) -> dict[str, str]:
    names = {slot for slot, _ in table.names.values()}
    words = set(table.names.values())
    for name, value in slots.items():
        if name not in names:
            raise UsageError(
                Diagnostic(
                    "U110",
                    f"`{table.mnemonic}` has no slot `{name}`",
                    notes=(Note("help", "slots: " + " ".join(sorted(names))),),
                )
            )
        absent = {s.absent for f in table.forms for s in f.slots if s.name == name}
        if value and value not in absent and (name, value) not in words:
            known = [w for s, w in table.names.values() if s == name]
            raise UsageError(
                Diagnostic(
                    "U111",
                    f"the slot `{name}` is never `{value}`",
                    notes=(Note("help", "values: " + " ".join([*known, *sorted(a for a in absent if a)])),),
                )
            )
    return slots


def walk(table: Table, pins: dict[str, str], here: Machine | None) -> Iterator[tuple[FormTable, int]]:
    """(form, mask) of every legal spelling; a spelling that two forms share comes once."""
    seen: set[int] = set()
    names = {(slot, word): bit for bit, (slot, word) in table.names.items()}
    for form in table.forms:
        own = {s.name: s for s in form.slots}
        if not form.documented or any(name not in own and value for name, value in pins.items()):
            continue
        chosen: dict[str, tuple[int, ...]] = {}
        for name, value in pins.items():
            if name in own:
                bits = [names[name, value] & own[name].mask] if (name, value) in names else []
                unwritten = not own[name].required and value in ("", own[name].absent)
                chosen[name] = tuple([b for b in bits if b] + ([0] if unwritten else []))
        if here is not None and here.since > here.ptx:
            return
        for mask in _walk_form(form, chosen, 0):
            if mask not in seen and (here is None or not _reach(form, mask, here)):
                seen.add(mask)
                yield form, mask


def _walk_form(form: FormTable, chosen: dict[str, tuple[int, ...]], waivable: int) -> Iterator[int]:
    """Masks of a form that violate no rule outside ``waivable``."""
    options: list[tuple[int, ...]] = []
    decided: list[int] = []
    known = 0
    for slot in form.slots:
        bits = tuple(1 << i for i in range(slot.mask.bit_length()) if slot.mask >> i & 1)
        options.append(chosen.get(slot.name, bits if slot.required else (0, *bits)))
        known |= slot.mask
        # Rules that can be judged now: all their slots are decided.
        decided.append(sum(1 << i for i, r in enumerate(form.rules) if not r.slots & ~known) & ~waivable)
    broken, last = form.broken, len(options) - 1
    if last < 0:
        yield 0
        return

    def step(index: int, mask: int) -> Iterator[int]:
        for bit in options[index]:
            m = mask | bit
            if broken(m) & decided[index]:
                continue
            if index == last:
                yield m
            else:
                yield from step(index + 1, m)

    yield from step(0, 0)
