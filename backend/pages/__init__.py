"""The pages of ``docs/instructions`` and ``docs/findings.md``, written from the same data as the tables."""

from .render import render
from .write import refresh

__all__ = ["refresh", "render"]
