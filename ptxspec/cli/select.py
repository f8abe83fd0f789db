"""``ptxspec select``: the widest legal access, and why a wider one is not."""

from __future__ import annotations

from typing import Annotated

import typer

from ptxspec.cli.common import FINE, VIOLATED, Json, Ptx, Sm, Toolkit, finish, line, put


def command(
    op: Annotated[str, typer.Option("--op", metavar="load|store", help="What the access does.")],
    space: Annotated[str, typer.Option("--space", metavar="SPACE", help="State space, such as global.")],
    nbytes: Annotated[int, typer.Option("--bytes", metavar="N", min=1, help="Bytes that one thread moves.")],
    align: Annotated[int | None, typer.Option("--align", metavar="A", min=1,
                                              help="Known alignment of the address in bytes; default: N.")] = None,
    sm: Sm = "sm_90", ptx: Ptx = None, toolkit: Toolkit = None, json: Json = False,
) -> None:
    """Widest legal forms that move N bytes. Exit status 1 when there is none."""
    from ptxspec.forms.select import select_widest
    found = select_widest(op, space, nbytes, align=align, sm=sm, ptx=ptx, toolkit=toolkit)
    put(line(found.to_json()) if json else found.render())
    finish(FINE if found.forms else VIOLATED)
