"""Verdicts as lines of text or JSON, for many opcodes: hundreds of thousands a second on one core.

The nearest legal forms are left out unless they are asked for: finding them costs a thousand times the verdict.
"""

from __future__ import annotations

import json as _json
from collections.abc import Iterable, Iterator
from functools import cache

from ptxspec.forms import registry
from ptxspec.forms.check import judge
from ptxspec.forms.parse import fits
from ptxspec.forms.table import FormTable, Table
from ptxspec.forms.target import Machine
from ptxspec.forms.verdict import Floor, FormVerdict

_quote = _json.dumps


def text_lines(opcodes: Iterable[str], here: Machine) -> Iterator[tuple[str, FormVerdict]]:
    """One line for each opcode: ``OPCODE: legal``, or ``OPCODE: not legal [CODE] sentence``."""
    for opcode in opcodes:
        verdict = judge(opcode, here)
        if verdict.legal:
            yield (
                f"{opcode}: legal" if verdict.ptxas else f"{opcode}: legal; the assembler: {verdict.ptxas.value}",
                verdict,
            )
        else:
            tail = "" if verdict.ptxas.value == "reject" else f"; the assembler: {verdict.ptxas.value}"
            yield f"{opcode}: not legal [{verdict.code}] {_reason(verdict)}{tail}", verdict


def _reason(verdict: FormVerdict) -> str:
    found = _form(verdict) if verdict.code in ("F201", "F301") else None
    if found is None:
        return verdict.judgement.diagnostic().message
    form, mask, _ = found
    if verdict.code == "F301":
        return f"needs {_floor_text(*form.floor(mask))}"
    broken = form.broken(mask)
    return form.rules[(broken & -broken).bit_length() - 1].why


def _form(verdict: FormVerdict) -> tuple[FormTable, int, Table] | None:
    """The one form that has these words, its mask and its table; ``None`` where only the long way tells."""
    opcode = verdict.opcode
    table = registry.find(opcode.split(".", 1)[0])
    if table is None or table.shared:
        return None
    mask = last = 0
    for word in opcode.split(".")[1:]:
        bit, slot = table.tokens.get(word, (0, 0))
        if bit <= last or mask & slot:
            return None
        mask |= bit
        last = bit
    forms = [f for f in table.forms if fits(f, mask)]
    return None if len(forms) != 1 or forms[0].special else (forms[0], mask, table)


def json_lines(opcodes: Iterable[str], here: Machine, *, nearest: bool = False) -> Iterator[tuple[str, FormVerdict]]:
    """One JSON object for each opcode, as :meth:`FormVerdict.to_json` has it."""
    for opcode in opcodes:
        verdict = judge(opcode, here)
        found = None if nearest and not verdict.legal else _form(verdict)
        if found is None or verdict.code not in ("", "F201", "F301"):
            yield _quote(verdict.to_json(nearest=nearest), separators=(",", ":")), verdict
            continue
        # Every word is known and in order, so nothing needs escaping.
        form, mask, table = found
        legal = "true" if verdict.legal else "false"
        rules = "[]" if verdict.legal else _rules(form, form.broken(mask), table.file)
        yield (
            (
                f'{{"opcode":"{opcode}","legal":{legal},"ptxas":"{verdict.ptxas.value}","canonical":"{opcode}",'
                f'"code":"{verdict.code}","rules":{rules},"floor":{_floor(*form.floor(mask))},"nearest":[]}}'
            ),
            verdict,
        )


@cache
def _floor(ptx: int, sm: int) -> str:
    return f'{{"ptx":"{ptx // 10}.{ptx % 10}","sm":{sm}}}'


_texts: dict[tuple[int, int], str] = {}


def _floor_text(ptx: int, sm: int) -> str:
    found = _texts.get((ptx, sm))
    if found is None:
        found = _texts[ptx, sm] = str(Floor((ptx // 10, ptx % 10), sm))
    return found


_rule_texts: dict[tuple[str, str, int], str] = {}


def _rules(form: FormTable, broken: int, file: str) -> str:
    key = (file, form.id, broken)
    found = _rule_texts.get(key)
    if found is None:
        rules = [
            {"id": r.id, "why": r.why, "spec": f"{file}:{r.line}"} for i, r in enumerate(form.rules) if broken >> i & 1
        ]
        found = _rule_texts[key] = _quote(rules, separators=(",", ":"))
    return found
