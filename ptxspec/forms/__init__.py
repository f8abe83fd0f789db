"""Questions about PTX instruction forms, answered from generated tables (no YAML, pydantic or solver at run time)."""

from __future__ import annotations

from ptxspec.forms.check import check, check_many
from ptxspec.forms.use import FormUse, ObligationUse, OperandUse, Step, use, uses
from ptxspec.forms.verdict import Floor, FormVerdict, Outcome, RuleRef

__all__ = [
    "Floor",
    "FormUse",
    "FormVerdict",
    "ObligationUse",
    "OperandUse",
    "Outcome",
    "RuleRef",
    "Step",
    "check",
    "check_many",
    "use",
    "uses",
]
