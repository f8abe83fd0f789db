"""The words that specs use: types, vectors, spaces, targets, versions, special registers, toolkits."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ptxspec.spec.base import Name, SpecModel, TargetName, Token, Version


class TypeEntry(SpecModel):
    """A PTX type; ``register`` is false for types that no register can be declared with."""

    bits: int
    class_: Literal["bits", "unsigned", "signed", "float", "predicate", "packed"] = Field(alias="class")
    register_: bool = Field(True, alias="register")


class Types(SpecModel):
    """``vocabulary/types.yaml``."""

    format: Literal["types/1"]
    types: dict[Token, TypeEntry]


class Words(SpecModel):
    """``vocabulary/words.yaml``: vectors, spaces, scopes, memory orders."""

    format: Literal["words/1"]
    vectors: dict[Token, int]
    spaces: dict[Token, str]
    scopes: dict[Token, str]
    orders: dict[Token, str]


class Targets(SpecModel):
    """``vocabulary/targets.yaml``: the first PTX version of every target, and all PTX versions in order."""

    format: Literal["targets/1"]
    versions: tuple[Version, ...]
    targets: dict[TargetName, Version]


class Toolkit(SpecModel):
    """An assembler release: newest PTX version, and the targets it takes with the version each needs there."""

    ptx: Version
    targets: tuple[TargetName, ...]
    from_: dict[TargetName, Version] = Field(default_factory=dict, alias="from")


class Toolkits(SpecModel):
    """``vocabulary/toolkits.yaml``."""

    format: Literal["toolkits/1"]
    toolkits: dict[str, Toolkit]


class SpecialRegisterEntry(SpecModel):
    """A special register: its type, components (``x y z w``) and floor. ``also``: narrower widths that may be read;
    ``count``: numbered registers of this name."""

    type: Token
    parts: tuple[Name, ...] = ()
    also: tuple[int, ...] = ()
    count: int = 0
    ptx: Version = "1.0"
    sm: int = 10


class SpecialRegisters(SpecModel):
    """``vocabulary/special-registers.yaml``."""

    format: Literal["special-registers/1"]
    registers: dict[str, SpecialRegisterEntry]
