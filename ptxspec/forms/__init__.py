"""Questions about PTX instruction forms, answered from generated tables (no YAML, pydantic or solver at run time)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

# `check` and `use` are also names of modules here: imported now, the names stay bound to the functions.
from ptxspec.forms.check import check, check_many
from ptxspec.forms.use import FormUse, ObligationUse, OperandUse, Step, use, uses
from ptxspec.forms.verdict import Floor, FormVerdict, Outcome, RuleRef

if TYPE_CHECKING:
    from ptxspec.forms.enumerate import Form, count, forms
    from ptxspec.forms.operands import check_operands
    from ptxspec.forms.select import Selection, select_widest

_LAZY = {
    "Form": "enumerate",
    "count": "enumerate",
    "forms": "enumerate",
    "check_operands": "operands",
    "Selection": "select",
    "select_widest": "select",
}

__all__ = [
    "Floor",
    "Form",
    "FormUse",
    "FormVerdict",
    "ObligationUse",
    "OperandUse",
    "Outcome",
    "RuleRef",
    "Selection",
    "Step",
    "check",
    "check_many",
    "check_operands",
    "count",
    "forms",
    "select_widest",
    "use",
    "uses",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value
