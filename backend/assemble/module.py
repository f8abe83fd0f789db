"""PTX text to cubin, with the assembler's complaints put on the lines of the kernel that caused them.

Codes: ``A100`` no assembler, ``A101`` a line was refused, ``A102`` the assembler crashed, ``A103`` it does not know
this target or PTX version, ``A104`` it took too long, ``A105`` the target's name is not one, ``A106`` it refused
without saying where.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ptxspec.diagnostics import AssembleError, Diagnostic, Note, Span, fail

from .image import image_resources
from .messages import Message
from .outcome import Outcome, run_tool
from .resources import Resources, parse_resources
from .toolchain import Toolchain, toolchains

_TARGET = re.compile(r"^sm_\d{2,3}[af]?$")
_UNKNOWN_TARGET = re.compile(
    r"does not support \.target|Unsupported \.(version|target)|is not defined for option 'gpu-name'|takes no target"
)
_MOST = 20


@dataclass(frozen=True, slots=True)
class Cubin:
    """An assembled module: its bytes, the assembler's log and what each entry needs."""

    data: bytes
    log: str
    target: str
    tool: Toolchain
    resources: tuple[Resources, ...]

    @property
    def bytes(self) -> bytes:
        """The ELF image."""
        return self.data

    @property
    def registers(self) -> int:
        """Registers a thread, the most over all entries."""
        return max((entry.registers for entry in self.resources), default=0)

    @property
    def version(self) -> str:
        """Version of the assembler that made it."""
        return ".".join(map(str, self.tool.version))


def default_toolchain() -> Toolchain:
    """nvJitLink where there is one, else the newest ``ptxas``; otherwise error A100, which says how to get one."""
    # In this order, so that no executable is asked for its version while the library is there.
    for found in (toolchains("nvjitlink"), toolchains("ptxas")):
        if found:
            return found[0]
    raise fail(
        AssembleError,
        "A100",
        "no assembler on this machine: neither nvJitLink nor a ptxas that runs",
        notes=(
            Note("help", "install the package's extra: pip install 'ptxspec[assemble]'; no GPU or driver is needed"),
            Note("note", "query, prove, emit and simulate work without it"),
        ),
    )


def assemble(
    ptx: str,
    target: str,
    *,
    using: Toolchain | None = None,
    line_map: Mapping[int, Span] | None = None,
    options: Sequence[str] = (),
    timeout: float = 600.0,
) -> Cubin:
    """Assemble a PTX module for ``target`` (``"sm_90"``).

    ``line_map`` gives the kernel's place for a 1-based PTX line; complaints are put there. ``options`` are passed to
    the tool (``-O0``); ``timeout`` is in seconds and holds for executables only. Raises :class:`AssembleError` with
    one diagnostic for each complaint. The same input gives the same bytes.
    """
    if not _TARGET.match(target):
        raise fail(AssembleError, "A105", f"'{target}' is no target: write sm_NN, sm_NNa or sm_NNf")
    tool = using or default_toolchain()
    outcome = run_tool(tool, ptx, target, options=("-v", *options), timeout=timeout)
    if outcome.status == "ok":
        return Cubin(outcome.cubin, outcome.log, target, tool, resources_of(outcome.log, outcome.cubin, target))
    raise AssembleError(*_diagnostics(outcome, tool, ptx, target, line_map or {}, timeout))


def resources_of(log: str, cubin: bytes, target: str) -> tuple[Resources, ...]:
    """What each entry needs, from the log, or from the image where the log does not say (nvJitLink 13.0)."""
    told = parse_resources(log)
    return told if any(entry.registers for entry in told) else image_resources(cubin, target) or told


def resource_usage(ptx: str, target: str, *, using: Toolchain | None = None) -> tuple[Resources, ...]:
    """Registers, spills, shared and constant bytes of each entry, as the assembler reports them."""
    return assemble(ptx, target, using=using).resources


def _diagnostics(
    outcome: Outcome, tool: Toolchain, ptx: str, target: str, line_map: Mapping[int, Span], timeout: float
) -> list[Diagnostic]:
    by = Note("note", f"said by {tool.name} for {target}")
    if outcome.status == "crashed":
        help_ = Note("help", "try another assembler version; the module's last lines before the crash cannot be told")
        return [Diagnostic("A102", f"the assembler crashed with {outcome.signal}", notes=(by, help_))]
    if outcome.status == "timeout":
        return [Diagnostic("A104", f"the assembler did not end within {timeout:g} s", notes=(by,))]
    refusals = [message for message in outcome.messages if message.refuses]
    placed = [message for message in refusals if message.line]
    wrong_target = next((m for m in refusals if _UNKNOWN_TARGET.search(m.text)), None)
    if wrong_target is not None:
        return [Diagnostic("A103", f"{tool.name} cannot assemble this for {target}: {wrong_target.text}", notes=(by,))]
    if not placed:
        text = "; ".join(dict.fromkeys(m.text for m in refusals)) or "nothing more"
        return [Diagnostic("A106", f"the assembler refused the module without naming a line: {text}", notes=(by,))]
    lines = ptx.splitlines()
    out = [_placed(message, lines, line_map, by) for message in placed[:_MOST]]
    if len(placed) > _MOST:
        out.append(Diagnostic("A101", f"and {len(placed) - _MOST} more complaints of the assembler", notes=(by,)))
    return out


def _placed(message: Message, lines: Sequence[str], line_map: Mapping[int, Span], by: Note) -> Diagnostic:
    text = lines[message.line - 1].strip() if 0 < message.line <= len(lines) else ""
    notes = [Note("fact", f"PTX line {message.line}: {text}")] if text else []
    return Diagnostic(
        "A101", f"the assembler refused this: {message.text}", line_map.get(message.line), notes=(*notes, by)
    )
