"""The prediction beside the assembler's answer, for each instruction.

Opcodes with fitting operands are predicted by ``check``; instructions whose operands may be wrong by ``lint``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from ptxspec.forms import check, registry
from ptxspec.ptx.lint import lint

from ..assemble import Toolchain
from .draw import Case
from .host import Setting, first_line, module
from .label import label

# The parser gives up on a module with hundreds of errors, as any reader would.
_PIECE = 60
_TOKEN = re.compile(r"'[^']*'|\d+")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One instruction on which they differ. ``code`` and ``rules`` are the database's reasons, ``message`` the tool's.

    ``predicted`` is ``accept``, ``reject``, ``crash`` or ``unstable``; ``answered`` one of the first three.
    """

    toolkit: str
    ptx: str
    target: str
    line: str
    predicted: str
    code: str
    rules: tuple[str, ...]
    answered: str
    message: str

    @property
    def group(self) -> tuple[str, str, str, str, tuple[str, ...], str]:
        """What they differ about, without the particular words."""
        said = _TOKEN.sub("_", self.message)
        return (_mnemonic(self.line), self.predicted, self.answered, self.code, self.rules, said)


@dataclass
class Tally:
    """Counts for one mnemonic under one setting; ``unpredicted``: lines on which the database claims nothing, since it
    does not have all forms of the mnemonic."""

    asked: int = 0
    accepted: int = 0
    crashed: int = 0
    legal: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    unpredicted: int = 0

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {**asdict(self), "disagreements": [asdict(found) for found in self.disagreements]}


def add(total: Tally, part: Tally) -> None:
    """Count ``part`` into ``total``."""
    total.asked += part.asked
    total.accepted += part.accepted
    total.crashed += part.crashed
    total.legal += part.legal
    total.unpredicted += part.unpredicted
    total.disagreements += part.disagreements


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the assembler should say (``unknown``: nothing is claimed), whether the manual allows it, and the code of
    the reason if it does not."""

    answer: str
    legal: bool
    code: str


def compare(
    toolkit: str, tool: Toolchain, setting: Setting, cases: Sequence[Case], *, operands: bool = False
) -> dict[str, Tally]:
    """Ask ``tool`` about every case and hold the prediction for ``toolkit`` against it, by mnemonic."""
    tallies: dict[str, Tally] = {}
    answers = label(tool, setting, [case.line for case in cases])
    predictions = (by_lint if operands else by_check)(toolkit, setting, cases)
    for case, answer, predicted in zip(cases, answers, predictions, strict=True):
        tally = tallies.setdefault(_mnemonic(case.opcode), Tally())
        tally.asked += 1
        tally.accepted += answer.answer == "accept"
        tally.crashed += answer.answer == "crash"
        tally.legal += predicted.legal
        if predicted.answer == "unknown":
            tally.unpredicted += 1
        elif not _agree(predicted.answer, answer.answer, operands):
            rules = () if operands else _rules(toolkit, setting, case)
            tally.disagreements.append(
                Disagreement(
                    toolkit, setting.version, setting.target, case.line, predicted.answer, predicted.code,
                    rules, answer.answer, answer.message,
                )
            )
    return tallies


def by_check(toolkit: str, setting: Setting, cases: Sequence[Case]) -> list[Prediction]:
    """Each opcode judged by itself; in a kernel, with the findings that concern kernels only."""
    out: list[Prediction] = []
    for case in cases:
        entry = setting.context == "entry"
        verdict = check(case.opcode, sm=setting.target, ptx=setting.ptx, toolkit=toolkit, entry=entry)
        out.append(Prediction(verdict.ptxas.value, verdict.legal, verdict.code))
    return out


def _agree(predicted: str, answered: str, operands: bool) -> bool:
    if predicted == "unstable":  # memory corruption in the assembler: it crashes now and then
        return answered in ("accept", "crash")
    # With wrong operands, a crash on what is to be refused is the assembler's own affair.
    return predicted == answered or (operands and predicted == "reject" and answered == "crash")


def _rules(toolkit: str, setting: Setting, case: Case) -> tuple[str, ...]:
    entry = setting.context == "entry"
    verdict = check(case.opcode, sm=setting.target, ptx=setting.ptx, toolkit=toolkit, entry=entry)
    return tuple(rule.id for rule in verdict.rules)


def by_lint(toolkit: str, setting: Setting, cases: Sequence[Case]) -> list[Prediction]:
    """The module that the assembler is given, linted; an error on a line refuses it, a warning does not."""
    out = [Prediction("accept", True, "")] * len(cases)
    for start in range(0, len(cases), _PIECE):
        piece = [case.line for case in cases[start : start + _PIECE]]
        for finding in lint(module(setting, piece), "module.ptx", toolkit=toolkit).findings:
            index = finding.line - first_line(setting)
            if 0 <= index < len(piece) and out[start + index].answer == "accept":
                answer = "reject" if finding.severity == "error" else "accept"
                out[start + index] = Prediction(answer, False, finding.code)
    return out


def _mnemonic(text: str) -> str:
    return registry.words_of(re.split(r"[ ;]", re.sub(r"^@\S+\s+", "", text), maxsplit=1)[0])[0]


def grouped(found: Sequence[Disagreement]) -> list[tuple[int, Disagreement]]:
    """One example of each kind of disagreement with how often it was met, the most frequent first."""
    counts = Counter(one.group for one in found)
    examples: dict[object, Disagreement] = {}
    for one in found:
        known = examples.setdefault(one.group, one)
        if len(one.line) < len(known.line):
            examples[one.group] = one
    return [(count, examples[group]) for group, count in counts.most_common()]
