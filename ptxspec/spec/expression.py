"""Integer, type and word expressions: trees of data, never strings to parse.

Three readers exist: evaluation (``ptxspec.forms.evaluate``), the solver, and the page of an instruction.
"""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ptxspec.spec.base import Name, SpecModel, Token


class Arithmetic(SpecModel):
    """One operation over integers, or one attribute (``type.bytes``, ``vec.lanes``, ``d.lanes`` of an operand)."""

    attr: str | None = Field(None, pattern=r"^[a-z_][a-z0-9_]*\.(bits|bytes|lanes)$")
    mul: tuple[IntExpr, IntExpr] | None = None
    add: tuple[IntExpr, IntExpr] | None = None
    sub: tuple[IntExpr, IntExpr] | None = None
    div: tuple[IntExpr, IntExpr] | None = None
    mod: tuple[IntExpr, IntExpr] | None = None
    min: tuple[IntExpr, IntExpr] | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(getattr(self, name) is not None for name in type(self).model_fields) != 1:
            raise ValueError("exactly one of attr, mul, add, sub, div, mod, min")
        return self


class TypeOf(SpecModel):
    """A type that follows a slot: the slot's own (``slot``), twice as wide (``wide``), or the untyped bits of one
    lane when the slot's width is shared among the operand's lanes (``part``)."""

    slot: Name | None = None
    wide: Name | None = None
    part: Name | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(getattr(self, name) is not None for name in type(self).model_fields) != 1:
            raise ValueError("exactly one of slot, wide, part")
        return self


class WordOf(SpecModel):
    """A word that follows a slot: its value (or its ``absent`` name), optionally translated by ``map``."""

    slot: Name
    map: dict[Token, str] | None = None


class Written(SpecModel):
    """True where the slot is written."""

    has: Name


IntExpr = int | Name | Arithmetic
TypeExpr = Token | TypeOf
WordExpr = str | WordOf
FlagExpr = bool | Written

Arithmetic.model_rebuild()
