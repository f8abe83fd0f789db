"""The document of ``ptxspec export --format json``: the whole database for other tools."""

from __future__ import annotations

from typing import Literal

from ptxspec.spec.base import Name, SpecModel
from ptxspec.spec.findings import Findings
from ptxspec.spec.instruction import Instruction
from ptxspec.spec.vocabulary import SpecialRegisters, Targets, Toolkits, Types, Words


class ExportedVocabulary(SpecModel):
    """All files of ``specs/vocabulary``."""

    types: Types
    words: Words
    targets: Targets
    toolkits: Toolkits
    specials: SpecialRegisters


class Export(SpecModel):
    """``version``: of ptxspec; ``digest``: of the specs."""

    format: Literal["ptxspec/1"]
    version: str
    digest: str
    vocabulary: ExportedVocabulary
    instructions: dict[Name, Instruction]
    findings: Findings
