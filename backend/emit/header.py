"""Directives around the body: the only PTX text that is not an instruction (PTX manual, "Directives")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ptxspec.forms import registry
from ptxspec.lang.ir import Buffer
from ptxspec.scalar.expr import Var

#: Most shared memory of one CTA in KiB (CUDA programming guide, "Technical Specifications per Compute Capability").
_SHARED_KIB: dict[int, int] = {
    50: 48, 52: 48, 53: 48, 60: 48, 61: 48, 62: 48, 70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 88: 99, 89: 99,
    90: 227, 100: 227, 101: 227, 103: 227, 110: 227, 120: 99, 121: 99,
}
STATIC_SHARED = 48 * 1024

#: The one declared name of dynamic shared memory.
DYNAMIC = "shared_dynamic"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One kernel parameter in launch order. ``kind`` is ``array``, ``scalar``, ``dim`` or ``stride``; ``type`` its PTX
    type; ``bytes`` its size; ``source`` the kernel's own object."""

    name: str
    kind: str
    type: str
    bytes: int
    source: Buffer | Var
    align: int = 0


@dataclass(frozen=True, slots=True)
class Variable:
    """A shared or local array: ``offset`` is its place in dynamic shared memory, None for one of its own."""

    name: str
    space: str
    bytes: int
    align: int
    buffer: Buffer
    offset: int | None = None


def target_version(sm: str) -> tuple[int, int] | None:
    """Smallest PTX version that knows ``sm``, None for a target nobody knows."""
    since = registry.vocabulary().targets.get(sm)
    return None if since is None else divmod(since, 10)


def targets() -> tuple[str, ...]:
    """Known targets, oldest first."""
    return tuple(registry.vocabulary().targets)


def shared_limit(sm: str) -> int:
    """Bytes of shared memory one CTA may use on ``sm``."""
    match = re.match(r"sm_(\d+)", sm)
    number = int(match.group(1)) if match else 0
    return 1024 * _SHARED_KIB.get(number, 48)


def identifier(name: str) -> str:
    """``name`` as a PTX identifier."""
    text = re.sub(r"[^A-Za-z0-9_$]", "_", name)
    return text if text[:1].isalpha() else f"k_{text}"


def module_head(version: tuple[int, int], sm: str, comments: Sequence[str], *, dynamic_align: int) -> list[str]:
    """Comments, ``.version``, ``.target``, ``.address_size`` and the declaration of dynamic shared memory."""
    lines = [f"// {line}" for line in comments]
    lines += [f".version {version[0]}.{version[1]}", f".target {sm}", ".address_size 64", ""]
    if dynamic_align:
        lines += [f".extern .shared .align {dynamic_align} .b8 {DYNAMIC}[];", ""]
    return lines


def entry_head(name: str, parameters: Sequence[Parameter], block: tuple[int, int, int],
               cluster: tuple[int, int, int]) -> list[str]:
    """``.visible .entry`` with parameters and launch bounds (the block size is exact, so ``.reqntid``)."""
    declared = []
    for parameter in parameters:
        attribute = f" .ptr .global .align {parameter.align}" if parameter.kind == "array" else ""
        declared.append(f"    .param .{parameter.type}{attribute} {parameter.name}")
    lines = [f".visible .entry {name}(", *(",\n".join(declared)).splitlines(), ")"]
    lines.append(f".reqntid {block[0]}, {block[1]}, {block[2]}")
    if cluster != (1, 1, 1):
        lines.append(f".reqnctapercluster {cluster[0]}, {cluster[1]}, {cluster[2]}")
    return lines


def declarations(registers: Sequence[tuple[str, str, int]], variables: Sequence[Variable]) -> list[str]:
    """Registers and the kernel's own arrays."""
    lines = [f"    .reg .{cls} {prefix}<{count + 1}>;" for cls, prefix, count in registers]
    lines += [f"    .{v.space} .align {v.align} .b8 {v.name}[{v.bytes}];" for v in variables if v.offset is None]
    return lines
