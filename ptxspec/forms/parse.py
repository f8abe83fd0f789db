"""From the text of an opcode to its integer, and back to canonical spelling."""

from __future__ import annotations

from dataclasses import dataclass

from ptxspec.diagnostics import Diagnostic, Note
from ptxspec.forms import registry
from ptxspec.forms.table import FormTable, Table

MAX_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Parsed:
    """``mask``: the words that were understood; ``in_order``: they stand in canonical order; ``problem``: why not all;
    ``misplaced``: out of an order that the assembler insists on."""

    table: Table | None
    mask: int
    in_order: bool
    problem: Diagnostic | None
    misplaced: bool = False


def parse(opcode: str) -> Parsed:
    """Read an opcode. Never raises; what is not understood is a ``problem``."""
    words = opcode.split(".")
    table = registry.find(words[0]) if len(opcode) <= MAX_LENGTH else None
    if table is None:
        return Parsed(None, 0, False, _no_table(opcode, words[0]))
    mask, last, in_order, misplaced = 0, 0, True, False
    positions: dict[int, int] = {}
    for word in words[1:]:
        pair = table.tokens.get(word)
        if pair is None:
            pairs = table.shared.get(word)
            if pairs is None:
                return Parsed(table, mask, False, unknown_word(table, word))
            # The k-th word of a group belongs to its k-th slot.
            key = pairs[0][1]
            position = positions.get(key, 0)
            positions[key] = position + 1
            if position >= len(pairs) or not pairs[position][0]:
                return Parsed(
                    table, mask, False, Diagnostic("F102", f"`.{word}` is one word too many in `{table.mnemonic}`")
                )
            pair = pairs[position]
        bit, slot = pair
        if mask & slot:
            return Parsed(table, mask, False, repeated(table, word, mask & slot))
        if bit < last:
            in_order = False
            misplaced = misplaced or bool(bit & table.placed and mask > bit)
        mask |= bit
        last = bit
    return Parsed(table, mask, in_order, None, misplaced)


def _no_table(opcode: str, mnemonic: str) -> Diagnostic:
    if len(opcode) > MAX_LENGTH:
        return Diagnostic("F001", f"an opcode is at most {MAX_LENGTH} characters long")
    if not mnemonic.replace("_", "").isalnum() or not mnemonic.isascii():
        return Diagnostic("F001", f"{opcode!r} is not an opcode")
    return registry.unknown_mnemonic(mnemonic)


def repeated(table: Table, word: str, already: int) -> Diagnostic:
    """Two words for one qualifier."""
    first = table.names[already][1]
    if first == word:
        return Diagnostic("F102", f"`.{word}` is written twice")
    return Diagnostic(
        "F102", f"`.{first}` and `.{word}` are two words for the same qualifier, `{table.names[already][0]}`"
    )


def unknown_word(table: Table, word: str) -> Diagnostic:
    """A word that no form of the mnemonic has; close ones are offered."""
    import difflib

    known = [*table.tokens, *table.shared]
    close = difflib.get_close_matches(word, known, 3, 0.6)
    if not close and "::" not in word:
        close = [k for k in known if k.endswith(f"::{word}")]
    notes = [Note("help", "close: " + ", ".join(f".{c}" for c in close))] if close else []
    slots = {name for name, _ in table.names.values()}
    if "type" in slots and not close:
        types = [
            k
            for k in known
            if (table.tokens.get(k) or table.shared[k][0])[0] and _slot(table, k) in ("type", "dtype", "atype")
        ]
        notes.append(Note("help", "types of this instruction: " + " ".join(types)))
    return Diagnostic(
        "F101",
        f"`{table.mnemonic}` has no word `.{word}`" if word else "a word is missing between two points",
        notes=tuple(notes),
    )


def _slot(table: Table, word: str) -> str:
    pair = table.tokens.get(word) or table.shared[word][0]
    return table.names[pair[0]][0]


def words_of(table: Table, mask: int) -> list[tuple[str, str]]:
    """(slot, word) pairs of a spelling, in canonical order."""
    out: list[tuple[str, str]] = []
    while mask:
        bit = mask & -mask
        out.append(table.names[bit])
        mask ^= bit
    return out


def spell(table: Table, mask: int) -> str:
    """The canonical spelling."""
    return ".".join([table.mnemonic, *(word for _, word in words_of(table, mask))])


def mask_of(table: Table, slots: dict[str, str]) -> int | None:
    """The integer of slot values, ``None`` when a slot or word does not exist."""
    wanted = dict(slots)
    mask = 0
    for bit, (slot, word) in table.names.items():
        if wanted.get(slot) == word:
            mask |= bit
            del wanted[slot]
    return None if wanted else mask


def fits(form: FormTable, mask: int) -> bool:
    """Whether the form has all these words and none of its own necessary ones is missing."""
    if mask & ~form.allowed:
        return False
    return all(mask & need for need in form.required)
