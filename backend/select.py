"""From slots and operands to one line of PTX, through the generated selector.

Every instruction line of every emitted module comes from :func:`select`: a form decides, its operands are checked, and
the text is put together from the form's own slot order. Decisions are remembered by the shape of the operands, so a
warm call is a few dictionary look-ups and one ``join``.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from ptxspec.backend.choice import Choice

from ptxspec.diagnostics import Diagnostic, FormError, Note
from ptxspec.forms import registry
from ptxspec.forms.check import judge
from ptxspec.forms.kinds import describe, kinds_of
from ptxspec.forms.operands import check_operands
from ptxspec.forms.target import Machine, machine, pair
from ptxspec.forms.use import FormUse, matches, uses
from ptxspec.ptx.operand import Address, Guard, Immediate, Operand, Register, Special, Symbol, Vector

PACKAGE = "ptxspec.backend.selector"


@dataclass(frozen=True, slots=True)
class Target:
    """What is emitted for: ``sm`` is a target name (``sm_90``), ``ptx`` a version (``(9, 0)``)."""

    sm: str
    ptx: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Selected:
    """One instruction: its text without indentation, the form behind it, and what the form needs."""

    text: str
    mnemonic: str
    form: str
    slots: tuple[tuple[str, str], ...]
    floor_ptx: tuple[int, int]
    floor_sm: int


@dataclass(frozen=True, slots=True)
class _Decision:
    opcode: str
    use: FormUse
    slots: tuple[tuple[str, str], ...]
    ptx: tuple[int, int]
    sm: int


def select(
    target: Target, mnemonic: str, slots: Mapping[str, str], operands: Sequence[Operand], guard: Guard | None = None
) -> Selected:
    """The line for these slots and operands. Raises :class:`FormError` when no form takes them on this target."""
    key = (
        target,
        mnemonic,
        tuple(slots.items()),
        tuple([_shape(o) for o in operands]),
        guard is None or guard.register.cls == "pred",
    )
    decision = _memory.get(key)
    if decision is None:
        decision = _memory[key] = _decide(target, mnemonic, slots, operands, guard)
    body = f"{decision.opcode} {', '.join([str(o) for o in operands])};" if operands else f"{decision.opcode};"
    return Selected(
        body if guard is None else f"{guard} {body}",
        mnemonic,
        decision.use.form,
        decision.slots,
        decision.ptx,
        decision.sm,
    )


_Key = tuple[Target, str, tuple[tuple[str, str], ...], tuple[object, ...], bool]
_memory: dict[_Key, _Decision] = {}


def _shape(operand: Operand) -> object:
    """All that a decision may depend on: classes, counts, spaces and literal kinds, but no names and no numbers."""
    kind = type(operand)
    if kind is Register:
        return cast(Register, operand).cls
    if kind is Vector:
        return (kind, *[_shape(e) for e in cast(Vector, operand).elements])
    if kind is Address:
        address = cast(Address, operand)
        return (kind, _shape(address.base), address.unified)
    if kind is Immediate:
        literal = cast(Immediate, operand)
        return (kind, literal.kind, literal.text[:2] if literal.kind == "float" else "")
    if kind is Symbol:
        return (kind, cast(Symbol, operand).space)
    if kind is Special:
        return (kind, cast(Special, operand).name)
    return kind


def _decide(
    target: Target, mnemonic: str, slots: Mapping[str, str], operands: Sequence[Operand], guard: Guard | None
) -> _Decision:
    here = machine(target.sm, target.ptx)
    choices = _choices(mnemonic)
    opcode = ""
    kinds = tuple(kinds_of(o) for o in operands)
    candidates: list[FormUse] = []
    for choice in choices:
        if any(name not in choice.slots for name in slots):
            continue
        words = [slots.get(name, "") for name in choice.slots]
        if here.since <= here.ptx and choice.decide(here.name, here.sm, here.ptx, *words):
            opcode = ".".join([mnemonic, *(w for w in words if w)])
            candidates += [u for u in uses(opcode, here) if u.form == choice.form]
    if not candidates:
        raise FormError(_refusal(mnemonic, slots, here))
    fitting = [u for u in candidates if matches(u, kinds)]
    if not fitting:
        # A form that nearly fits explains best what is wrong: same number of operands first.
        near = sorted(candidates, key=lambda u: abs(len(u.operands) - len(operands)))
        problems = check_operands(near[0], operands, guard, here)
        wanted = Note("help", "; ".join(f"{u.form}: {describe(u.operands)}" for u in candidates))
        if not problems:
            problems = (Diagnostic("F402", f"no form of `{opcode}` takes the operands ({', '.join(kinds)})"),)
        raise FormError(*(d.with_notes(wanted) for d in problems))
    problems = check_operands(fitting[0], operands, guard, here)
    for other in fitting[1:]:
        if problems:
            problems = check_operands(other, operands, guard, here)
            fitting[0] = other if not problems else fitting[0]
    if problems:
        raise FormError(*problems)
    ptx, sm = fitting[0].floor.ptx, fitting[0].floor.sm
    for operand in operands:
        if isinstance(operand, Special):
            known = registry.vocabulary().specials[operand.name]
            ptx, sm = max(ptx, pair(known.ptx)), max(sm, known.sm)
    return _Decision(opcode, fitting[0], tuple(fitting[0].slots.items()), ptx, sm)


def _refusal(mnemonic: str, slots: Mapping[str, str], here: Machine) -> Diagnostic:
    """Why no form takes these slots: the checker's explanation of the same words."""
    table = registry.table(mnemonic)
    order = {name: i for i, (name, _) in enumerate(dict.fromkeys((slot, 0) for slot, _ in table.names.values()))}
    for name in slots:
        if name not in order:
            return Diagnostic(
                "F104", f"`{mnemonic}` has no slot `{name}`", notes=(Note("help", "slots: " + " ".join(order)),)
            )
    words = [slots[name] for name in sorted(slots, key=lambda n: order[n])]
    verdict = judge(".".join([mnemonic, *words]), here)
    return verdict.diagnostic or Diagnostic("F104", f"no form of `{mnemonic}` takes {dict(slots)}")


@cache
def _choices(mnemonic: str) -> tuple[Choice, ...]:
    registry.table(mnemonic)  # an unknown mnemonic is refused here
    for folder in registry.extra_folders():
        path = os.path.join(folder, "selector", registry.module_file(mnemonic))
        if os.path.isfile(path):
            return cast("tuple[Choice, ...]", registry.load_file(path, f"ptxspec_extra_selector.{mnemonic}").CHOICES)
    return cast("tuple[Choice, ...]", importlib.import_module(f"{PACKAGE}.{registry.module_name(mnemonic)}").CHOICES)


__all__ = ["Selected", "Target", "select"]
