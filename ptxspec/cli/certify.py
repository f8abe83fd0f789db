"""``ptxspec certify``: the database's predictions against real assemblers."""

from __future__ import annotations

import typer

from ptxspec.cli.common import finish


def command(context: typer.Context) -> None:
    """Compare the database with every assembler on this machine; `ptxspec certify --help` lists its own commands."""
    from ptxspec.backend.certify.command import main
    try:
        status = main(list(context.args))
    except SystemExit as end:   # the certifier parses its own arguments
        status = end.code if isinstance(end.code, int) else 2
    finish(int(status or 0))
