"""Obligations between threads: races and convergence."""

from __future__ import annotations

from ptxspec.proof.goals import Draft
from ptxspec.proof.solver import Session
from ptxspec.proof.walk import Walker


def concurrent_drafts(walker: Walker, session: Session) -> list[Draft]:
    """race-free and convergent."""
    return []
