"""``ptxspec check``: is this opcode legal, by which rule, since when, and what is near it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ptxspec.cli.common import FINE, UNKNOWN, VIOLATED, Json, Ptx, Sm, Toolkit, finish, line, put_all

if TYPE_CHECKING:
    from ptxspec.forms.verdict import FormVerdict

NAME = "check"


def command(
    opcodes: Annotated[list[str], typer.Argument(metavar="OPCODE...|-", help="Opcodes; - reads one a line.")],
    sm: Sm = "sm_90", ptx: Ptx = None, toolkit: Toolkit = None, json: Json = False,
) -> None:
    """Judge opcodes for a target. Exit status 1 when one is not legal, 3 when a mnemonic is not in the database."""
    from ptxspec.forms.check import check_many
    worst = FINE
    verdicts = check_many(_lines(opcodes), sm=sm, ptx=ptx, toolkit=toolkit)

    def text() -> Iterator[str]:
        nonlocal worst
        for verdict in verdicts:
            if not verdict.legal and worst != VIOLATED:
                worst = UNKNOWN if verdict.code == "F002" else VIOLATED
            yield line(verdict.to_json()) if json else _plain(verdict)
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


def _plain(verdict: FormVerdict) -> str:
    if verdict.legal:
        return f"{verdict.opcode}: legal" if verdict.ptxas else \
            f"{verdict.opcode}: legal, but the assembler {_does(verdict)}"
    diagnostic = verdict.diagnostic
    assert diagnostic is not None
    tail = "" if verdict.ptxas.value == "reject" else f"\n  = fact: the assembler {_does(verdict)}"
    return diagnostic.render() + tail


def _does(verdict: FormVerdict) -> str:
    return {"accept": "accepts it", "reject": "rejects it", "crash": "crashes on it"}[verdict.ptxas.value]
