"""Verdicts as lines of text or JSON, for many opcodes: hundreds of thousands a second on one core.

Spellings whose words no condition can tell apart (:mod:`ptxspec.forms.alike`) have one verdict, so the line of a
spelling is what was worked out for the first of its class, with the words put in. Two things are left out for speed:
``nearest`` is always ``[]`` (finding legal neighbours costs a thousand times the verdict; ask for one opcode to get
them), and a text line has the reason in one sentence.
"""

from __future__ import annotations

import json as _json
from collections.abc import Iterable
from typing import NamedTuple

from ptxspec.forms import registry
from ptxspec.forms.alike import alike
from ptxspec.forms.check import _judge
from ptxspec.forms.parse import MAX_LENGTH, parse, spell
from ptxspec.forms.table import Table
from ptxspec.forms.target import Machine
from ptxspec.forms.verdict import FormVerdict, Outcome

DOES = {
    "accept": "accepts it",
    "reject": "rejects it",
    "crash": "crashes on it",
    "unstable": "crashes on it now and then",
    "unknown": "may take it or not: the database does not have all forms",
}


class _Words(NamedTuple):
    """What a mnemonic's spellings are read with; ``lines``: class and order of a spelling -> the parts of its line."""

    table: Table
    tokens: dict[str, tuple[int, int, int]]
    lines: dict[tuple[int, int], tuple[str, str, bool]]


class Bulk:
    """Answers for one machine. ``illegal`` and ``unknown`` say whether such an opcode was among those asked so far
    (``unknown``: a mnemonic that the database does not have, or words of a mnemonic that it does not have whole)."""

    def __init__(self, here: Machine, *, json: bool = False) -> None:
        self.here, self.json = here, json
        self.illegal = self.unknown = False
        self._words: dict[str, _Words] = {}
        self._rules: dict[tuple[str, str, int], str] = {}

    def lines(self, opcodes: Iterable[str]) -> list[str]:
        """One line (without its end) for each opcode."""
        out: list[str] = []
        add, known, json = out.append, self._words.get, self.json
        for opcode in opcodes:
            words = opcode.split(".")
            found = known(words[0])
            if found is None:
                add(self._first(opcode, words[0]))
                continue
            get = found.tokens.get
            mask = seen = last = spelling = order = 0
            for word in words[1:]:
                bit, slot, same = get(word, _NOTHING)
                if seen & slot or not bit:
                    add(self._refused(found.table, opcode, word, mask & slot))
                    break
                mask |= bit
                if bit < last:
                    order |= 3 if bit & found.table.placed else 1
                seen |= slot
                spelling |= same
                last = bit
            else:
                parts = found.lines.get((spelling, order))
                if parts is None:
                    if len(opcode) > MAX_LENGTH:
                        add(self._whole(opcode))
                        continue
                    parts = self._learn(found, opcode, spelling, order)
                middle, tail, respelled = parts
                if json:
                    # Known words need no escaping.
                    canonical = (spell(found.table, mask) if order else opcode) if respelled else ""
                    add(f'{{"opcode":"{opcode}{middle}{canonical}{tail}')
                elif respelled:
                    add(f"{opcode}{middle}{spell(found.table, mask)}{tail}")
                else:
                    add(f"{opcode}{middle}")
        return out

    def _first(self, opcode: str, mnemonic: str) -> str:
        """The line of the first opcode of a mnemonic."""
        table = registry.find(mnemonic)
        if table is None:
            return self._whole(opcode)
        self._words[mnemonic] = _Words(table, alike(table).tokens, {})
        return self.lines((opcode,))[0]

    def _learn(self, words: _Words, opcode: str, spelling: int, order: int) -> tuple[str, str, bool]:
        """(what follows the opcode, the rest, whether the canonical spelling stands between them)."""
        verdict = self._judged(opcode)
        if self.json:
            parts = self._json_parts(words.table, verdict)
        elif verdict.code == "F105":
            parts = (": not legal [F105] write ", _assembler(verdict), True)
        else:
            parts = (_said(verdict), "", False)
        if len(words.lines) >= _MOST:
            words.lines.clear()
        words.lines[spelling, order] = parts
        return parts

    def _json_parts(self, table: Table, verdict: FormVerdict) -> tuple[str, str, bool]:
        """The object of :meth:`FormVerdict.to_json` around the opcode and its canonical spelling."""
        judgement = verdict.judgement
        form, mask = judgement.form, judgement.parsed.mask
        legal = "true" if verdict.legal else "false"
        rules, floor = "[]", "null"
        if form is not None:
            if judgement.broken:
                key = (table.mnemonic, form.id, judgement.broken)
                rules = self._rules.get(key) or self._rules.setdefault(key, _dump(
                    [{"id": r.id, "why": r.why, "spec": r.spec} for r in judgement.rules()]))
            if form.special:
                needs = judgement.floor()
                floor = _dump(needs.to_json() if needs else None)
            else:
                ptx, sm = form.floor(mask)
                floor = f'{{"ptx":"{ptx // 10}.{ptx % 10}","sm":{sm}}}'
        return (
            f'","legal":{legal},"ptxas":"{verdict.ptxas.value}","canonical":"',
            f'","code":"{verdict.code}","rules":{rules},"floor":{floor},"nearest":[]}}',
            form is not None,
        )

    def _whole(self, opcode: str) -> str:
        """The line of an opcode with words that are not understood, or with too many of them."""
        verdict = self._judged(opcode)
        if self.json:
            return _dump(verdict.to_json(nearest=False))
        return f"{opcode}{_said(verdict)}"

    def _refused(self, table: Table, opcode: str, word: str, other: int) -> str:
        """The line of an opcode with a word that no form has, or with a second word for the qualifier of ``other``."""
        if not table.complete or table.tolerances or table.shared or word in table.separate or len(opcode) > MAX_LENGTH:
            return self._whole(opcode)
        self.illegal = True
        code = "F102" if other else "F101"
        if self.json:
            return f'{{"opcode":{_json.dumps(opcode)},{_REFUSED}"{code}","rules":[],"floor":null,"nearest":[]}}'
        if not other:
            return f"{opcode}: not legal [F101] {_unknown(word)}"
        first = table.names[other][1]
        if first == word:
            return f"{opcode}: not legal [F102] .{word} is written twice"
        return f"{opcode}: not legal [F102] .{first} and .{word} are two words for one qualifier"

    def _judged(self, opcode: str) -> FormVerdict:
        verdict = _judge(opcode, self.here, False)
        if verdict.ptxas is Outcome.UNKNOWN:
            self.unknown = True
        elif not verdict.legal:
            self.illegal = True
        return verdict


