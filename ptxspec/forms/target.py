"""Targets, PTX versions and toolkits as the numbers that the tables compare."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from ptxspec.diagnostics import Diagnostic, Note, UsageError
from ptxspec.forms import registry

if TYPE_CHECKING:
    from ptxspec.forms.verdict import Outcome

# Mnemonic -> (words as ptxspec.forms.alike has them, class of a spelling -> (legal, what the assembler does, code)).
Memo = dict[str, tuple[dict[str, tuple[int, int, int]], dict[int, tuple[bool, "Outcome", str]]]]

_SM = re.compile(r"(?:sm_)?(\d{2,3})([af]?)\Z")


@dataclass(frozen=True, slots=True)
class Machine:
    """``sm``: number without suffix; ``ptx``: 88 for 8.8; ``since``: the target's own first PTX version;
    ``assembles``: the toolkit reads this version for this target; ``memo``: verdicts by mnemonic and class of spelling,
    outside and inside of kernels."""

    name: str
    sm: int
    ptx: int
    since: int
    toolkit: str
    assembles: bool
    memo: tuple[Memo, Memo] = field(default_factory=lambda: ({}, {}), repr=False, compare=False)


def text(version: int) -> str:
    """88 as ``"8.8"``."""
    return f"{version // 10}.{version % 10}"


def pair(version: int) -> tuple[int, int]:
    """88 as ``(8, 8)``."""
    return version // 10, version % 10


def newest_toolkit() -> str:
    """The toolkit that is assumed when none is named."""
    kits = registry.vocabulary().toolkits
    return max(kits, key=lambda k: [int(x) for x in k.split(".")])


@lru_cache(maxsize=4096)
def machine(sm: str = "sm_90", ptx: str | tuple[int, int] | None = None, toolkit: str | None = None) -> Machine:
    """Resolve names. ``ptx=None`` is the newest version. Raises :class:`UsageError` U101..U103."""
    v = registry.vocabulary()
    match = _SM.match(sm) if isinstance(sm, str) else None
    name = f"sm_{match[1]}{match[2]}" if match else str(sm)
    if name not in v.targets:
        raise UsageError(
            Diagnostic(
                "U101", f"the target {sm!r} is not known", notes=(Note("help", "known: " + " ".join(v.targets)),)
            )
        )
    kit = newest_toolkit() if toolkit is None else toolkit
    if kit not in v.toolkits:
        raise UsageError(
            Diagnostic(
                "U103", f"the toolkit {toolkit!r} is not known", notes=(Note("help", "known: " + " ".join(v.toolkits)),)
            )
        )
    if ptx is None:
        number = v.versions[-1] if toolkit is None else v.toolkits[kit].ptx
    elif isinstance(ptx, tuple):
        number = ptx[0] * 10 + ptx[1]
    else:
        found = re.fullmatch(r"(\d{1,2})\.(\d)", ptx)
        number = int(found[1]) * 10 + int(found[2]) if found else -1
    if number not in v.versions:
        raise UsageError(
            Diagnostic(
                "U102",
                f"the PTX version {ptx!r} is not known",
                notes=(Note("help", f"known: {text(v.versions[0])} to {text(v.versions[-1])}"),),
            )
        )
    table = v.toolkits[kit]
    assembles = name in table.targets and table.targets[name] <= number <= table.ptx
    assert match is not None
    return Machine(name, int(match[1]), number, v.targets[name], kit, assembles)
