"""``ptxspec lint``: every instruction of PTX files, operands included."""

from __future__ import annotations

from typing import Annotated

import typer

from ptxspec.cli.common import FINE, USAGE, VIOLATED, Json, Ptx, Toolkit, finish, line, put, put_all, read_text, tell
from ptxspec.diagnostics import UsageError


def command(
    files: Annotated[list[str], typer.Argument(metavar="FILE.ptx...|DIR|GLOB|-",
                                               help="Files, directories, patterns; - reads standard input.")],
    sm: Annotated[str | None, typer.Option("--sm", metavar="SM", help="Target; default: the module's own.")] = None,
    ptx: Ptx = None, toolkit: Toolkit = None, json: Json = False,
) -> None:
    """Judge PTX modules. Exit status 1 when the assembler would refuse a line, 2 when a file cannot be read."""
    from ptxspec.ptx.files import ptx_files
    from ptxspec.ptx.lint import lint
    failed = unread = False
    for name in (n for given in files for n in ([given] if given == "-" else map(str, ptx_files([given])))):
        try:
            text = read_text(name)
        except UsageError as error:   # the other files may be read
            tell(error.diagnostics, json=json)
            unread = True
            continue
        result = lint(text, "<stdin>" if name == "-" else name, sm=sm, ptx=ptx, toolkit=toolkit)
        failed = failed or result.errors > 0
        if json:
            put_all(line(f.to_json()) for f in result.findings)
            put(line({"file": result.file, "summary": result.summary()}))
            continue
        put_all(f.diagnostic.render() + "\n" for f in result.findings)
        counts = f"{result.instructions} instructions, {result.checked} checked, {result.errors} errors, " \
                 f"{result.warnings} warnings"
        put(f"{result.file}: {counts}")
        if result.unknown_mnemonics:
            most = sorted(result.unknown_mnemonics.items(), key=lambda item: (-item[1], item[0]))
            put("  not in the database: " + ", ".join(f"{name} ({number})" for name, number in most[:20]))
    finish(VIOLATED if failed else USAGE if unread else FINE)
