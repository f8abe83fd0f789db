"""Conditions over the slots of a form: mappings with fixed keys, all joined by AND."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from ptxspec.spec.base import Name, SpecModel, Token


class Condition(SpecModel):
    """``is``: slot has one of these values; ``in``: slot has a value of this named set; ``has`` and ``lacks``:
    slots written and not written; ``holds``: a condition of the file's ``conditions``; ``any``, ``all``, ``not``."""

    is_: dict[Name, Token | tuple[Token, ...]] = Field(default_factory=dict, alias="is")
    in_: dict[Name, Name] = Field(default_factory=dict, alias="in")
    has: tuple[Name, ...] = ()
    lacks: tuple[Name, ...] = ()
    holds: Name | None = None
    any: tuple[Condition, ...] = ()
    all: tuple[Condition, ...] = ()
    not_: Condition | None = Field(None, alias="not")

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not (self.is_ or self.in_ or self.has or self.lacks or self.holds or self.any or self.all or self.not_):
            raise ValueError("an empty condition says nothing; leave `when` out instead")
        return self


Condition.model_rebuild()
