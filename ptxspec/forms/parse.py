"""From the text of an opcode to its integer, and back to canonical spelling."""

from __future__ import annotations

from ptxspec.diagnostics import Diagnostic, Note
from ptxspec.forms import registry
from ptxspec.forms.table import FormTable, Table

MAX_LENGTH = 400


class Parsed:
    """``mask``: the words that were understood; ``in_order``: they stand in canonical order; ``misplaced``: out of an
    order that the assembler insists on; ``code``: why not all were understood (``""``: they were), ``word`` being the
    culprit."""

    __slots__ = ("code", "in_order", "mask", "misplaced", "opcode", "table", "word")

    def __init__(
        self,
        opcode: str,
        table: Table | None,
        mask: int,
        in_order: bool,
        misplaced: bool = False,
        code: str = "",
        word: str = "",
    ) -> None:
        self.opcode, self.table, self.mask, self.in_order = opcode, table, mask, in_order
        self.misplaced, self.code, self.word = misplaced, code, word

    @property
    def problem(self) -> Diagnostic | None:
        """The refusal, ``None`` when every word was understood."""
        if not self.code:
            return None
        if self.table is None:
            return _no_table(self.opcode, self.word)
        if self.code == "F101":
            return unknown_word(self.table, self.word)
        return repeated(self.table, self.word, self.mask)


def parse(opcode: str) -> Parsed:
    """Read an opcode. Never raises; what is not understood has a ``problem``."""
    words = registry.words_of(opcode) if len(opcode) <= MAX_LENGTH else opcode.split(".")
    table = registry.find(words[0]) if len(opcode) <= MAX_LENGTH else None
    if table is None:
        known = len(opcode) <= MAX_LENGTH and _is_name(words[0])
        return Parsed(opcode, None, 0, False, False, "F002" if known else "F001", words[0])
    mask, last, in_order, misplaced = 0, 0, True, False
    positions: dict[int, int] = {}
    for word in words[1:]:
        pair = table.tokens.get(word)
        if pair is None:
            pairs = table.shared.get(word)
            if pairs is None:
                return Parsed(opcode, table, mask, False, False, "F101", word)
            # The k-th word of a group belongs to its k-th slot.
            key = pairs[0][1]
            position = positions.get(key, 0)
            positions[key] = position + 1
            if position >= len(pairs) or not pairs[position][0]:
                return Parsed(opcode, table, mask, False, False, "F102", word)
            pair = pairs[position]
        bit, slot = pair
        if mask & slot:
            return Parsed(opcode, table, mask, False, False, "F102", word)
        if bit < last:
            in_order = False
            misplaced = misplaced or bool(bit & table.placed and mask > bit)
        mask |= bit
        last = bit
    return Parsed(opcode, table, mask, in_order, misplaced)


def _is_name(mnemonic: str) -> bool:
    return mnemonic.replace("_", "").replace(".", "").isalnum() and mnemonic.isascii()


def _no_table(opcode: str, mnemonic: str) -> Diagnostic:
    if len(opcode) > MAX_LENGTH:
        return Diagnostic("F001", f"an opcode is at most {MAX_LENGTH} characters long")
    if not _is_name(mnemonic):
        return Diagnostic("F001", f"{opcode!r} is not an opcode")
    return registry.unknown_mnemonic(mnemonic)


def repeated(table: Table, word: str, mask: int) -> Diagnostic:
    """Two words for one qualifier, or more words of a group than it has places."""
    pair = table.tokens.get(word)
    if pair is None:
        return Diagnostic("F102", f"`.{word}` is one word too many in `{table.mnemonic}`")
    slot, first = table.names[mask & pair[1]]
    if first == word:
        return Diagnostic("F102", f"`.{word}` is written twice")
    return Diagnostic("F102", f"`.{first}` and `.{word}` are two words for the same qualifier, `{slot}`")


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
    for need in form.required:  # noqa: SIM110  (a generator costs more than the loop)
        if not mask & need:
            return False
    return True
