"""``ptxspec generate``: tables and selector from the specs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ptxspec.cli.common import FINE, VIOLATED, finish, put, usage


def command(
    check: Annotated[bool, typer.Option("--check", help="Change nothing; status 1 if a file is out of date.")] = False,
    specs: Annotated[str | None, typer.Option("--specs", metavar="FOLDER", help="Specs to read; default: those "
                                              "installed.")] = None,
    out: Annotated[str | None, typer.Option("--out", metavar="FOLDER", help="Where to write; PTXSPEC_TABLES names it "
                                            "to use the result.")] = None,
) -> None:
    """Generate everything that is made from specs/."""
    from ptxspec.backend.generate import generate
    if specs is not None and not Path(specs).is_dir():
        raise usage("U133", f"no such folder: {specs}")
    changed = generate(check=check, specs=None if specs is None else Path(specs),
                       out=None if out is None else Path(out))
    for name in changed:
        put(f"{'out of date' if check else 'written'}: {name}")
    if check and changed:
        put("run: ptxspec generate")
        finish(VIOLATED)
    if not changed:
        put("up to date")
    finish(FINE)