_REFUSED = '"legal":false,"ptxas":"reject","canonical":"","code":'
_NOTHING = (0, 0, 0)
_MOST = 1 << 17


def _dump(value: object) -> str:
    return _json.dumps(value, separators=(",", ":"))


def _assembler(verdict: FormVerdict) -> str:
    """What the assembler does, where the verdict does not let one expect it."""
    if verdict.ptxas.value == ("accept" if verdict.legal else "reject"):
        return ""
    return f", {'but ' if verdict.legal else ''}the assembler {DOES[verdict.ptxas.value]}"


def _said(verdict: FormVerdict) -> str:
    """What follows the opcode in a line of text; the same for all spellings of a class, up to unknown words."""
    if verdict.legal:
        return f": legal{_assembler(verdict)}"
    if verdict.ptxas is Outcome.UNKNOWN:
        lacks = "" if verdict.code == "F002" else ", but the database does not have all forms"
        return f": not judged [{verdict.code}] {_reason(verdict)}{lacks}"
    return f": not legal [{verdict.code}] {_reason(verdict)}{_assembler(verdict)}"


def _unknown(word: str) -> str:
    return f"there is no word .{word}" if word else "a word is missing between two points"


def _reason(verdict: FormVerdict) -> str:
    code, judgement = verdict.code, verdict.judgement
    if code == "F201":
        return judgement.rules()[0].why
    if code in ("F301", "F302", "F303"):
        return f"needs {judgement.floor()}"
    if code == "F101":
        return _unknown(parse(verdict.opcode).word)
    if code == "F105":
        return f"write {judgement.canonical()}"
    if code == "F002":
        return "the database has no such instruction"
    if code == "F103":
        return f"its {judgement.diagnostic().message.rsplit(' ', 1)[1]} is missing"
    if code == "F104":
        return "no form has these words together"
    return judgement.diagnostic().message


__all__ = ["DOES", "Bulk"]
