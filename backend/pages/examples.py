"""Three legal and three illegal spellings of a mnemonic, with the reason of each refusal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ptxspec.forms.check import no_form
from ptxspec.forms.parse import spell
from ptxspec.forms.registry import words_of
from ptxspec.forms.table import FormTable, Table

from .facts import Facts
from .markdown import code, floor, place, table
from .meaning import explained

WANTED = 3


@dataclass(frozen=True, slots=True)
class Illegal:
    """A spelling, its code, the reason, and the rule's place (0: none)."""

    opcode: str
    code: str
    why: str
    line: int


def mask_of(instruction: Table, opcode: str) -> int | str:
    """The integer of an opcode, or the first word that the mnemonic does not have or cannot have twice."""
    mask, positions = 0, dict[int, int]()
    for word in words_of(opcode)[1:]:
        pair = instruction.tokens.get(word)
        if pair is None:
            pairs = instruction.shared.get(word, ())
            position = positions.get(pairs[0][1], 0) if pairs else 0
            if position >= len(pairs) or not pairs[position][0]:
                return word
            positions[pairs[0][1]] = position + 1
            pair = pairs[position]
        if mask & pair[1]:
            return word
        mask |= pair[0]
    return mask


def legal(instruction: Table, facts: Facts) -> list[tuple[str, tuple[int, int]]]:
    """Up to three legal opcodes with their floors: the file's own examples, then the plainest spellings."""
    written = [text.split(" ")[0].rstrip(";") for text in instruction.accept]
    texts = dict.fromkeys([*written, *(spell(instruction, mask) for mask in facts.plain)])
    out = []
    for opcode in texts:
        mask = mask_of(instruction, opcode)
        if isinstance(mask, int):
            form = next((f for f in instruction.forms if _takes(f, mask) and f.documented and not f.broken(mask)), None)
            if form is not None and spell(instruction, mask) == opcode:
                out.append((opcode, form.floor(mask)))
    return out[:WANTED]


def illegal(instruction: Table, facts: Facts) -> list[Illegal]:
    """Up to three illegal opcodes: the file's own examples with different reasons, then made ones."""
    found: dict[str, Illegal] = {}
    reasons: set[str] = set()
    texts = [t for t in (*(t for t, _ in instruction.reject), *_made(instruction, facts)) if " " not in t]
    for fresh in (True, False):
        for text in texts:
            case = judge(instruction, text)
            reason = str(case.line or case.code) if case else ""
            if case is not None and text not in found and len(found) < WANTED and not (fresh and reason in reasons):
                reasons.add(reason)
                found[text] = case
    return list(found.values())


def judge(instruction: Table, opcode: str) -> Illegal | None:
    """Why the opcode is illegal on every target, ``None`` when it is not."""
    mask = mask_of(instruction, opcode)
    if isinstance(mask, str):
        known = mask in instruction.tokens or mask in instruction.shared
        why = f"`.{mask}` is one word too many" if known else f"`{instruction.mnemonic}` has no word `.{mask}`"
        return Illegal(opcode, "F102" if known else "F101", why, 0)
    fitting = [f for f in instruction.forms if _takes(f, mask)]
    if not fitting:
        problem = no_form(instruction, mask)
        return Illegal(opcode, problem.code, problem.message.replace(f"`{opcode}`", "it"), 0)
    documented = [f for f in fitting if f.documented]
    if not documented:
        return Illegal(opcode, "F106", "the manual has no such form", fitting[0].line)
    broken = [(f, f.broken(mask)) for f in documented]
    if all(bits for _, bits in broken):
        form, bits = broken[0]
        rule = next(r for i, r in enumerate(form.rules) if bits >> i & 1)
        return Illegal(opcode, "F201", rule.why, rule.line)
    if spell(instruction, mask) != opcode:
        return Illegal(opcode, "F105", f"out of order; the manual writes `{spell(instruction, mask)}`", 0)
    return None


def _takes(form: FormTable, mask: int) -> bool:
    return not mask & ~form.allowed and all(mask & need for need in form.required)


def _made(instruction: Table, facts: Facts) -> Iterator[str]:
    """Spellings next to legal ones: a word of another instruction, a word twice, a word too few."""
    plain = spell(instruction, facts.plain[0]) if facts.plain else instruction.mnemonic
    yield f"{plain}.v3"
    words = words_of(plain)
    if len(words) > 1:
        yield f"{plain}.{words[-1]}"
        yield ".".join(words[:-1])
    yield f"{instruction.mnemonic}.f8" + plain.removeprefix(instruction.mnemonic)


def section(instruction: Table, facts: Facts) -> list[str]:
    """Both tables."""
    refused = [
        (code(c.opcode), c.why, explained(c.code), place(instruction.file, c.line) if c.line else "")
        for c in illegal(instruction, facts)
    ]
    return [
        *table(("legal", "needs"), [(code(opcode), floor(pair)) for opcode, pair in legal(instruction, facts)]),
        *table(("illegal everywhere", "because", "code", "specs"), refused),
        "Illegal by the manual, on every target. Assemblers read over the order of most words (F105), and over more:",
        "see above.",
        "",
    ]
