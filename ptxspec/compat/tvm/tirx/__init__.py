"""``tvm.tirx.compile``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptxspec.compat.tvm.tirx import layout

if TYPE_CHECKING:
    from ptxspec.backend.executable import Executable
    from ptxspec.lang.function import KernelFunction

__all__ = ["compile", "layout"]


def compile(function: KernelFunction, target: str = "cuda", pipeline: str | None = None) -> Executable:
    """:func:`ptxspec.compile`; ``pipeline`` names a lowering of the other system and changes nothing here."""
    from ptxspec.backend.executable import compile as build
    return build(function, target)
