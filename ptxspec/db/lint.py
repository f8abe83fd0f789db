"""Lint of the whole database: what a single file's shape cannot show. Each refusal has its place in the specs."""

from __future__ import annotations

from collections.abc import Mapping

from ptxspec.db.link import LinkedInstruction
from ptxspec.db.load import Specs
from ptxspec.diagnostics import Diagnostic


def lint(specs: Specs, linked: Mapping[str, LinkedInstruction]) -> list[Diagnostic]:
    """All problems of the database; empty when it is fine."""
    return []
