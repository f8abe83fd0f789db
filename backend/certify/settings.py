"""Which (toolkit, PTX version, target) are asked about: all that an assembler takes, or a spread of them."""

from __future__ import annotations

from ptxspec.forms import registry

from ..assemble import Toolchain, find
from .host import Setting

OLDEST = 60  # PTX 6.0: the first version of the oldest target in question

#: A spread over versions and targets, from the oldest to the newest; each is asked of every toolkit that takes it.
SPREAD: tuple[tuple[str, str], ...] = (
    ("6.0", "sm_60"), ("6.3", "sm_75"), ("7.0", "sm_80"), ("7.4", "sm_86"), ("7.8", "sm_89"), ("7.8", "sm_90"),
    ("8.0", "sm_90a"), ("8.3", "sm_75"), ("8.4", "sm_90"), ("8.6", "sm_100"), ("8.7", "sm_120"), ("8.8", "sm_103"),
    ("9.0", "sm_110"), ("9.1", "sm_80"), ("9.3", "sm_90"), ("9.5", "sm_100"), ("9.5", "sm_107a"),
)


def toolkits(only: tuple[str, ...] = ()) -> dict[str, Toolchain]:
    """Toolkits of the database (``"13.0"``) that this machine has a ptxas of; ``only`` restricts them."""
    out: dict[str, Toolchain] = {}
    for name in registry.vocabulary().toolkits:
        if only and name not in only:
            continue
        tool = find(name)
        if tool is not None:
            out[name] = tool
    return out


def missing_toolkits() -> tuple[str, ...]:
    """Toolkits of the database that this machine lacks."""
    return tuple(name for name in registry.vocabulary().toolkits if find(name) is None)


def grid(toolkit: str) -> list[Setting]:
    """Every (PTX version, target) that the toolkit takes, from PTX 6.0 on."""
    vocabulary = registry.vocabulary()
    table = vocabulary.toolkits[toolkit]
    return [
        Setting((version // 10, version % 10), target)
        for target, since in table.targets.items()
        for version in vocabulary.versions
        if max(since, OLDEST) <= version <= table.ptx
    ]


def spread(toolkit: str) -> list[Setting]:
    """Those of :data:`SPREAD` that the toolkit takes."""
    known = set(grid(toolkit))
    wanted = [Setting((int(ptx.split(".")[0]), int(ptx.split(".")[1])), target) for ptx, target in SPREAD]
    return [setting for setting in wanted if setting in known]
