"""``ptxspec lint``: judge every instruction of known mnemonics in a PTX module, operands included.

A finding is an ``error`` exactly where the assembler refuses the line at the module's PTX version and target, and a
``warning`` where it accepts what the manual forbids, or words out of the manual's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ptxspec.diagnostics import Diagnostic, Severity, Span
from ptxspec.ptx.judge import Judge, full_name
from ptxspec.ptx.lint_target import choose
from ptxspec.ptx.module import Instruction
from ptxspec.ptx.operands import split_operands
from ptxspec.ptx.parser import parse_recovering
from ptxspec.ptx.problem import Context


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: the diagnostic, and the source text of the instruction (empty for other lines)."""

    diagnostic: Diagnostic
    instruction: str = ""

    @property
    def line(self) -> int:
        """1-based line, 0 when the finding is about the whole module."""
        return self.diagnostic.span.line if self.diagnostic.span else 0

    @property
    def code(self) -> str:
        """The stable code."""
        return self.diagnostic.code

    @property
    def severity(self) -> Severity:
        """``error`` or ``warning``."""
        return self.diagnostic.severity

    def to_json(self) -> dict[str, object]:
        """The object that ``lint --json`` prints."""
        span = self.diagnostic.span
        return {
            "file": span.file if span else "", "line": self.line, "column": span.column if span else 0,
            "code": self.code, "severity": self.severity, "message": self.diagnostic.message,
            "instruction": " ".join(self.instruction.split()),
        }


@dataclass(frozen=True, slots=True)
class LintResult:
    """What a module came to. ``instructions`` counts all, ``checked`` those that were judged; ``unknown_mnemonics``
    counts the others by mnemonic and ``unjudged_lines`` says where they are. ``target``, ``ptx`` and ``toolkit`` are
    what it was judged for."""

    file: str
    findings: tuple[Finding, ...]
    instructions: int
    checked: int
    unknown_mnemonics: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    target: str = ""
    ptx: str = ""
    toolkit: str = ""
    unjudged_lines: tuple[int, ...] = ()

    @property
    def errors(self) -> int:
        """Number of findings that the assembler refuses."""
        return sum(f.severity == "error" for f in self.findings)

    @property
    def warnings(self) -> int:
        """Number of findings that the assembler accepts."""
        return sum(f.severity == "warning" for f in self.findings)

    def summary(self) -> dict[str, object]:
        """The counts that ``lint --json`` prints last."""
        return {
            "instructions": self.instructions, "checked": self.checked,
            "unknown_mnemonics": sum(self.unknown_mnemonics.values()), "errors": self.errors,
            "warnings": self.warnings,
        }


def lint(
    text: str, file: str = "<ptx>", *, sm: str | None = None, ptx: str | None = None, toolkit: str | None = None
) -> LintResult:
    """Lint one module. ``sm`` and ``ptx`` overrule the module's own target and version; ``toolkit`` names the release
    whose assembler is predicted (default: the newest that reads this version and target). Never raises for PTX text;
    raises :class:`~ptxspec.diagnostics.UsageError` for an unknown ``sm``, ``ptx`` or ``toolkit`` argument."""
    module, broken = parse_recovering(text, file)
    findings = [Finding(d, _line_of(text, d)) for d in broken]
    chosen, complaint = choose(module, text, sm, ptx, toolkit)
    if complaint is not None:
        findings.append(Finding(complaint))
    instructions = checked = 0
    unknown: dict[str, int] = {}
    unjudged: list[int] = []
    judge = Judge(chosen)
    refused = {f.line for f in findings if f.severity == "error"}
    for function in module.functions:
        context = Context(function.kind, module.address_size, chosen.ptx, chosen.sm_number, chosen.toolkit_number)
        for instruction in function.instructions:
            instructions += 1
            known, diagnostics = judge.instruction(instruction, context)
            if known:
                checked += 1
            else:
                name = full_name(instruction)
                unknown[name] = unknown.get(name, 0) + 1
                unjudged.append(instruction.line)
            for code, severity, message, operand, notes in diagnostics:
                if code[0] == "L" and any(at in refused for at in range(instruction.line, instruction.end_line + 1)):
                    continue  # an undeclared name makes its operand look wrong as well
                span = locate(text, file, instruction, operand)
                findings.append(Finding(Diagnostic(code, message, span, severity, notes), instruction.text))
    findings.sort(key=lambda f: (f.line, f.diagnostic.span.column if f.diagnostic.span else 0))
    return LintResult(
        file, tuple(findings), instructions, checked, MappingProxyType(unknown), chosen.sm, chosen.ptx_text,
        chosen.toolkit, tuple(unjudged),
    )


def _line_of(text: str, diagnostic: Diagnostic) -> str:
    if diagnostic.span is None:
        return ""
    lines = text.split("\n", diagnostic.span.line)
    return lines[diagnostic.span.line - 1].strip() if len(lines) >= diagnostic.span.line else ""


def locate(text: str, file: str, instruction: Instruction, operand: int) -> Span:
    """The span of an operand (its index), of the guard (-2) or of the opcode (-1) of an instruction."""
    line, column = instruction.line, instruction.column
    whole = Span(file, line, column, column + len(instruction.opcode))
    if operand == -1:
        return whole
    if operand == -2:
        width = len(str(instruction.guard))
        back = instruction.text.find(instruction.mnemonic, width)
        start = column - back
        return Span(file, line, start, start + width) if start > 0 and back > 0 else whole
    source, end = instruction.text, instruction.opcode.split(".")[-1]
    at = source.find(end) + len(end)
    try:
        pieces = split_operands(source[at:].rstrip().removesuffix(";"))
    except Exception:
        return whole
    if operand >= len(pieces):
        return whole
    piece, offset = pieces[operand]
    start = at + offset + len(piece) - len(piece.lstrip())
    before = source[:start]
    guard = source.find(instruction.mnemonic)
    if "\n" in before:
        return Span(file, line + before.count("\n"), start - before.rfind("\n"), 0)
    begin = column - guard + start
    return Span(file, line, begin, begin + len(piece.strip()))


__all__ = ["Finding", "LintResult", "lint", "locate"]
