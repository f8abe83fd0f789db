"""The shape of a generated selector module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """One form: ``slots`` in spelling order, and ``decide(target, sm, ptx, *words)``, the words in the same order,
    ``""`` for a word that is not written. ``ptx`` is 88 for version 8.8."""

    form: str
    slots: tuple[str, ...]
    decide: Callable[..., bool]
