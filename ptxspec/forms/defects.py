"""Findings about operands: what some release takes against the manual, and what it then makes wrong code for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ptxspec.forms import registry
from ptxspec.forms.table import RemarkTable

# (type, lanes, register class) of one operand -> whether the operand rule of that name is about it. The rules are
# named in specs/findings.yaml; each was measured by disassembly, and on a GPU where the finding says so.
_RULES: Mapping[str, Callable[[str, int, str], bool]] = {
    "b128-destination": lambda t, lanes, cls: (
        cls == "b128" and t != "b128" and (lanes > 1 or t in ("s8", "s16", "s32"))
    ),
    "scalar-f32-from-b64": lambda t, lanes, cls: t == "f32" and lanes == 1 and cls == "b64",
    "vector-f32-from-b64": lambda t, lanes, cls: t == "f32" and lanes in (2, 4) and cls == "b64",
}


def wrong_code(mnemonic: str, type_: str, lanes: int, classes: Collection[str], toolkit: str) -> RemarkTable | None:
    """The finding that says that ``toolkit`` makes wrong code here, if there is one.

    ``type_``: instruction type (``f32``), ``lanes``: 1 for a scalar, ``classes``: declared classes of the registers
    that hold the data (``b64``...), ``toolkit``: ``"13.0"``.
    """
    table = registry.find(mnemonic)
    for remark in table.remarks if table else ():
        if remark.outcome == "wrong-code" and toolkit in remark.toolkits:
            for name in remark.about:
                if any(_RULES[name](type_, lanes, cls) for cls in classes):
                    return remark
    return None


def tolerated(mnemonic: str, rule: str, toolkit: tuple[int, int], sm: int) -> RemarkTable | None:
    """The finding that says that ``toolkit`` (13, 0) takes operands against the operand rule ``rule`` for targets such
    as ``sm`` (90), if there is one."""
    table = registry.find(mnemonic)
    name = f"{toolkit[0]}.{toolkit[1]}"
    for remark in table.remarks if table else ():
        if remark.outcome == "accept" and rule in remark.about and name in remark.toolkits and sm >= remark.sm:
            return remark
    return None


__all__ = ["tolerated", "wrong_code"]
