"""``specs/findings.yaml``: where the real assembler and the manual differ, measured."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from ptxspec.spec.base import Name, Sentence, SpecModel, Token
from ptxspec.spec.condition import Condition


class Finding(SpecModel):
    """One difference, as narrow as it was measured.

    For spellings: ``waives`` (rules and named floors that the assembler does not apply where ``when`` holds),
    ``admits`` (forms that the manual does not have),
    ``outcome``: it refuses (``reject``) or breaks on (``crash``, ``unstable``:
    now and then) what it would otherwise take; ``wrong-code``: it takes it and generates code that computes something
    else (for operands only; ptxspec.forms.defects has these operand rules).
    ``repeats``: words that it takes twice; ``ignores``: words that it reads and drops; ``ignores_later``: words that
    it drops behind a type.
    ``sm``: targets from this one on; ``forms``: these forms, for repeated and dropped words only.
    For operands: ``operands`` names the operand rule. ``context: entry``: seen in kernel code only.
    """

    id: Name
    mnemonics: tuple[Name, ...] = Field(min_length=1)
    when: Condition | None = None
    forms: tuple[Name, ...] | None = None
    sm: int = 0
    waives: tuple[Name, ...] = ()
    repeats: tuple[Token, ...] = ()
    ignores: tuple[Token, ...] = ()
    ignores_later: tuple[Token, ...] = ()
    admits: tuple[Name, ...] = ()
    outcome: Literal["accept", "reject", "crash", "unstable", "wrong-code"] = "accept"
    operands: tuple[Name, ...] = ()
    context: Literal["entry"] | None = None
    toolkits: tuple[str, ...] = Field(min_length=1)
    measured: str = Field(pattern=r"^20[0-9]{2}-[0-9]{2}-[0-9]{2}$")
    manual: Sentence
    ptxas: Sentence
    advice: Sentence

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.outcome == "accept" and not (
            self.waives or self.admits or self.operands or self.repeats or self.ignores or self.ignores_later
        ):
            raise ValueError("an accepting finding needs waives, admits, repeats, ignores or operands")
        if self.operands and (self.waives or self.admits or self.repeats or self.ignores):
            raise ValueError("a finding is about spellings or about operands, not both")
        if self.outcome == "wrong-code" and not self.operands:
            raise ValueError("wrong code is a matter of operands: name the operand rule")
        if self.outcome != "accept" and (self.waives or self.admits):
            raise ValueError("waives and admits belong to findings where the assembler accepts")
        return self


class Findings(SpecModel):
    """The whole file."""

    format: Literal["findings/1"]
    findings: tuple[Finding, ...]
