"""The shape of the generated tables. A spelling is an integer: one bit for each (slot, word), in canonical order.

Conditions over a spelling are then one or two mask operations, and words in canonical order have increasing bits.
Versions are integers: PTX 8.8 is 88.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

Predicate = Callable[[int], object]
# Expressions as nested tuples, see ptxspec.forms.evaluate.
Expression = int | str | bool | tuple["Expression", ...]


class SlotTable(NamedTuple):
    """One qualifier of a form: its bits together, what leaving it out means, and whether it must be written."""

    name: str
    mask: int
    absent: str
    required: bool


class RuleTable(NamedTuple):
    """``line``: the rule's place in the instruction's file; ``slots``: the bits of the slots that it looks at."""

    id: str
    why: str
    line: int
    slots: int


class FloorTable(NamedTuple):
    """One floor; ``text``: its condition in words; ``only``: the targets that have it (empty: all from ``sm``);
    ``until``: the first version without the form (0: none)."""

    when: Predicate | None
    ptx: int
    sm: int
    only: tuple[str, ...]
    until: int
    line: int
    text: str


class FindingTable(NamedTuple):
    """A difference of the assembler: the toolkits that show it, the rules it waives (bits), or what it does."""

    id: str
    toolkits: tuple[str, ...]
    when: Predicate | None
    waives: int
    floors: int
    admits: bool
    outcome: str
    context: str
    sm: int
    manual: str
    ptxas: str
    advice: str
    line: int


class ToleranceTable(NamedTuple):
    """What the assembler reads over in any form of the mnemonic: words written twice, words that it drops,
    words that it drops behind a type."""

    id: str
    toolkits: tuple[str, ...]
    repeats: frozenset[str]
    ignores: frozenset[str]
    later: frozenset[str]
    forms: tuple[str, ...]
    sm: int
    manual: str
    ptxas: str
    advice: str
    line: int


class RemarkTable(NamedTuple):
    """A finding as a reader sees it; ``about``: operand rules that it concerns, empty for spellings. ``outcome``: what
    the assembler does (``wrong-code``: it takes the line and generates code that computes something else); ``sm``: seen
    for targets from this one on."""

    id: str
    about: tuple[str, ...]
    toolkits: tuple[str, ...]
    outcome: str
    context: str
    measured: str
    manual: str
    ptxas: str
    advice: str
    line: int
    sm: int = 0


class OperandTable(NamedTuple):
    """One operand with unevaluated expressions."""

    name: str
    role: str
    kinds: tuple[str, ...]
    type: Expression
    lanes: Expression
    space: Expression
    classes: str
    sink: bool
    present: Predicate | None


class StepTable(NamedTuple):
    """One step of the semantics with unevaluated arguments."""

    do: str
    args: tuple[tuple[str, Expression], ...]
    when: Predicate | None


class ObligationTable(NamedTuple):
    """One proof goal with unevaluated arguments."""

    id: str
    prove: str
    at: str
    bytes: Expression
    to: Expression
    space: Expression
    access: str
    when: Predicate | None
    line: int


class FormTable(NamedTuple):
    """One form. ``broken(m)``: bits of the violated rules. ``floor(m)``: smallest (ptx, sm).
    ``smooth``: the assembler takes all legal spellings, outside and inside of kernels.
    ``waivable``: bits of rules, and ``lowered``: whether there are floors, that some assembler does not apply."""

    id: str
    line: int
    documented: bool
    slots: tuple[SlotTable, ...]
    allowed: int
    required: tuple[int, ...]
    rules: tuple[RuleTable, ...]
    broken: Callable[[int], int]
    floors: tuple[FloorTable, ...]
    floor: Callable[[int], tuple[int, int]]
    special: bool
    smooth: tuple[bool, bool]
    waivable: int
    lowered: bool
    findings: tuple[FindingTable, ...]
    operands: tuple[OperandTable, ...]
    steps: tuple[StepTable, ...]
    obligations: tuple[ObligationTable, ...]


class Table(NamedTuple):
    """One mnemonic. ``tokens``: word -> (bit, mask of its slot); ``shared``: words of several slots -> one pair for
    each position; ``names``: bit -> (slot, word). ``placed``: bits of words that the assembler wants before those that
    follow them in canonical order. ``complete``: the database has every form that the manual has; ``separate``: words
    that, right behind the mnemonic, make another instruction of it."""

    mnemonic: str
    file: str
    digest: str
    summary: str
    section: str
    complete: bool
    tokens: Mapping[str, tuple[int, int]]
    shared: Mapping[str, tuple[tuple[int, int], ...]]
    names: Mapping[int, tuple[str, str]]
    placed: int
    tolerances: tuple[ToleranceTable, ...]
    remarks: tuple[RemarkTable, ...]
    forms: tuple[FormTable, ...]
    accept: tuple[str, ...]
    reject: tuple[tuple[str, str], ...]
    separate: frozenset[str] = frozenset()


class ToolkitTable(NamedTuple):
    """An assembler release."""

    ptx: int
    targets: Mapping[str, int]


class SpecialTable(NamedTuple):
    """A special register: ``widths`` in bits that ``mov`` may read, its own last; ``parts``: components of a vector
    register (``%tid``), which is read through them."""

    type: str
    ptx: int
    sm: int
    widths: tuple[int, ...]
    parts: tuple[str, ...]


class VocabularyTable(NamedTuple):
    """Types as (bits, class, declarable as a register), words and machines."""

    types: Mapping[str, tuple[int, str, bool]]
    vectors: Mapping[str, int]
    spaces: Mapping[str, str]
    versions: tuple[int, ...]
    targets: Mapping[str, int]
    toolkits: Mapping[str, ToolkitTable]
    specials: Mapping[str, SpecialTable]
    sections: Mapping[str, str]


def bits_of(mask: int) -> list[int]:
    """The single bits of ``mask``, lowest first."""
    out = []
    while mask:
        low = mask & -mask
        out.append(low)
        mask ^= low
    return out
