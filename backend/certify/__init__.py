"""Certification: the database's predictions held against real assemblers, instruction by instruction."""

from .campaign import Plan, Result, run
from .command import main
from .compare import Disagreement, Tally, compare
from .draw import Case, case, fit, random_cases
from .host import Setting
from .label import Label, label
from .report import summary, write

__all__ = [
    "Case", "Disagreement", "Label", "Plan", "Result", "Setting", "Tally", "case", "compare", "fit", "label", "main",
    "random_cases", "run", "summary", "write",
]
