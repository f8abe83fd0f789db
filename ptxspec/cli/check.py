"""``ptxspec check``: is this opcode legal, by which rule, since when, and what is near it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ptxspec.cli.common import FINE, UNKNOWN, VIOLATED, Json, Ptx, Sm, Toolkit, finish, line, put_all

if TYPE_CHECKING:
    from ptxspec.forms.verdict import FormVerdict


def command(
    opcodes: Annotated[list[str], typer.Argument(metavar="OPCODE...|-", help="Opcodes; - reads one a line.")],
    sm: Sm = "sm_90", ptx: Ptx = None, toolkit: Toolkit = None, json: Json = False,
    why: Annotated[bool, typer.Option("--why", help="Also the smallest conflict of words and rules, by the "
                                      "solver.")] = False,
) -> None:
    """Judge opcodes for a target. Exit status 1 when one is not legal, 3 when a mnemonic is not in the database.

    A list read from standard input gets one line each; name the opcode, or ask for --json, to see why.
    """
    from ptxspec.forms.check import check_many
    worst = FINE
    bulk = "-" in opcodes and not json
    verdicts = check_many(_lines(opcodes), sm=sm, ptx=ptx, toolkit=toolkit)

    def text() -> Iterator[str]:
        nonlocal worst
        for verdict in verdicts:
            if verdict.legal:
                yield line(verdict.to_json()) if json else _legal(verdict)
                continue
            if worst != VIOLATED:
                worst = UNKNOWN if verdict.code == "F002" else VIOLATED
            if json:
                yield line(verdict.to_json())
            elif bulk and not why:
                yield _short(verdict)
            else:
                yield _whole(verdict) + (_conflict(verdict.opcode, sm, ptx) if why else "")
    put_all(text())
    finish(worst)


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


def _short(verdict: FormVerdict) -> str:
    """One line for long lists: the explanation of one opcode costs more than judging a hundred."""
    said = "" if verdict.ptxas.value == "reject" else f", the assembler {_does(verdict)}"
    return f"{verdict.opcode}: not legal [{verdict.code}]{said}"


def _whole(verdict: FormVerdict) -> str:
    diagnostic = verdict.diagnostic
    assert diagnostic is not None
    tail = "" if verdict.ptxas.value == "reject" else f"\n  = fact: the assembler {_does(verdict)}"
    return diagnostic.render() + tail


def _conflict(opcode: str, sm: str, ptx: str | None) -> str:
    from ptxspec.db.explain import notes
    return "".join("\n  = {}: {}".format(n.kind, n.text.replace("\n", "\n      ")) for n in notes(opcode, sm, ptx))


def _does(verdict: FormVerdict) -> str:
    return {"accept": "accepts it", "reject": "rejects it", "crash": "crashes on it"}[verdict.ptxas.value]
