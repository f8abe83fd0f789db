"""The database's prediction beside the assembler's answer, for each instruction."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from ptxspec.forms import check

from ..assemble import Toolchain
from .draw import Case
from .host import Setting
from .label import label

_TOKEN = re.compile(r"'[^']*'|\d+")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One instruction on which they differ. ``code`` and ``rules`` are the database's reasons, ``message`` the tool's.

    ``predicted`` and ``answered`` are ``accept``, ``reject`` or ``crash``.
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
    """Counts for one mnemonic under one setting."""

    asked: int = 0
    accepted: int = 0
    crashed: int = 0
    legal: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {**asdict(self), "disagreements": [asdict(found) for found in self.disagreements]}


def compare(toolkit: str, tool: Toolchain, setting: Setting, cases: Sequence[Case]) -> dict[str, Tally]:
    """Ask ``tool`` about every case and hold the database's prediction for ``toolkit`` against it, by mnemonic."""
    tallies: dict[str, Tally] = {}
    answers = label(tool, setting, [case.line for case in cases])
    for case, answer in zip(cases, answers, strict=True):
        verdict = check(case.opcode, sm=setting.target, ptx=setting.ptx, toolkit=toolkit)
        predicted = verdict.ptxas.value
        tally = tallies.setdefault(_mnemonic(case.opcode), Tally())
        tally.asked += 1
        tally.accepted += answer.answer == "accept"
        tally.crashed += answer.answer == "crash"
        tally.legal += verdict.legal
        if predicted != answer.answer:
            rules = tuple(rule.id for rule in verdict.rules)
            tally.disagreements.append(
                Disagreement(
                    toolkit, setting.version, setting.target, case.line, predicted, verdict.code, rules,
                    answer.answer, answer.message,
                )
            )
    return tallies


def _mnemonic(text: str) -> str:
    return re.split(r"[. ;]", text, maxsplit=1)[0]


def grouped(found: Sequence[Disagreement]) -> list[tuple[int, Disagreement]]:
    """One example of each kind of disagreement with how often it was met, the most frequent first."""
    counts = Counter(one.group for one in found)
    examples: dict[object, Disagreement] = {}
    for one in found:
        known = examples.setdefault(one.group, one)
        if len(one.line) < len(known.line):
            examples[one.group] = one
    return [(count, examples[group]) for group, count in counts.most_common()]
