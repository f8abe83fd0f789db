"""``ptxspec export``: the whole database as data for other tools."""

from __future__ import annotations

from typing import Annotated

import typer

from ptxspec.cli.common import FINE, finish, put, usage


def command(
    format_: Annotated[str, typer.Option("--format", metavar="json", help="Output format.")] = "json",
    indent: Annotated[bool, typer.Option("--indent", help="Indent for reading.")] = False,
) -> None:
    """Print vocabulary, instructions and findings as one JSON document."""
    if format_ != "json":
        raise usage("U134", f"the format {format_!r} is not known", "write --format json")
    import json

    from ptxspec import __version__
    from ptxspec.db.load import packaged, read
    specs = read(packaged())

    def plain(model: object) -> object:
        dump = getattr(model, "model_dump", None)
        return dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else model
    vocabulary = specs.vocabulary
    document = {
        "format": "ptxspec/1", "version": __version__, "digest": specs.digest,
        "vocabulary": {name: plain(getattr(vocabulary, name))
                       for name in ("types", "words", "targets", "toolkits", "specials")},
        "instructions": {name: plain(entry.spec) for name, entry in sorted(specs.instructions.items())},
        "findings": plain(specs.findings),
    }
    put(json.dumps(document, indent=2 if indent else None, ensure_ascii=False, sort_keys=False))
    finish(FINE)
