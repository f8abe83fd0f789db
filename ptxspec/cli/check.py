"""``ptxspec check``: is this opcode legal, by which rule, since when, and what is near it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ptxspec.cli.common import FINE, UNKNOWN, VIOLATED, Json, Ptx, Sm, Toolkit, finish, line, put

if TYPE_CHECKING:
    from ptxspec.forms.verdict import FormVerdict

# Characters of standard input that are answered at once.
_PIECE = 1 << 18


def command(
    opcodes: Annotated[list[str], typer.Argument(metavar="OPCODE...|-", help="Opcodes; - reads one a line.")],
    sm: Sm = "sm_90", ptx: Ptx = None, toolkit: Toolkit = None, json: Json = False,
    why: Annotated[bool | None, typer.Option("--why/--no-why", help="Also the smallest conflict of words and rules, by "
                                             "the solver; the default for one opcode.")] = None,
) -> None:
    """Judge opcodes for a target. Exit status 1 when one is not legal, 3 when the database cannot say: it does not
    have the mnemonic, or not all of its forms.

    A list read from standard input gets one line each, with the reason in a few words (and with --json without
    the nearest legal forms); name the opcode to see all of it.
    """
    from ptxspec.forms.target import machine
    machine(sm, ptx, toolkit)
    if "-" in opcodes and not why:
        finish(_many(opcodes, sm, ptx, toolkit, json))
    from ptxspec.forms.check import check_many
    worst = FINE
    alone = why if why is not None else len(opcodes) == 1
    for verdict in check_many(_lines(opcodes), sm=sm, ptx=ptx, toolkit=toolkit):
        if not verdict.legal and worst != VIOLATED:
            worst = UNKNOWN if verdict.ptxas.value == "unknown" else VIOLATED
        if json:
            put(line(verdict.to_json()))
        elif verdict.legal:
            put(_legal(verdict))
        else:
            # A floor names all there is to it; what cannot stand together is the solver's to find.
            put(_whole(verdict) + (_conflict(verdict.opcode, sm, ptx) if alone and verdict.code != "F301" else ""))
    finish(worst)


def _many(opcodes: list[str], sm: str, ptx: str | None, toolkit: str | None, json: bool) -> int:
    """Answer the named opcodes and those of standard input, a large piece at a time. Returns the exit status."""
    from ptxspec.forms.bulk import Bulk
    from ptxspec.forms.target import machine
    bulk = Bulk(machine(sm, ptx, toolkit), json=json)

    def answer(rows: list[str]) -> None:
        lines = bulk.lines(rows)
        if lines:
            sys.stdout.write("\n".join(lines) + "\n")
    for opcode in opcodes:
        if opcode != "-":
            answer([opcode])
            continue
        while rows := sys.stdin.readlines(_PIECE):
            answer([row for text in rows if (row := text.strip()) and not row.startswith(("#", "//"))])
    return VIOLATED if bulk.illegal else UNKNOWN if bulk.unknown else FINE


def _lines(opcodes: list[str]) -> Iterator[str]:
    for opcode in opcodes:
        if opcode != "-":
            yield opcode
            continue
        for row in sys.stdin:
            row = row.strip()
            if row and not row.startswith(("#", "//")):
                yield row


def _legal(verdict: FormVerdict) -> str:
    text = f"{verdict.opcode}: legal"
    return text if verdict.ptxas else f"{text}, but the assembler {_does(verdict)}"


def _whole(verdict: FormVerdict) -> str:
    diagnostic = verdict.diagnostic
    assert diagnostic is not None
    tail = "" if verdict.ptxas.value in ("reject", "unknown") else f"\n  = fact: the assembler {_does(verdict)}"
    return diagnostic.render() + tail + "".join(f"\n  = help: {text}" for text in _slips(verdict.opcode))


def _slips(given: str) -> Iterator[str]:
    """What was probably meant, where more or less than an opcode was given."""
    words = given.split()
    opcode = next((w for w in words if not w.startswith("@")), "").rstrip(";,")
    if opcode and opcode != given:
        yield f"an opcode is the first word of an instruction, without operands: `{opcode}`; ptxspec lint judges lines"
    if opcode.partition(".")[0].isupper():
        lower = opcode.lower().replace("l1::", "L1::").replace("l2::", "L2::")
        yield f"PTX is written in lower case: `{lower}`"


def _conflict(opcode: str, sm: str, ptx: str | None) -> str:
    from ptxspec.db.explain import notes
    return "".join("\n  = {}: {}".format(n.kind, n.text.replace("\n", "\n      ")) for n in notes(opcode, sm, ptx))


def _does(verdict: FormVerdict) -> str:
    from ptxspec.forms.bulk import DOES
    return DOES[verdict.ptxas.value]
