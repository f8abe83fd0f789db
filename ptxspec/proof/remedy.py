"""Ways out of a failed obligation, each of them proved before it is offered."""

from __future__ import annotations

from ptxspec.proof.goals import Draft, Item
from ptxspec.proof.solver import Session


def remedies(draft: Draft, item: Item, session: Session, sm: str) -> tuple[str, ...]:
    """Help texts."""
    return ()


def for_unknown(draft: Draft, item: Item) -> tuple[str, ...]:
    """What would help the prover to decide."""
    return ()
