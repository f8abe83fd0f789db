"""Obligations between threads: races and convergence."""

from __future__ import annotations

from ptxspec.proof.converge import converge_drafts
from ptxspec.proof.goals import Draft
from ptxspec.proof.race import race_drafts
from ptxspec.proof.walk import Walker


def concurrent_drafts(walker: Walker) -> list[Draft]:
    """race-free and convergent."""
    return race_drafts(walker) + converge_drafts(walker)
