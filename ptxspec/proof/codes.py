"""The one table of proof obligations: code, name and what each of them promises."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ObligationKind:
    """One kind of obligation: its stable ``code``, the ``name`` the specs use and the promise in one sentence."""

    code: str
    name: str
    promise: str


_KINDS = (
    ObligationKind("P101", "aligned", "every memory atom starts at a multiple of the bytes the instruction moves"),
    ObligationKind("P102", "consecutive", "the words of a memory atom follow each other without a gap"),
    ObligationKind(
        "P103", "in-bounds", "every index of every view step stays inside its axis, every byte in its storage"
    ),
    ObligationKind("P104", "in-space", "the storage lies in the state space that the opcode spells"),
    ObligationKind("P105", "owned", "every register named by an instruction belongs to the thread that issues it"),
    ObligationKind("P106", "disjoint", "no register is written twice by one instruction or by its repeats"),
    ObligationKind("P107", "race-free", "without a barrier between, no thread writes a byte that another one touches"),
    ObligationKind("P108", "defined", "a value is read only where it was written"),
    ObligationKind("P109", "no-wrap", "the kernel's integer arithmetic stays inside its type where it feeds an index"),
    ObligationKind("P110", "convergent", "every thread that must arrive at a barrier or collective does"),
    ObligationKind("P111", "fits", "immediates, sizes and shared memory are within what the target can hold"),
    ObligationKind("P112", "launch", "block, cluster and grid are within the limits of the target"),
)

BY_NAME: dict[str, ObligationKind] = {k.name: k for k in _KINDS}
BY_CODE: dict[str, ObligationKind] = {k.code: k for k in _KINDS}


def code_of(name: str) -> str:
    """The code of the obligation called ``name``; an unknown name is a defect of the caller (KeyError)."""
    return BY_NAME[name].code
