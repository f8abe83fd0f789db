"""Instructions to ask about, drawn from the database's own tables: legal forms, their neighbours, and misspellings.

A spelling is the tables' integer: one bit for each word. Operands are chosen to fit the spelling, so that only the
opcode is in question; where a spelling leaves no type to fit them to, plain registers are written.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ptxspec.forms import registry
from ptxspec.forms.evaluate import Evaluator
from ptxspec.forms.parse import parse
from ptxspec.forms.table import FormTable, OperandTable, SlotTable, Table, bits_of

from .host import COUNT, PREFIXES, register, variable

_SPECIAL = {16: "%tid.x", 32: "%tid.x", 64: "%clock64"}


@dataclass(frozen=True, slots=True)
class Case:
    """One instruction: its opcode and the whole line, with operands and semicolon."""

    opcode: str
    line: str


def choices(slot: SlotTable) -> list[int]:
    """What may stand in a slot: each word's bit, and 0 for leaving it out where that is allowed."""
    return [*([] if slot.required else [0]), *bits_of(slot.mask)]


def size(form: FormTable) -> int:
    """Number of spellings of a form, legal or not."""
    return prod(len(choices(slot)) for slot in form.slots)


def spellings(form: FormTable) -> Iterator[int]:
    """Every spelling of a form, legal or not (can be tens of millions)."""
    domains = [choices(slot) for slot in form.slots]

    def extend(mask: int, depth: int) -> Iterator[int]:
        if depth == len(domains):
            yield mask
            return
        for bit in domains[depth]:
            yield from extend(mask | bit, depth + 1)

    return extend(0, 0)


def spell(table: Table, mask: int) -> str:
    """The opcode of a spelling in canonical order."""
    return ".".join([table.mnemonic, *(table.names[bit][1] for bit in bits_of(mask))])


def neighbours(form: FormTable, mask: int) -> Iterator[int]:
    """Every spelling of the form that differs from ``mask`` in exactly one slot."""
    for slot in form.slots:
        here = mask & slot.mask
        for bit in choices(slot):
            if bit != here:
                yield (mask & ~slot.mask) | bit


def case(table: Table, form: FormTable, mask: int) -> Case | None:
    """The spelling as an instruction with fitting operands; None where an operand of it cannot be written here."""
    opcode = spell(table, mask)
    operands = _operands(table, form, mask)
    return None if operands is None else Case(opcode, f"{opcode} {', '.join(operands)};" if operands else f"{opcode};")


def random_cases(mnemonic: str, count: int, source: random.Random) -> list[Case]:
    """``count`` instructions of a mnemonic: half with few qualifiers, where legal ones are dense, a third uniform over
    the whole product, the rest with words out of order, repeated, missing, foreign or unknown."""
    table = registry.table(mnemonic)
    weights = [min(size(form), 10_000) for form in table.forms]
    out: list[Case] = []
    while len(out) < count:
        form = source.choices(table.forms, weights)[0]
        kind = source.random()
        mask = _sparse(form, source) if kind < 0.55 else _uniform(form, source)
        drawn = case(table, form, mask)
        if drawn is not None:
            out.append(_disturb(table, drawn, source) if kind > 0.85 else drawn)
    return out


def fit(opcode: str) -> Case | None:
    """Any spelling, legal or not, as an instruction whose operands fit the first form that has its words."""
    parsed = parse(opcode)
    if parsed.table is None or parsed.problem is not None:
        return None
    for form in parsed.table.forms:
        if not parsed.mask & ~form.allowed and all(parsed.mask & slot for slot in form.required):
            fitted = case(parsed.table, form, parsed.mask)
            if fitted is not None:
                return Case(opcode, fitted.line.replace(fitted.opcode, opcode, 1))
    return None


def _uniform(form: FormTable, source: random.Random) -> int:
    return sum(source.choice(choices(slot)) for slot in form.slots)


def _sparse(form: FormTable, source: random.Random) -> int:
    rate = source.choice((0.1, 0.25, 0.4))
    mask = 0
    for slot in form.slots:
        if slot.required or source.random() < rate:
            mask |= source.choice(bits_of(slot.mask))
    return mask


def _disturb(table: Table, drawn: Case, source: random.Random) -> Case:
    words = registry.words_of(drawn.opcode)[1:]
    what = source.randrange(4)
    if what == 0 or not words:
        source.shuffle(words)
    elif what == 1:
        words.insert(source.randrange(len(words) + 1), source.choice(words))
    elif what == 2:
        words.insert(source.randrange(len(words) + 1), source.choice(_foreign()))
    else:
        del words[source.randrange(len(words))]
    opcode = ".".join([table.mnemonic, *words])
    parsed = parse(opcode)
    if registry.words_of(opcode)[0] != table.mnemonic:
        return drawn  # `st.async` is another instruction than `st`
    if what == 2 and parsed.problem is not None and parsed.problem.code == "F102":
        return drawn  # two different words for one qualifier: which of them the operands should fit, nobody can say
    return fit(opcode) or Case(opcode, drawn.line.replace(drawn.opcode, opcode, 1))


@functools.cache
def _foreign() -> list[str]:
    words = {word for name in registry.mnemonics() for word in registry.table(name).tokens}
    return [*sorted(words), "v3", "v16", "b256", "L2::32B", "L1::no_such", "ci", "foo", "f16x4"]


def _operands(table: Table, form: FormTable, mask: int) -> list[str] | None:
    written = dict(table.names[bit] for bit in bits_of(mask))
    values = {slot.name: written.get(slot.name, slot.absent) for slot in form.slots}
    evaluator = Evaluator(registry.vocabulary(), values, written, {})
    out: list[str] = []
    for position, operand in enumerate(form.operands):
        if operand.present is not None and not operand.present(mask):
            continue
        text = _operand(operand, evaluator, 8 * position % COUNT)
        if text is None:
            return None
        out.append(text)
    return out


def _operand(operand: OperandTable, evaluator: Evaluator, first: int) -> str | None:
    kind = operand.kinds[0]
    if kind == "label":
        return "LAST"
    try:
        lanes = _lanes(operand, evaluator)
        space = evaluator.word(operand.space) or "generic"
        type_ = evaluator.type(operand.type, lanes) or "b32"
    except KeyError:  # the spelling lacks the word that would say
        lanes, space, type_ = 1, "generic", "b32"
    width = evaluator.vocabulary.types.get(type_, (32, "", True))[0]
    match kind:
        case "register" if type_ in PREFIXES:
            one = [register(type_, first + lane) for lane in range(lanes)]
            return one[0] if lanes == 1 else "{" + ", ".join(one) + "}"
        case "vector" if type_ in PREFIXES:
            return "{" + ", ".join(register(type_, first + lane) for lane in range(lanes)) + "}"
        case "address":
            return f"[{register('b64', first)}]"
        case "immediate":
            return "0"  # the only one that stands alone is the zero of st.bulk
        case "predicate":
            return register("pred", first)
        case "special":
            return _SPECIAL.get(width)
        case "symbol":
            # An address of 32 bits exists for the windowed spaces only.
            return variable("global" if width == 64 else "shared" if space == "generic" else space)
        case _:
            return None


def _lanes(operand: OperandTable, evaluator: Evaluator) -> int:
    lanes = operand.lanes
    if isinstance(lanes, tuple) and lanes[0] == "one-of" and isinstance(lanes[1], int):
        return lanes[1]  # any of these group sizes would do
    return evaluator.integer(lanes)
